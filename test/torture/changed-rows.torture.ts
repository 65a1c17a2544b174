import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Queue } from 'bullmq';
import { openSandbox, Place, pause, sha256Of, until } from '../cli/place.ts';
import { cmd } from '../helpers/cmd.ts';
import { openRedis } from '../machines/redis.ts';
import { tell, torture } from './torture.ts';

// @module-tag redis-server
// Somebody else has changed rows on Redis, in every state. A worker must read nothing outside its root, write nothing outside
// its -o, and report no fault of gw itself.

const ROWS = 2_000;
const SECRET = 'a-secret-of-the-machine';
const states = ['waiting', 'sending', 'running', 'ended', 'saved', 'failed', 'unknown', 'cancelled', 'odd'];

const alpha = { command: 'video alpha', model: '2.0-fast', resolution: '480p', duration: 4 };
const gamma = {
  command: 'video gamma',
  model: 'gamma-H3',
  resolution: '768P',
  duration: 4,
  ratio: '16:9',
  image: 'picture.png',
};
const templates = [
  { ...alpha, prompt: 'a fox', out: '{key}.{ext}' },
  { command: 'video beta', duration: 3, prompt: 'a fox' },
  { ...gamma, prompt: 'a fox', sidecar: true },
  { command: 'image create', model: 'img-2', size: '256x256', prompt: 'a fox' },
];

type Fields = Record<string, string>;

/** Lists every file of a folder with its digest. */
const contents = (dir: string): string =>
  fs
    .readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
    .map((file) => `${file} ${sha256Of(file)}`)
    .join('\n');

