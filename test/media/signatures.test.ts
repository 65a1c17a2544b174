import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mediaFormats } from '../../src/gateway/limits.ts';
import { sniff, typeInWords } from '../../src/media/signatures.ts';
import { ascii, heif, pngHead } from './fixtures.ts';

const ftyp = (brands: string) => ascii(`\0\0\0\x18ftyp${brands.slice(0, 4)}\0\0\0\0${brands.slice(4)}`);
const bmp = Buffer.concat([ascii('BM'), Buffer.alloc(12), Buffer.from([40, 0, 0, 0]), Buffer.alloc(20)]);

const known: readonly (readonly [string, Uint8Array, string, string])[] = [
  ['png', pngHead(1, 1), 'image/png', 'png'],
  ['jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]), 'image/jpeg', 'jpg'],
  ['gif', ascii('GIF89a\x01\0'), 'image/gif', 'gif'],
  ['webp', ascii('RIFF\x10\0\0\0WEBPVP8 '), 'image/webp', 'webp'],
  ['bmp', bmp, 'image/bmp', 'bmp'],
  ['tiff', ascii('II*\0\x08\0\0\0'), 'image/tiff', 'tiff'],
  ['tiff', ascii('MM\0*\0\0\0\x08'), 'image/tiff', 'tiff'],
  ['heic', heif('heic', 'mif1', 4, 4), 'image/heic', 'heic'],
  ['heif', heif('mif1', 'mif1heic', 4, 4), 'image/heif', 'heif'],
  ['avif', heif('mif1', 'mif1avif', 4, 4), 'image/avif', 'avif'],
  ['mp4', ftyp('isommp41'), 'video/mp4', 'mp4'],
  ['mov', ftyp('qt  qt  '), 'video/quicktime', 'mov'],
  ['mov', ascii('\0\0\0\x08wide\0\0\x01\0mdat'), 'video/quicktime', 'mov'],
  ['m4a', ftyp('M4A isom'), 'audio/mp4', 'm4a'],
  ['wav', ascii('RIFF\x10\0\0\0WAVEfmt '), 'audio/wav', 'wav'],
  ['mp3', ascii('ID3\x04\0\0\0\0\0\0'), 'audio/mpeg', 'mp3'],
  ['mp3', Buffer.from([0xff, 0xfb, 0x90, 0x64]), 'audio/mpeg', 'mp3'],
  ['aac', Buffer.from([0xff, 0xf1, 0x50, 0x80]), 'audio/aac', 'aac'],
  ['webm', ascii('\x1aE\xdf\xa3\x9fB\x82\x84webm'), 'video/webm', 'webm'],
  ['mkv', ascii('\x1aE\xdf\xa3\x9fB\x82\x88matroska'), 'video/x-matroska', 'mkv'],
  ['ogg', ascii('OggS\0\x02'), 'audio/ogg', 'ogg'],
  ['pdf', ascii('%PDF-1.7'), 'application/pdf', 'pdf'],
  ['zip', ascii('PK\x03\x04'), 'application/zip', 'zip'],
  ['html', ascii('<!DOCTYPE html><html>'), 'text/html', 'html'],
  ['html', ascii('\r\n <!-- x --> <html lang="en">'), 'text/html', 'html'],
  ['html', Buffer.from('\uFEFF<html>'), 'text/html', 'html'],
  ['html', ascii('<?xml version="1.0"?><html xmlns="x">'), 'text/html', 'html'],
  ['xml', ascii('<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code>'), 'application/xml', 'xml'],
  ['xml', ascii('<Error><Code>AccessDenied</Code></Error>'), 'application/xml', 'xml'],
  ['svg', ascii('<?xml version="1.0"?><svg xmlns="x">'), 'image/svg+xml', 'svg'],
  ['json', ascii('{"error": {}}'), 'application/json', 'json'],
  ['json', ascii(' [1, 2]'), 'application/json', 'json'],
  ['text', ascii('BM is how this text begins, and it goes on'), 'text/plain', 'txt'],
  ['text', Buffer.from('\uFEFFhello', 'utf16le'), 'text/plain', 'txt'],
  ['text', Buffer.from('é').subarray(0, 1), 'text/plain', 'txt'],
];

describe('sniff', () => {
  it.each(known)('tells %s from its first bytes (%#)', (format, bytes, mime, extension) => {
    expect(sniff(bytes)).toMatchObject({ format, mime, extension });
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['noise', Buffer.from([0x9d, 0x01, 0x80, 0x00, 0x13])],
    ['zeros', new Uint8Array(64)],
    ['an MPEG sync without a rate', Buffer.from([0xff, 0xfb, 0xff, 0xff])],
  ])('knows no type of %s', (_name, bytes) => {
    expect(sniff(bytes)).toBeUndefined();
  });

  it('names every format of the gateway with its modality', () => {
    const found = new Map(known.map(([format, bytes]) => [format, sniff(bytes)?.modality]));
    for (const [modality, formats] of Object.entries(mediaFormats)) {
      for (const format of formats) expect([format, found.get(format)]).toEqual([format, modality]);
    }
  });

  it('never throws, whatever the bytes and wherever they are cut', async () => {
    const starts = fc.constantFrom(...known.map(([, bytes]) => bytes));
    const cutAndNoisy = fc
      .tuple(starts, fc.nat(64), fc.uint8Array({ maxLength: 200 }))
      .map(([bytes, length, noise]) => Buffer.concat([bytes.subarray(0, length), noise]));
    const anyBytes: fc.Arbitrary<Uint8Array> = fc.oneof(fc.uint8Array({ maxLength: 5000 }), cutAndNoisy);
    const neverThrows = fc.property(anyBytes, (bytes) => {
      const type = sniff(bytes);
      expect(type === undefined || /^[a-z0-9]+$/.test(type.extension)).toBe(true);
    });
    await fc.assert(neverThrows);
  });

  it('looks only at its own part of a larger buffer', () => {
    const whole = Buffer.concat([ascii('xxxx'), pngHead(1, 1).subarray(0, 8), ascii('yyyy')]);
    expect(sniff(whole.subarray(4, 12))?.format).toBe('png');
    expect(sniff(whole.subarray(4, 11))?.format).not.toBe('png');
  });
});

describe('typeInWords', () => {
  it.each([
    [sniff(ascii('<html>')), 'HTML'],
    [sniff(ascii('hello')), 'plain text'],
    [sniff(pngHead(1, 1)), 'PNG (an image)'],
    [sniff(ascii('%PDF-1.7')), 'PDF'],
    [undefined, 'data of no known type'],
  ])('%#: says %s', (type, words) => {
    expect(typeInWords(type)).toBe(words);
  });
});
