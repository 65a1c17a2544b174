import { expect, test } from 'vitest';
import { ResultStream } from '../../src/io/result-stream.ts';
import { SecretFilter } from '../../src/io/secret-filter.ts';
import { MemoryStream } from './memory-host.ts';

/** A terminal whose first write waits until `go` is called. */
function open() {
  const stream = new MemoryStream(true);
  let go = () => {};
  const first = new Promise<void>((resolve) => (go = resolve));
  let begun = 0;
  const before = () => (begun++ === 0 ? first : undefined);
  const result = new ResultStream({ stream, secrets: new SecretFilter(), before, after: () => {} });
  return { stream, result, go, begun: () => begun };
}

test('a write begins when the one before it is taken, of whatever kind the two are', async () => {
  const { stream, result, go, begun } = open();
  const all = [
    result.ownText('one '),
    result.text('two '),
    result.bytes(Buffer.from('three ')),
    result.text(Buffer.from('four ')),
    result.drain(),
  ];
  await new Promise((resolve) => setImmediate(resolve));
  expect([begun(), stream.text]).toEqual([1, '']);
  go();
  await Promise.all(all);
  expect(stream.text).toBe('one two three four ');
});

test('the first failure is that of all that comes after it, and nothing more is written', async () => {
  const { stream, result, go } = open();
  go();
  stream.failWith = Object.assign(new Error('gone'), { code: 'EIO' });
  const failed = result.text('one').catch((error: unknown) => error);
  const after = result.ownText('two').catch((error: unknown) => error);
  const error = await failed;
  expect(error).toBeInstanceOf(Error);
  stream.failWith = undefined;
  expect(await after).toBe(error);
  await expect(result.bytes(Buffer.from('three'))).rejects.toBe(error);
  await result.drain();
  expect(stream.text).toBe('');
});
