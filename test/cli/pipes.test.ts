import * as fs from 'node:fs';
import { createServer } from 'node:http';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { listening } from '../helpers/listening.ts';
import { create, creates, openPlace, Place, until } from './place.ts';

// Promise 17: an early close of stdout is not an error; a full stdout is.

const JOBS = 3000;

/** A place whose ledger holds so many jobs that their list does not fit into a pipe. */
function placeWithJobs(): Place {
  const place = new Place();
  fs.mkdirSync(path.dirname(place.journal), { recursive: true });
  // All jobs share one time; reading the clock for each could put two jobs into the wrong order.
  const nowMs = Date.now();
  const lines = Array.from({ length: JOBS }, (_, at) => {
    const job = `gw-${at.toString(32).padStart(26, '0')}`;
    const intent = {
      event: 'intent',
      family: 'alpha',
      endpoint: 'alpha.create',
      model: 'alpha-video-2-5-260628',
      prompt: `fox number ${at} `.repeat(8),
      settings: {},
      media: [],
      bodySha256: '',
      profile: 'default',
      gateway: 'https://gateway.example.com',
      save: { target: '/nowhere/{id}.{ext}', force: false, download: true },
    };
    const t = nowMs - at;
    const line = (event: object) => JSON.stringify({ v: 1, t, job, ...event });
    return `\n${line(intent)}\n\n${line({ event: 'accepted', id: `vt-${at}`, status: 'queued' })}\n`;
  });
  fs.writeFileSync(place.journal, lines.join(''));
  return place;
}

const list = `$GW jobs list --limit ${JOBS}`;

test('gw jobs list | head -1 ends quietly with 0', async () => {
  const place = placeWithJobs();
  const { out, err } = await place.shell(`${list} | head -1; echo "\${PIPESTATUS[0]}"`);
  expect(out).toMatch(/^vt-0\t.*\n0\n$/);
  expect(err).toBe('');
});

test('so does help whose reader takes one byte', async () => {
  const place = placeWithJobs();
  const { out, err } = await place.shell(
    `$GW video alpha create --help | head -c1; echo "/\${PIPESTATUS[0]}"`,
  );
  expect(out).toBe('U/0\n');
  expect(err).toBe('');
});

test('a reader that is slow, then gone for a while, gets every byte', async () => {
  const place = placeWithJobs();
  const slow = 'for i in 1 2 3; do dd bs=1024 count=1 status=none; sleep 0.3; done; sleep 0.5; cat';
  const { out, err, code } = await place.shell(
    `${list} --json | { ${slow}; } > slow; ${list} --json > whole`,
  );
  expect({ out, err, code }).toEqual({ out: '', err: '', code: 0 });
  const whole = fs.readFileSync(path.join(place.cwd, 'whole'), 'utf8');
  expect(JSON.parse(whole)).toHaveLength(JOBS);
  expect(whole.length).toBeGreaterThan(1_000_000);
  expect(fs.readFileSync(path.join(place.cwd, 'slow'), 'utf8')).toBe(whole);
});

test('a closed stdout is no error', async () => {
  const place = placeWithJobs();
  expect(await place.shell(`${list} >&-`)).toMatchObject({ code: 0, out: '', err: '' });
  expect(await place.shell(`${list} 2>&- | wc -l`)).toMatchObject({ code: 0, out: `${JOBS}\n` });
});

test.skipIf(!fs.existsSync('/dev/full')).each([list, '$GW --help', '$GW jobs list -q'])(
  '%s > /dev/full says so and exits 1',
  async (command) => {
    const place = placeWithJobs();
    const { code, err } = await place.shell(`${command} > /dev/full`);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^error: could not write to stdout: no space left on the device \(ENOSPC\)\nhint: .*\n$/,
    );
  },
);

test.skipIf(!fs.existsSync('/dev/full'))('so does the version, which no part of gw prints', async () => {
  const { code, err } = await placeWithJobs().shell('$GW --version > /dev/full');
  expect([code, err]).toEqual([1, expect.stringMatching(/^error: could not write to stdout: .*ENOSPC/)]);
});

test('a full stdout costs no job: the file is saved and in the ledger', async () => {
  const place = await openPlace();
  const { code, err } = await place.shell('$GW video alpha create --wait --interval 100ms fox > /dev/full');
  expect(code).toBe(1);
  expect(err).toContain('error: could not write to stdout');
  const [job] = await place.jobs();
  expect(job?.files[0]?.path).toBe(path.join(place.cwd, `${place.sandbox.tasks()[0]?.id}.mp4`));
  expect(fs.existsSync(job?.files[0]?.path ?? '')).toBe(true);
});

