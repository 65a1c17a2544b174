import { describe, expect, it } from 'vitest';
import type { GwError } from '../../src/errors.ts';
import { parseReference } from '../../src/media/reference.ts';

describe('parseReference', () => {
  it.each([
    ['photo.png', { kind: 'file', path: 'photo.png' }],
    ['./take:1.png', { kind: 'file', path: './take:1.png' }],
    ['/tmp/a b.png', { kind: 'file', path: '/tmp/a b.png' }],
    ['C:\\photos\\a.png', { kind: 'file', path: 'C:\\photos\\a.png' }],
    ['d:/photos/a.png', { kind: 'file', path: 'd:/photos/a.png' }],
    ['12:30.png', { kind: 'file', path: '12:30.png' }],
    ['asset-2026-abc', { kind: 'file', path: 'asset-2026-abc' }],
    ['-', { kind: 'file', path: '-' }],
    ['https://host/a.png?sig=A%20b', { kind: 'url', url: 'https://host/a.png?sig=A%20b' }],
    ['HTTP://Host/A.png', { kind: 'url', url: 'http://Host/A.png' }],
    ['data:image/png;base64,AAAA', { kind: 'data', uri: 'data:image/png;base64,AAAA' }],
    ['asset://asset-1', { kind: 'asset', id: 'asset-1' }],
    ['gammafile://12345', { kind: 'gammafile', id: '12345' }],
    ['file_id:file-1', { kind: 'file_id', id: 'file-1' }],
  ])('reads %s', (raw, reference) => {
    expect(parseReference(raw, '--image')).toEqual(reference);
  });

  it.each([
    ['', /--image is empty/],
    ['a\0b', /NUL/],
    ['file:///tmp/a.png', /--image file:\/\/\/tmp\/a\.png: gw does not take a file: URL/],
    ['javascript:alert(1)', /"javascript:" is not a scheme/],
    ['ftp://host/a.png', /"ftp:" is not a scheme/],
    ['scene:1.png', /"scene:" is not a scheme/],
    ['https://host/a\n.png', /white space or a control character/],
    ['https://host/a b.png', /white space or a control character/],
    [' https://host/a.png', /white space or a control character/],
    ['https://host/\u0007', /white space or a control character/],
    ['https:/host/a.png', /not a complete URL/],
    ['https://', /not a complete URL/],
    ['https://[::1', /not a complete URL/],
    ['asset:asset-1', /not of the form asset:\/\/ID/],
    ['asset://', /the ID is missing/],
    ['asset://a/../b', /an ID has no blanks, slashes/],
    ['gammafile://a b', /an ID has no blanks/],
  ])('refuses %j', (raw, message) => {
    const parse = () => parseReference(raw, '--image');
    expect(parse).toThrow(message);
    expect(parse).toThrow(
      expect.objectContaining({ kind: 'usage', facts: { hint: expect.any(String) } }) as GwError,
    );
  });

  it('keeps a long value out of the message', () => {
    try {
      parseReference(`weird:${'x'.repeat(10_000)}`, '--image');
      expect.unreachable();
    } catch (error) {
      expect((error as GwError).message.length).toBeLessThan(250);
    }
  });
});
