import { createHmac, timingSafeEqual } from 'node:crypto';
import type { World } from './route.ts';

export interface OutputFile {
  readonly type: string;
  /** How often it may be fetched, where the document says so. */
  readonly maxDownloads?: number;
  /**
   * Makes the bytes when they are first asked for; the listener keeps the latest in memory.
   * @param variant 0 for the file as it is; another number gives an equal one in other bytes, where there is one
   */
  make(variant: number): Promise<Uint8Array>;
}

const signatureOf = (secret: Uint8Array, path: string, expiresS: number) =>
  createHmac('sha256', secret).update(`${path}\n${expiresS}`).digest('hex');

/**
 * The address of an output file. Whoever holds it may fetch the file until it expires.
 * @param expiresAtMs Unix milliseconds; the link dies with their second
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

/** Whether a request's address bears a good signature, and whether its time has passed. */
export function checkLink(secret: Uint8Array, url: URL, nowMs: number): 'good' | 'expired' | 'bad' {
  const expires = url.searchParams.get('expires') ?? '';
  const given = Buffer.from(url.searchParams.get('signature') ?? '');
  if (!/^\d{1,12}$/.test(expires)) return 'bad';
  const right = Buffer.from(signatureOf(secret, url.pathname, Number(expires)));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return 'bad';
  return nowMs < Number(expires) * 1000 ? 'good' : 'expired';
}
