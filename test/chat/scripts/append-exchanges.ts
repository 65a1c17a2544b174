// One of several processes that add to the same session. Arguments: STATE_DIR NAME WHO COUNT.
import { setTimeout as delay } from 'node:timers/promises';
import { openSession } from '../../../src/chat/session/session.ts';

const [stateDir = '', name = '', who = '', count = '0'] = process.argv.slice(2);

const run = async () => {
  const session = await openSession(
    name,
    {},
    {
      clock: { now: Date.now, steady: () => performance.now(), sleep: (ms: number) => delay(ms) },
      host: { env: { GW_STATE_DIR: stateDir }, cwd: '/', platform: process.platform, homeDir: undefined },
      io: { note: () => {}, warn: () => {}, withoutSecrets: (text: string) => text },
    },
  );
  for (let at = 0; at < Number(count); at += 1) {
    await session.append([
      { role: 'user', parts: [{ type: 'text', text: `${who}${at}?` }] },
      { role: 'assistant', text: `${who}${at}!` },
    ]);
  }
};
void run();