torture('rows that a stranger has changed', { short: 0, longestRoundMs: 600_000 }, async (round) => {
  const { random, pick, after, counts } = round;
  const sandbox = await openSandbox({ speed: 1_000 }, after);
  const redis = await openRedis({}, after);
  const laptop = new Place(sandbox);
  const anna = new Place(sandbox);
  after(() => laptop.close());
  after(() => anna.close());
  const env = { GW_REDIS_URL: redis.url, GW_INTERVAL: '200ms', GW_TIMEOUT: '20s' };
  const at = (name: string) => path.join(anna.dir, name);
  const [root, outside, out] = [at('root'), at('outside'), at('out')];
  for (const dir of [root, outside, out]) fs.mkdirSync(dir);

  // The changed rows are made from the tasks, files and records of this first, undisturbed run.
  fs.writeFileSync(
    path.join(laptop.cwd, 'day.jsonl'),
    templates.map((row, id) => `${JSON.stringify({ id: `r${id}`, ...row })}\n`).join(''),
  );
  const made = await laptop.run(['image', 'create', 'a boat', '-o', `${laptop.cwd}/picture.png`]);
  if (made.code !== 0) throw new Error(made.err);
  fs.copyFileSync(path.join(laptop.cwd, 'picture.png'), path.join(root, 'picture.png'));
  // This picture is outside the root, so its bytes must reach nobody.
  fs.writeFileSync(
    path.join(outside, 'picture.png'),
    Buffer.concat([fs.readFileSync(path.join(root, 'picture.png')), Buffer.from(SECRET)]),
  );
  fs.writeFileSync(path.join(outside, 'secret'), SECRET);
  fs.writeFileSync(path.join(outside, 'mine.mp4'), 'mine');
  fs.symlinkSync('../outside', path.join(root, 'away'));
  fs.symlinkSync('../outside/picture.png', path.join(root, 'link.png'));
  fs.symlinkSync('/dev/zero', path.join(root, 'zero.png'));
  fs.symlinkSync('../outside', path.join(out, 'away'));
  execFileSync('mkfifo', [path.join(root, 'fifo.png')]);
  const start = () =>
    anna.start(cmd`worker --redis --name anna --root ${root} -o ${out}/{key}.{ext}`, { env });
  let worker = start();
  const followed = await laptop.run(['batch', 'run', 'day.jsonl', '--redis'], { env });
  if (followed.code !== 0) throw new Error(followed.err);
  worker.child.kill('SIGTERM');
  await worker.ended;
  const rowKeys = (await redis.client.keys('*:row:day/*')).sort();
  const records: Fields[] = [];
  for (const key of rowKeys) records.push(await redis.client.hgetall(key));
  const prefix = (rowKeys[0] ?? '').replace(/:row:.*/, '');
  const ids = records.map(({ id }) => id ?? '').filter(Boolean);
  const before = contents(outside);
  const sentBefore = sandbox.requests.length;

  const paths = [
    ...['/etc/passwd', '/proc/self/environ', '../outside/picture.png', 'away/picture.png', 'link.png'],
    ...[
      'zero.png',
      'fifo.png',
      'picture.png',
      `${outside}/picture.png`,
      'none.png',
      'https://x.example/a.png',
    ],
  ];
  const places = [
    ...['../x.mp4', 'away/new-{id}.mp4', `${outside}/mine.mp4`, '/dev/null', '{prompt}/x.mp4', '{nope}'],
    ...['a/../../x.mp4', 'away', '-', '', `${'x'.repeat(300)}.mp4`, 'good/{key}.{ext}'],
  ];
  const hostile = [
    ...['', '{', 'null', '7', '[]', '"x"', '../x', '\u001b[2Jx', 'a\n::error::b', '__proto__', 'constructor'],
    ...['x'.repeat(5_000), '[]'.repeat(9), '1e999', '-1', '9007199254740993'],
  ];
  const drawn =
    <T>(items: readonly T[]) =>
    () =>
      pick(items);
  const changed = (text: string): string => {
    const cut = Math.floor(random() * text.length);
    return random() < 0.5 ? text.slice(0, cut) : `${text.slice(0, cut)}x${text.slice(cut + 1)}`;
  };
  const otherJob = (fields: Fields): string => {
    const names = ['media', 'references', 'files', 'key', 'externalId', 'endpoint', 'prompt', 'fields'];
    const named = { name: pick(paths), sha256: '0'.repeat(64) };
    const values = [pick(paths), [pick(paths)], [named], { [named.name]: named.sha256 }];
    return JSON.stringify({ ...(JSON.parse(fields.job ?? '{}') as object), [pick(names)]: pick(values) });
  };
  const otherFiles = () =>
    JSON.stringify([
      { path: pick([...paths, ...places]), bytes: 4, sha256: '0'.repeat(64), type: 'video/mp4' },
    ]);
  const prompts = ['@/proc/self/environ', '@secret', '-', 'away', ...hostile];
  /** One change to what gw wrote: to the hash, to its row, or to the flags of the row. */
  const changes: (readonly ['fields' | 'row' | 'said', () => string, (fields: Fields) => unknown])[] = [
    ['fields', () => 'state', drawn(states)],
    ['fields', () => 'id', drawn([...ids, ...hostile, 'vt-20250101000000-00000000000000000000'])],
    ['fields', drawn(Object.keys(records[0] ?? {})), drawn(hostile)],
    ['fields', drawn(['row', 'files', 'error', 'round']), (fields) => changed(fields.row ?? '')],
    ['fields', () => 'files', otherFiles],
    ['fields', () => 'job', otherJob],
    ['row', drawn(['row', 'line', 'key', 'command', 'set', 'said']), drawn(hostile)],
    ['row', () => 'command', drawn(['batch run', 'api', 'video delta', 'image edit', 'video gamma'])],
    ['row', () => 'body', () => ({ model: pick(hostile), [pick(hostile)]: pick(paths) })],
    ['row', () => 'set', () => [`${pick(['image', '__proto__.x', 'content.0.text'])}=${pick(paths)}`]],
    ['row', () => 'pinned', () => ({ model: pick(hostile), sidecar: true, validate: false })],
    ['said', () => 'out', drawn(places)],
    ['said', drawn(['image', 'video', 'first-frame', 'mask']), drawn(paths)],
    ['said', drawn(['prompt-file', 'system-file']), drawn(paths)],
    ['said', drawn(['force', 'yes', 'sidecar', 'again']), () => true],
    ['said', drawn(['exec', 'callback-url', 'notify', 'nope', 'constructor']), drawn(hostile)],
    ['said', () => 'prompt', drawn(prompts)],
  ];
  const tickets = new Map<string, { name: string; data: { key: string; round: number } }[]>();
  const pipeline = redis.client.pipeline();
  for (let index = 0; index < ROWS; index += 1) {
    const key = `day/x${round.index}-${index}`;
    const template = pick(records);
    // The row looks as if no worker had taken it yet.
    const fields: Fields = { ...template, state: pick(states), fence: '0' };
    if (/waiting|sending/.test(fields.state ?? ''))
      for (const name of ['id', 'sender', 'files']) delete fields[name];
    const row: Record<string, unknown> = { ...(JSON.parse(fields.row ?? '{}') as object), key };
    const said: Record<string, unknown> = { ...(row.said as object) };
    row.said = said;
    const drawnChanges = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(changes));
    for (const [where, name, value] of drawnChanges) {
      if (where === 'row') row[name()] = value(template);
      if (where === 'said') said[name()] = value(template);
    }
    fields.row = JSON.stringify(row);
    for (const [where, name, value] of drawnChanges)
      if (where === 'fields') fields[name()] = String(value(template));
    const pool = fields.state === 'ended' ? 'save' : template.pool;
    pipeline.hset(`${prefix}:row:${key}`, fields);
    const data = { key, round: Number(fields.round) || 0 };
    for (const name of new Set([pool ?? '', random() < 0.2 ? 'save' : (pool ?? '')]))
      tickets.set(name, [...(tickets.get(name) ?? []), { name: 'row', data }]);
  }
  await pipeline.exec();
  const queues = [...tickets.keys()].map(
    (name) => new Queue(name, { connection: { port: redis.port }, prefix, skipVersionCheck: true }),
  );
  for (const queue of queues) await queue.addBulk(tickets.get(queue.name) ?? []);
  counts.faults += ROWS;

  worker = start();
  let said = '';
  const openRows = async () => {
    const each = await Promise.all(
      queues.map((queue) => queue.getJobCounts('wait', 'active', 'prioritized')),
    );
    return each.reduce(
      (sum, { wait = 0, active = 0, prioritized = 0 }) => sum + wait + active + prioritized,
      0,
    );
  };
  const endMs = performance.now() + 400_000;
  for (let open = await openRows(); open > 0 && performance.now() < endMs; open = await openRows()) {
    await pause(500);
    if (worker.child.exitCode === null) continue;
    said += (await worker.ended).err;
    worker = start();
  }
  const left: string[] = [];
  for (const queue of queues) {
    for (const job of await queue.getJobs(['wait', 'active', 'prioritized'])) {
      const { key } = job.data as { key: string };
      const log = await redis.client.lrange(`${prefix}:log:${key}`, 0, -1);
      left.push([key, JSON.stringify(await redis.client.hgetall(`${prefix}:row:${key}`)), ...log].join('\n'));
    }
    await queue.close();
  }
  worker.child.kill('SIGTERM');
  said += (await worker.ended).err;
  await until('it has ended', () => worker.child.exitCode !== null);
  const wrong: string[] = [];
  if (left.length > 0) wrong.push(`${left.length} rows never ended: ${left.slice(0, 5).join('\n')}`);
  if (contents(outside) !== before) wrong.push(`outside is ${contents(outside)}`);
  const strange = fs
    .readdirSync(anna.dir)
    .filter((name) => !/^(home|work|temp|root|outside|out)$/.test(name));
  if (strange.length > 0 || anna.files().length > 0) wrong.push(`written: ${strange} ${anna.files()}`);
  if (fs.readdirSync(root).length !== 5) wrong.push(`the root holds ${fs.readdirSync(root)}`);
  const secrets = [SECRET, Buffer.from(SECRET).toString('base64').slice(2, 20), 'GW_API_KEY=', 'root:x:0'];
  const bodies = sandbox.requests.slice(sentBefore).map(({ body }) => JSON.stringify(body ?? ''));
  for (const secret of secrets)
    if (bodies.some((body) => body.includes(secret))) wrong.push(`${secret} was sent`);
  const faults = said.split('\n').filter((line) => line.includes('fault of gw'));
  if (faults.length > 0) wrong.push(`${faults.length} faults of gw: ${faults.slice(0, 5).join('\n')}`);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  const creates = sandbox.requests
    .slice(sentBefore)
    .filter(({ method, server }) => method === 'POST' && server === 'api');
  const keys = await redis.client.keys(`${prefix}:row:day/x*`);
  const became: Record<string, number> = {};
  for (const key of keys) {
    const state = (await redis.client.hget(key, 'state')) ?? 'none';
    became[state] = (became[state] ?? 0) + 1;
  }
  tell('rows that were changed', {
    rows: ROWS,
    ...became,
    creates: creates.length,
    files: fs.readdirSync(out).length,
  });
});
