const KEPT_BYTES = 64 * 1024 * 1024;

/** Has files made when they are asked for, each once, and keeps the latest in memory. */
export class OutputFiles {
  readonly #made = new Map<string, { readonly making: Promise<Uint8Array>; bytes: number }>();

  /** The bytes of a file, made now where they are not kept under this key. */
  async get(key: string, make: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#made.get(key);
    if (known) return known.making;
    const making = make();
    const entry = { making, bytes: 0 };
    this.#made.set(key, entry);
    try {
      entry.bytes = (await making).length;
    } catch (error) {
      this.#made.delete(key);
      throw error;
    }
    this.#forgetOldest(key);
    return making;
  }

  #forgetOldest(except: string): void {
    let bytes = 0;
    for (const entry of this.#made.values()) bytes += entry.bytes;
    for (const [key, entry] of this.#made) {
      if (bytes <= KEPT_BYTES) return;
      if (key === except) continue;
      this.#made.delete(key);
      bytes -= entry.bytes;
    }
  }
}
