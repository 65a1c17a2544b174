import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Agent, openAgent } from '../agents/agent.ts';
import { openPlace } from '../cli/place.ts';
import { torture } from './torture.ts';

// Two agents at a time repeat calls and cancel them, and their servers are killed, all under one limit: no key may be paid
// for twice, the limit must hold, and every task must be in the ledger and its output saved.

const CALLS = 20;
const MAX_JOBS = 5;
/** Every call must be answered within this time, with "running" if its task goes on. */
const LONGEST_CALL_MS = 45_000;
const things = ['boat', 'fox', 'hare', 'owl', 'newt', 'wren', 'toad', 'lynx'] as const;

torture(
  'agents that repeat, cut, kill and cancel',
  { short: 1, atOnce: 6, longestRoundMs: (CALLS / 2) * LONGEST_CALL_MS },
  async (round) => {
    const { counts, random, pick, after } = round;
    const place = await openPlace({ speed: pick([100, 300]) }, after);
    const servers: (Agent | undefined)[] = [undefined, undefined];
    const opened = async (at: number): Promise<Agent> => {
      const agent = servers[at] ?? (await openAgent(place, ['--max-jobs', String(MAX_JOBS)]));
      servers[at] = agent;
      return agent;
    };
    after(() => Promise.all(servers.map((agent) => agent?.close())));
    const ask = async (at: number, thing: string) => {
      const agent = await opened(at);
      const key = thing < 'n' ? { key: thing } : {};
      const [name, args] =
        thing.length === 3
          ? ['make_image', { settings: { size: '1024x1024' } }]
          : ['make_video', { family: 'alpha', settings: { duration: 4 } }];
      const began = Date.now();
      const cancel = new AbortController();
      const said = agent
        .call(name, { ...args, prompt: thing, ...key }, { signal: cancel.signal })
        .catch(() => undefined);
      counts.calls = (counts.calls ?? 0) + 1;
      const afterMs = random() * 1_500;
      const fate = random();
      if (fate < 0.25) {
        await delay(afterMs);
        cancel.abort();
        counts.faults += 1;
      } else if (fate < 0.5) {
        await Promise.race([said, delay(afterMs)]);
        servers[at] = undefined;
        process.kill(agent.pid, 'SIGKILL');
        await agent.close();
        counts.kills += 1;
      }
      const answer = await said;
      if (answer?.value.error?.kind === 'budget') counts.overLimit = (counts.overLimit ?? 0) + 1;
      const tookMs = Date.now() - began;
      counts.longestCallMs = Math.max(counts.longestCallMs ?? 0, tookMs);
      expect(tookMs).toBeLessThan(LONGEST_CALL_MS);
    };
    for (let asked = 0; asked < CALLS; asked += 2)
      await Promise.all([0, 1].map((at) => ask(at, pick(things))));
    await Promise.all(servers.map((agent) => agent?.close()));
    await delay(500);
    const sent = place.sandbox.requests.filter(({ method, server }) => method === 'POST' && server === 'api');
    const prompts = sent.map(({ body }) =>
      things.find((thing) => JSON.stringify(body).includes(`"${thing}"`)),
    );
    counts.jobs = (counts.jobs ?? 0) + sent.length;
    counts.doubled += prompts.length - new Set(prompts).size;
    expect(prompts).not.toContain(undefined);
    expect(sent.length).toBeLessThanOrEqual(MAX_JOBS);
    const waited = await place.run(['jobs', 'wait', '--all']);
    const jobs = await place.jobs();
    const gone = prompts.filter(
      (prompt) => !jobs.some((job) => job.prompt === prompt && job.state !== 'not_sent'),
    );
    const unsaved = jobs.filter(
      ({ state, files }) => state === 'running' || (state === 'succeeded' && files.length === 0),
    );
    if (gone.length + unsaved.length > 0) console.error(round.index, gone, unsaved, waited);
    counts.lost += gone.length + unsaved.length;
  },
);
