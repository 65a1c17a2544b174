import { describe, expect, it } from 'vitest';
import { FormSplitter } from '../../src/sandbox/request-body.ts';
import { seededRandom } from '../../src/sandbox/seeded.ts';

// Compares the reader of multipart bodies with Node's own.

const type = (boundary: string) => `multipart/form-data; boundary=${boundary}`;
/** The parts of a form that arrived in pieces of `pieceBytes`. */
function splitForm(body: Buffer, contentType: string, pieceBytes = body.length) {
  const splitter = new FormSplitter(contentType);
  for (let at = 0; at < body.length; at += pieceBytes) splitter.take(body.subarray(at, at + pieceBytes));
  return splitter.parts;
}
const split = (lines: readonly string[], boundary = 'x') =>
  splitForm(Buffer.from(lines.join('\r\n')), type(boundary))?.map(({ bytes, sizeBytes: _, ...part }) => ({
    ...part,
    text: bytes.toString(),
  }));
const named = (rest = '') => `Content-Disposition: form-data; name="a"${rest}`;

describe('a form', () => {
  it.each([
    ['a preamble and an epilogue', ['hello', '--x', named(), '', 'b', '--x--', 'bye']],
    ['white space after the boundary', ['--x \t', named(), '', 'b', '--x--']],
    ['names without quotes', ['--x', 'content-disposition:form-data;name=a', '', 'b', '--x--']],
  ])('is read with %s', (_, lines) => {
    expect(split(lines)).toEqual([{ field: 'a', text: 'b' }]);
  });

  it('is read with a boundary in quotes', () => {
    expect(splitForm(Buffer.from(`--x y\r\n${named()}\r\n\r\n\r\n--x y--`), type('"x y"'))).toMatchObject([
      { field: 'a', bytes: Buffer.alloc(0) },
    ]);
  });

  it('tells files from texts by their names', () => {
    const lines = ['--x', named('; filename="b \\"c\\".png"'), 'Content-Type: image/png', '', '1', '--x--'];
    expect(split(lines)).toEqual([{ field: 'a', name: 'b "c".png', type: 'image/png', text: '1' }]);
  });

  it.each([
    ['no end', ['--x', named(), '', 'b']],
    ['no end after a part', ['--x', named(), '', 'b', '--x']],
    ['no blank line', ['--x', named(), '--x--']],
    ['no name', ['--x', 'Content-Disposition: form-data', '', 'b', '--x--']],
    ['another disposition', ['--x', 'Content-Disposition: attachment; name="a"', '', 'b', '--x--']],
    ['no head', ['--x', '', 'b', '--x--']],
    ['another boundary', ['--y', named(), '', 'b', '--y--']],
    ['a longer boundary', ['--xy', named(), '', 'b', '--xy--']],
    ['nothing', ['']],
  ])('is none with %s', (_, lines) => {
    expect(split(lines)).toBeUndefined();
  });

  it('keeps the beginning of what comes after many megabytes, and its size', () => {
    const file = (name: string, bytes: number) =>
      Buffer.concat([
        Buffer.from(`--x\r\n${named(`; filename="${name}"`)}\r\n\r\n`),
        Buffer.alloc(bytes, name),
        Buffer.from('\r\n'),
      ]);
    const MB = 1024 * 1024;
    const body = Buffer.concat([
      file('a', 10 * MB),
      file('b', 10 * MB),
      file('c', 10 * MB),
      Buffer.from('--x--'),
    ]);
    const parts = splitForm(body, type('x'), 65_536) ?? [];
    expect(parts.map(({ sizeBytes }) => sizeBytes)).toEqual([10 * MB, 10 * MB, 10 * MB]);
    expect(parts.map(({ bytes }) => bytes.length)).toEqual([10 * MB, 6 * MB, MB / 4]);
  });

  it('is read as Node reads it, whatever bytes the files hold', async () => {
    const random = seededRandom(7);
    // Delimiters consist of these bytes, so random bytes of them often almost match a delimiter.
    const alphabet = Buffer.from('\r\n-"a\0\xff', 'latin1');
    const noise = () =>
      Uint8Array.from(
        { length: Math.floor(random() * 60) },
        () => alphabet[Math.floor(random() * alphabet.length)] ?? 0,
      );
    for (let round = 0; round < 200; round++) {
      const form = new FormData();
      const count = Math.floor(random() * 4);
      for (let nth = 0; nth < count; nth++) {
        if (random() < 0.3) form.append(`t"${nth}`, 'text\r\n--');
        else form.append('image[]', new Blob([noise()]), `"${nth}\r\n.png`);
      }
      const response = new Response(form);
      const contentType = response.headers.get('content-type') ?? '';
      const body = Buffer.from(await response.arrayBuffer());
      const parts = splitForm(body, contentType, 1 + Math.floor(random() * 90)) ?? [];
      const right = [...(await new Response(body, { headers: { 'content-type': contentType } }).formData())];
      const seen = parts.map(({ field, name, bytes }) => [field, name, bytes.toString('latin1')]);
      const wanted = await Promise.all(
        right.map(async ([field, value]) =>
          typeof value === 'string'
            ? [field, undefined, value]
            : [field, value.name, Buffer.from(await value.arrayBuffer()).toString('latin1')],
        ),
      );
      expect(seen).toEqual(wanted);
    }
  });
});