test.each([
  ['a reader that leaves', '| head -1', 0, /^\{.*\}\n$/],
  ['a full stdout', '> /dev/full', 1, /^$/],
])(
  '%s ends no create whose answer is under way, and lets nothing else go on',
  async (_, to, code, printed) => {
    let posts = 0;
    let looks = 0;
    let third: NodeJS.Timeout | undefined;
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        response.setHeader('content-type', 'application/json');
        if (request.method === 'POST') {
          posts += 1;
          const id = `task-${posts}`;
          const answer = () =>
            response.writableEnded || response.end(JSON.stringify({ id, status: 'queued' }));
          // The third create is answered once no result has come for so long that the last one has met a closed pipe.
          if (posts === 3) third = setTimeout(answer, 3000);
          else setTimeout(answer, 100);
          return;
        }
        looks += 1;
        third?.refresh();
        const id = request.url?.split('/').at(-1);
        response.end(JSON.stringify({ id, status: 'failed', error: { code: 'a', message: 'b' } }));
      });
    });
    const place = new Place({ baseUrl: (await listening(server)).url });
    const line = '$GW video alpha create --json --wait --interval 300ms --count 6 fox';
    const { out, err } = await place.shell(`${line} ${to}; echo "\${PIPESTATUS[0]}"`);
    expect(err).not.toContain('interrupt');
    expect(out).toMatch(new RegExp(`\n?${code}\n$`));
    expect(out.replace(/\d+\n$/, '')).toMatch(printed);
    const jobs = await place.jobs();
    expect(posts).toBe(3);
    expect(looks).toBeLessThanOrEqual(2);
    expect(jobs.map(({ id }) => id)).toEqual(['task-3', 'task-2', 'task-1']);
  },
);

test('a full stderr stops nothing', async () => {
  const place = await openPlace();
  const { code, out } = await place.shell('$GW video alpha create --wait --interval 100ms fox 2> /dev/full');
  expect({ code, out }).toEqual({ code: 0, out: `${place.cwd}/${place.sandbox.tasks()[0]?.id}.mp4\n` });
});

test('a reader of stderr that leaves stops nothing', async () => {
  const place = await openPlace();
  const line = '{ $GW video alpha create --wait --interval 100ms fox 2>&1 >&3 | head -c1; } 3>&1';
  const { out } = await place.shell(line);
  expect(out).toContain(`${place.cwd}/${place.sandbox.tasks()[0]?.id}.mp4\n`);
});

test('a closed stdin is no stdin', async () => {
  const place = await openPlace();
  // libfaketime, which shifts the clock, would take the free file descriptor.
  const env = { LD_PRELOAD: undefined };
  const made = await place.shell('$GW video alpha create --wait --interval 100ms fox <&-', { env });
  expect(made.code, made.err).toBe(0);
  const promptless = await place.shell('$GW video alpha create <&-', { env });
  expect(promptless.code).toBe(2);
  expect(promptless.err).toMatch(/^error: no prompt\n/);
  expect(creates(place.sandbox)).toHaveLength(1);
});

test('a stdin that never closes holds nothing up where a prompt is given', async () => {
  const place = await openPlace();
  const running = place.start([...create, 'a fox'], { stdin: 'open' });
  const { code, err } = await running.ended;
  expect(code, err).toBe(0);
  const fifo = await place.shell(
    'mkfifo f && exec 3<>f && $GW video alpha create --wait --interval 100ms fox <&3 && $GW jobs list -q <&3',
  );
  expect(fifo.code, fifo.err).toBe(0);
});

test('a prompt that is piped in arrives as it is', async () => {
  const place = await openPlace();
  const running = place.start(['video', 'alpha', 'create', '--no-wait'], { stdin: 'open' });
  running.child.stdin?.write('a fox, ');
  await until('it waits for the rest', () => running.err().includes('waiting for the prompt on stdin'));
  running.child.stdin?.end('ein Fuchs – 狐\n');
  expect((await running.ended).code).toBe(0);
  expect(creates(place.sandbox)[0]?.body).toMatchObject({
    content: [{ type: 'text', text: 'a fox, ein Fuchs – 狐' }],
  });
});
