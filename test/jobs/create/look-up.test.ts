import { expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import { type ExternalLook, lookAtExternalIds } from '../../../src/jobs/create/look-up.ts';

/** Looks up three external IDs. The gateway refuses one request for all three; the argument has the reply for each ID alone. */
function lookAt(comesTo: Readonly<Record<string, object>>) {
  const { externalIds } = betaFamily;
  if (!externalIds) throw new Error('family beta has external IDs');
  const ids = Object.keys(comesTo);
  const asked = new Map<unknown, string>(ids.map((id) => [JSON.stringify(externalIds.input([id])), id]));
  const client = {
    async send(_: unknown, input: unknown) {
      const id = asked.get(JSON.stringify(input));
      const reply = id === undefined ? new GwError('rejected', 'one of them is no ID') : comesTo[id];
      if (reply instanceof Error) throw reply;
      return { json: reply, text: JSON.stringify(reply), headers: {} };
    },
  };
  const clock = { now: () => 0 };
  const look = { client, clock, externalIds, family: betaFamily, signal: new AbortController().signal };
  return lookAtExternalIds(ids, look as unknown as ExternalLook);
}

const denied = new GwError('auth', 'not your key');
const none = { code: 0, data: [] };
const there = { code: 0, data: [{ id: 'bt-1', external_id: 'there', status: 'submitted', create_time: 0 }] };

test('where one of many refuses the request, each is asked for alone, and has its own answer', async () => {
  const looks = await lookAt({ denied, none, there });
  expect([...looks]).toMatchObject([
    ['denied', { error: denied }],
    ['none', { error: { kind: 'not_found' } }],
    ['there', { view: { state: 'running' } }],
  ]);
});

test('a fault of gw itself is no answer to any of them', async () => {
  const fault = new TypeError('undefined is not a function');
  await expect(lookAt({ there, none: fault })).rejects.toBe(fault);
});
