import { expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { create, openPlace, pause, until } from './place.ts';

// `--events` when gw is killed, and when a reader handles each line as it arrives.

/** Parses the lines of the output; a kill must not leave a partial line. */
const linesOf = (out: string): { event: string; id?: string }[] => {
  expect(out === '' || out.endsWith('\n'), out).toBe(true);
  return out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
};

test('a kill -9 at any moment leaves whole lines, and an ID that was told is in the ledger', async () => {
  const whole = await openPlace();
  await whole.run(['--version']);
  const startMs = performance.now();
  expect((await whole.run([...create, 'a fox', '--events'])).code).toBe(0);
  const lifeMs = performance.now() - startMs;
  const seen = new Set<string>();
  for (let at = 0; at < 12; at += 1) {
    const place = await openPlace();
    const running = place.start([...create, 'a fox', '--events']);
    // The last kill waits for a line, however slow the machine has become since the first run.
    if (at < 11) await pause((lifeMs * (at + 0.5)) / 11);
    else await until('it tells', () => running.out() !== '');
    running.child.kill('SIGKILL');
    const { out } = await running.ended;
    const ids = (await place.jobs()).map(({ id }) => id);
    for (const { event, id } of linesOf(out)) {
      seen.add(event);
      if (id !== undefined) expect(ids).toContain(id);
    }
  }
  expect(seen).toContain('intent');
});

test('accepted is told before the gateway is asked about the task', async () => {
  const place = await openPlace();
  const running = place.start(cmd`video alpha create --wait --interval 1m "a fox" --events`);
  await until('accepted', () => running.out().includes('"event":"accepted"'));
  expect(place.sandbox.requests.filter(({ method }) => method === 'GET')).toEqual([]);
  running.child.kill('SIGKILL');
  await running.ended;
});

test('a reader that closes after a line ends nothing: the job comes home, quietly', async () => {
  const place = await openPlace();
  const { code, out, err } = await place.shell(
    'set -o pipefail; $GW video alpha create --wait --interval 100ms "a fox" --events -q | head -n 1',
  );
  expect(code, err).toBe(0);
  expect(linesOf(out).map(({ event }) => event)).toEqual(['intent']);
  expect(err).toBe('');
  expect((await place.jobs()).map(({ state, files }) => [state, files.length])).toEqual([['succeeded', 1]]);
});
