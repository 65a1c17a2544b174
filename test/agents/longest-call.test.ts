import { expect, test, vi } from 'vitest';
import { creates, openPlace } from '../cli/place.ts';
import { openAgent } from './agent.ts';

test('no call lasts longer than 45 s, and what it began goes on', async () => {
  const place = await openPlace({ speed: 1 });
  const agent = await openAgent(place);
  const cancel = new AbortController();
  const gone = agent.call(
    'make_video',
    { family: 'alpha', prompt: 'gone', key: 'gone' },
    { signal: cancel.signal },
  );
  await vi.waitFor(() => expect(creates(place.sandbox)).toHaveLength(1), 60_000);
  cancel.abort();
  await expect(gone).rejects.toThrow();
  const began = Date.now();
  const { value } = await agent.call('make_video', { family: 'alpha', prompt: 'slow', key: 'slow' });
  expect(Date.now() - began).toBeLessThan(45_000);
  expect(value).toMatchObject({ status: 'running', key: 'slow', id: expect.stringMatching(/./) });
  expect(value.next).toContain('wait_for_job');
  const one = await agent.call('wait_for_job', { id: 'gone' });
  expect(one.value).toMatchObject({ key: 'gone' });
  expect(creates(place.sandbox)).toHaveLength(2);
});
