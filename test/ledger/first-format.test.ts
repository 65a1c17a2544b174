import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { World } from '../helpers/gw.ts';
import { asReadNow } from '../updates/left.ts';

// This ledger was written by gw 0.1.0, with all families and states over two months; expected.json has that version's
// answers, except that creates of dead processes are counted as `jobs list` names them.

const fixture = path.join(import.meta.dirname, 'fixtures/first-format');
const expectedFile = path.join(fixture, 'expected.json');
const lastMs = Date.UTC(2026, 11, 5, 13);

interface Answer {
  readonly argv: readonly string[];
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const idsIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/"job":"([^"]+)"|"event":"accepted","id":"([^"]+)"/g)].flatMap(
      ([, key, id]) => key ?? id ?? [],
    ),
  ),
];

async function answers(): Promise<Answer[]> {
  const world = await World.open();
  world.clock.ms = lastMs;
  const state = path.join(world.dir, 'state');
  fs.mkdirSync(path.join(state, 'ledger'), { recursive: true, mode: 0o700 });
  let text = '';
  for (const name of fs.readdirSync(fixture).filter((each) => each.endsWith('.jsonl'))) {
    text += fs.readFileSync(path.join(fixture, name), 'utf8');
    fs.copyFileSync(path.join(fixture, name), path.join(state, 'ledger', name));
    fs.chmodSync(path.join(state, 'ledger', name), 0o600);
  }
  const env = { GW_STATE_DIR: state, GW_BASE_URL: 'https://gateway.example', GW_API_KEY: 'k'.repeat(24) };
  const commands = [
    ['jobs', 'list', '--json'],
    ['jobs', 'list', '-q'],
    ['jobs', 'list', '--limit', '3'],
    ['jobs', 'list', '--family', 'beta', '--json'],
    ['jobs', 'list', '--status', 'succeeded', '-q'],
    ['jobs', 'list', '--since', '2026-12-01', '-q'],
    ['jobs', 'list', '--expiring', '30d', '-q'],
    ['jobs', 'stats', '--by', 'family', '--json'],
    ['jobs', 'sync', '--dry-run'],
    ['jobs', 'prune', '--before', '2027-01-01', '--dry-run', '-q'],
    ...idsIn(text).map((id) => ['jobs', 'show', id, '--json']),
  ];
  const all: Answer[] = [];
  for (const argv of commands) all.push({ argv, ...(await world.gw(argv, { env, bare: true })) });
  await world.close();
  // Newer versions also tell the cost by a price file, the user's key, what a job was made from, and assumed lifetimes of links.
  const asThen = (text: string) =>
    text
      .replaceAll(world.dir, '/home/ada')
      // The file of this job is missing here, so a sync asks for its task.
      .replaceAll('%2Cvb-20261120120110-208cfedb1f0fda61a5ac', '')
      // Each row has a column for the key, which was left out where no row had one.
      .replaceAll(/(\\t(?:other|default))\\t-/g, '$1')
      .replaceAll(/,\\"once_key\\":(null|\\"[^"]*\\")/g, '')
      .replaceAll(/,\\"made_from\\":\[\]/g, '')
      .replaceAll(/,\\"link_expiry_assumed\\":(true|false)/g, '')
      .replaceAll(/,\\"(priced\\":\[\]|cost\\":(null|\{.*?\\"by\\":\\"\w+\\"\}))/g, '');
  return all.map((answer) => JSON.parse(asThen(JSON.stringify(answer))) as Answer);
}

test('a ledger of the first format is read as the version that wrote it read it', async () => {
  const now = await answers();
  const then = JSON.parse(fs.readFileSync(expectedFile, 'utf8')) as Answer[];
  expect(now.map(({ argv }) => argv)).toEqual(then.map(({ argv }) => argv));
  // `saved` depends on the files on disk, which are missing here, so --expiring lists more jobs and prune keeps more.
  const anySaved = (answer: Answer | undefined) =>
    asReadNow(JSON.stringify(answer)).replaceAll(/\\"saved\\":(?:true|false|null)/g, '');
  for (const [at, answer] of now.entries())
    expect(anySaved(answer), answer.argv.join(' ')).toBe(anySaved(then[at]));
});
