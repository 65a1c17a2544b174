import { createHmac, timingSafeEqual } from 'node:crypto';
import type { World } from './route.ts';

export interface OutputFile {
  readonly type: string;
  /** The maximum number of downloads, if the document states one. */
  readonly maxDownloads?: number;
  /**
   * Makes the bytes at the first request; the listener keeps the latest in memory.
   * @param variant 0 for the file itself; another number gives an equal file in other bytes, if possible
   */
  make(variant: number): Promise<Uint8Array>;
}

const signatureOf = (secret: Uint8Array, path: string, expiresS: number) =>
  createHmac('sha256', secret).update(`${path}\n${expiresS}`).digest('hex');

/**
 * The URL of an output file. Whoever has it may download the file until it expires.
 * @param expiresAtMs Unix milliseconds; the link expires at the end of their second
 */
export function signedLink(
  { store, outputUrl }: Pick<World, 'store' | 'outputUrl'>,
  taskId: string,
  file: string,
  expiresAtMs: number,
): string {
  const path = `/outputs/${taskId}/${file}`;
  const expiresS = Math.floor(expiresAtMs / 1000);
  return `${outputUrl()}${path}?expires=${expiresS}&signature=${signatureOf(store.secret, path, expiresS)}`;
}

/** Checks the signature in a request's URL, and whether it has expired. */
export function checkLink(secret: Uint8Array, url: URL, nowMs: number): 'good' | 'expired' | 'bad' {
  const expires = url.searchParams.get('expires') ?? '';
  const given = Buffer.from(url.searchParams.get('signature') ?? '');
  if (!/^\d{1,12}$/.test(expires)) return 'bad';
  const right = Buffer.from(signatureOf(secret, url.pathname, Number(expires)));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return 'bad';
  return nowMs < Number(expires) * 1000 ? 'good' : 'expired';
}
