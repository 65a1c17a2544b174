import type * as zlibModule from 'node:zlib';
import { ExchangeError, exchangeCodes, type WireHandler, type WireHead } from './exchange.ts';

// gw asks for `identity`, but some servers and proxies compress anyway. One coding is decoded; several are refused.

type Coding = 'gzip' | 'deflate' | 'br';

// zlib is loaded at the first compressed reply, and synchronously: a chunk cannot wait for an import.
const zlib = (): typeof zlibModule => process.getBuiltinModule('node:zlib');

const unreadable = (message: string) => new ExchangeError(message, 'maybe', exchangeCodes.unreadable);

/** The coding of a reply's body, if any. Throws ExchangeError `UNREADABLE` for an unknown coding or several. */
function codingOf({ status, headers }: WireHead): Coding | undefined {
  const layers = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((layer) => layer.trim())
    .filter((layer) => layer !== '' && layer !== 'identity');
  if (layers.length === 0) return undefined;
  if (layers.length > 1) throw unreadable(`the reply is encoded ${layers.length} times; gw undoes one layer`);
  const coding = layers[0] === 'x-gzip' ? 'gzip' : layers[0];
  if (coding !== 'gzip' && coding !== 'deflate' && coding !== 'br')
    throw unreadable(`the reply has a content encoding that gw cannot undo (${coding?.slice(0, 40)})`);
  if (status === 206) throw unreadable('a part of an encoded reply cannot be undone on its own');
  return coding;
}

/** The head of a decoded reply, without the headers that describe the encoded body. */
function decodedHead({ status, headers }: WireHead): WireHead {
  const kept: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    // The etag and the length belong to the encoded bytes.
    if (!['content-encoding', 'content-length', 'etag'].includes(name)) kept[name] = value;
  }
  return { status, headers: kept };
}

/** A large text that grows by more than this factor counts as a decompression bomb. */
const LARGEST_RATIO = 200;

/** Decodes chunks for a handler. `finished` waits for the decoder's remaining output and throws its error. */
export interface Decoding extends Pick<WireHandler, 'onData'> {
  readonly head: WireHead;
  finished(): Promise<void>;
}

/**
 * Decodes a reply if it is compressed. Output beyond `limitBytes` is allowed only while it stays below 200 times the
 * input.
 */
export function decodingOf(wire: WireHead, handler: WireHandler, limitBytes: number): Decoding | undefined {
  const coding = codingOf(wire);
  if (!coding) return undefined;
  let decoder: zlibModule.Gunzip | zlibModule.BrotliDecompress | undefined;
  let failure: { readonly error: unknown } | undefined;
  /** Settles when the decoder accepts more input. */
  let full: Promise<void> | undefined;
  let bytesIn = 0;
  let bytesOut = 0;
  let ended: Promise<void> = Promise.resolve();

  const start = (first: Uint8Array) => {
    const { createGunzip, createInflate, createInflateRaw, createBrotliDecompress } = zlib();
    if (coding === 'gzip') decoder = createGunzip();
    else if (coding === 'br') decoder = createBrotliDecompress();
    // Some servers send `deflate` without the zlib header that the standard requires.
    else decoder = ((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw();
    const stream = decoder;
    const fail = (error: unknown) => {
      failure ??= { error };
      stream.destroy();
    };
    ended = new Promise((resolve) => {
      stream.on('close', resolve);
      stream.on('error', () => {
        failure ??= { error: unreadable(`the reply is not the ${coding} it claims to be`) };
      });
      stream.on('data', (chunk: Uint8Array) => {
        if (failure) return;
        bytesOut += chunk.byteLength;
        try {
          if (bytesOut > limitBytes && bytesOut > bytesIn * LARGEST_RATIO)
            throw unreadable('the reply grows out of all proportion when decoded');
          const busy = handler.onData(chunk);
          if (!busy) return;
          stream.pause();
          busy.then(() => stream.resume(), fail);
        } catch (error) {
          fail(error);
        }
      });
    });
    return stream;
  };

  return {
    head: decodedHead(wire),
    onData(chunk) {
      if (failure) throw failure.error;
      bytesIn += chunk.byteLength;
      // The decoder may keep the chunk, because undici does not reuse its memory.
      const stream = decoder ?? start(chunk);
      if (stream.write(chunk)) return;
      full ??= new Promise<void>((resolve, reject) => {
        const settle = () => {
          full = undefined;
          stream.off('drain', settle).off('close', settle);
          if (failure) reject(failure.error);
          else resolve();
        };
        stream.on('drain', settle).on('close', settle);
      });
      return full;
    },
    async finished() {
      decoder?.end();
      await ended;
      if (failure) throw failure.error;
    },
  };
}
