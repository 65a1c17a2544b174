import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { cmd } from '../helpers/cmd.ts';
import { mountTmpfs } from '../helpers/tmpfs.ts';
import { openRedis } from '../machines/redis.ts';
import { openServer, sendJson, TASK_ID } from './fake-gateway.ts';
import { openNearPlace } from './near-place.ts';
import {
  create,
  creates,
  type Ended,
  fetches,
  forward,
  held,
  Place,
  sha256AtServer,
  sha256Of,
  strace,
  until,
} from './place.ts';

// Promise 8: every file-system call may fail. Before the request is sent this costs nothing (exit 2). Afterwards gw reports
// the job, and `gw jobs sync` saves it once the disk works again.

type World = Place & { readonly sandbox: Sandbox };

const words: Record<string, RegExp> = {
  ENOSPC: /the disk is full/,
  EIO: /input\/output error/,
  EDQUOT: /the disk quota is used up/,
  EROFS: /the file system is read-only/,
};

/** Checks for one error sentence and perhaps a hint, without a stack or a bare error code of Node. */
function expectOneError({ err }: Ended): string {
  const [said = '', ...more] = err.split('\n').filter((line) => line.startsWith('error: '));
  expect(more, err).toEqual([]);
  expect(err).not.toMatch(/\n {4}at |UNKNOWN|unexpected error|undefined/);
  return said;
}

/** Checks that gw refused before the request: exit 2, the reason in words, and nothing sent. */
function expectNothingPaid(place: World, ended: Ended, reason: RegExp): void {
  expect(ended.code, ended.err).toBe(2);
  expect(expectOneError(ended)).toMatch(reason);
  expect(ended.err).toMatch(/\nhint: /);
  expect(creates(place.sandbox)).toEqual([]);
}

/** Once the disk works again, sync saves every paid output and leaves no other file. */
async function expectMended(place: World, files = 1, state = place.state): Promise<void> {
  const [task, ...others] = place.sandbox.tasks();
  expect(others, 'paid once').toEqual([]);
  await until('the task ends', () => place.sandbox.tasks()[0]?.status === 'succeeded');
  const sync = await place.run(['jobs', 'sync'], { env: { GW_STATE_DIR: state } });
  expect(sync.code, sync.err).toBe(0);
  const [job] = await place.jobs(state);
  expect(job).toMatchObject({ id: task?.id, state: 'succeeded', files: [{ role: 'video' }] });
  expect(sha256Of(job?.files[0]?.path ?? '')).toBe(await sha256AtServer(place.sandbox, task?.id ?? ''));
  expect(place.files(path.dirname(job?.files[0]?.path ?? ''))).toHaveLength(files);
}

const errnos = ['ENOSPC', 'EIO', 'EDQUOT', 'EROFS'];

describe('an injected failure', { tags: ['strace'] }, () => {
  describe('of the ledger before the request', () => {
    const calls = [
      { call: 'openat', when: '1..2' },
      { call: 'write', when: '1' },
      { call: 'write', when: '2' },
      { call: 'fdatasync', when: '1' },
      { call: 'fdatasync', when: '2' },
    ];
    test.each(calls.flatMap((each) => errnos.map((errno) => ({ ...each, errno }))))(
      '$call number $when says $errno',
      async ({ call, when, errno }) => {
        const place = await openNearPlace();
        const wrap = strace(`${call}:error=${errno}:when=${when}`, [place.journal]);
        const ended = await place.run([...create, 'a fox'], { wrap });
        const reason = words[errno] ?? /./;
        expectNothingPaid(place, ended, reason);
        expect(ended.err).toContain(place.journal);
        expect(ended.err).toContain('nothing was sent');
        const again = await place.run([...create, 'a fox']);
        expect(again.code, again.err).toBe(0);
        expect(place.files()).toHaveLength(1);
      },
    );

    test.each(errnos)('making its directory says %s', async (errno) => {
      const place = await openNearPlace();
      const wrap = strace(`mkdir,mkdirat:error=${errno}:when=1`);
      const ended = await place.run([...create, 'a fox'], { wrap });
      expectNothingPaid(place, ended, words[errno] ?? /./);
    });

    test.each(['EIO', 'ENOSPC'])('the sync of its directory says %s', async (errno) => {
      const place = await openNearPlace();
      const wrap = strace(`fsync:error=${errno}:when=1`);
      expectNothingPaid(place, await place.run([...create, 'a fox'], { wrap }), words[errno] ?? /./);
    });
  });

  test('a disk without hard links: the sandbox and the gallery work, and a removal says why it cannot', async () => {
    const place = await openNearPlace();
    const made = await place.run([...create, 'a fox']);
    const wrap = strace('link,linkat:error=EPERM');
    const models = await place.run(['models', '--sandbox'], { wrap });
    expect(models.code, models.err).toBe(0);
    for (const _ of ['made', 'made anew']) {
      const gallery = await place.run(['gallery'], { wrap });
      expect(gallery.code, gallery.err).toBe(0);
      expect(fs.readFileSync(path.join(place.cwd, 'gallery.html'), 'utf8')).toContain('a fox');
    }
    expect(place.files()).toEqual(['gallery.html', path.basename(made.out.trim())]);
    const pruned = await place.run(['jobs', 'prune', '--before', '1ms', '--yes'], { wrap });
    expect(pruned.code, pruned.err).toBe(2);
    expect(pruned.err).toMatch(
      /^error: no job was removed: .* is on a file system without hard links \(EPERM\)$/m,
    );
    expect(await place.jobs()).toHaveLength(1);
  });

  describe('of the ledger after the request', () => {
    test.each(errnos)(
      'the ID cannot be recorded (%s): the reserve makes room, or it is told',
      async (errno) => {
        const place = await openNearPlace();
        const wrap = strace(`write:error=${errno}:when=3`, [place.journal]);
        const ended = await place.run([...create, 'a fox'], { wrap });
        const [task] = place.sandbox.tasks();
        expect(creates(place.sandbox)).toHaveLength(1);
        if (errno === 'ENOSPC' || errno === 'EDQUOT') {
          expect(ended.code, ended.err).toBe(0);
          expect(fs.readFileSync(place.journal, 'utf8')).toContain(`"event":"accepted","id":"${task?.id}"`);
          return;
        }
        // gw still waits for the task, and the exit code reports the failed write.
        expect(ended.code, ended.err).toBe(12);
        expect(ended.err).toMatch(words[errno] ?? /./);
        expect(ended.err).toContain(`the task ${task?.id} exists and is not recorded: note its ID`);
        // The ID is recorded when the job ends, because a sync would skip a job without an ID.
        expect(await place.jobs()).toMatchObject([{ id: task?.id, state: 'succeeded' }]);
      },
    );

    test('an ID that the disk takes with the end only is told once', async () => {
      const place = await openNearPlace();
      const wrap = strace('write:error=EIO:when=3', [place.journal]);
      const { out } = await place.run([...create, '--events', 'a fox'], { wrap });
      const events = out.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []));
      const told = events.filter(({ event }) => event === 'accepted' || event === 'status');
      // gw may look at the task while it still runs.
      const [first, ...later] = told.map(({ event }) => event);
      expect([first, ...new Set(later)]).toEqual(['accepted', 'status']);
      expect(told.at(-1)).toMatchObject({ status: 'succeeded' });
    });

    // The journal's writes: 1 intent, 2 sent, 3 accepted, then status lines, final, get, part, saved, part.
    test.each([
      { at: 4, call: 'write' },
      { at: 5, call: 'write' },
      { at: 6, call: 'write' },
      { at: 7, call: 'write' },
      { at: 8, call: 'write' },
      { at: 5, call: 'fdatasync' },
      { at: 7, call: 'fdatasync' },
    ])('$call number $at and all after it fail: sync mends it', async ({ at, call }) => {
      const place = await openNearPlace({ minTaskMs: 1 });
      const wrap = strace(`${call}:error=ENOSPC:when=${at}+`, [place.journal]);
      const ended = await place.run([...create, 'a fox'], { wrap });
      if (ended.code !== 0) {
        expect(ended.code, ended.err).toBe(12);
        expect(expectOneError(ended)).toMatch(words.ENOSPC ?? /./);
        expect(ended.err).toMatch(/gw jobs sync/);
        await expectMended(place);
      }
      expect(creates(place.sandbox)).toHaveLength(1);
    });
  });

  describe('of the output', () => {
    const calls = [
      { call: 'pwrite64', when: '1' },
      { call: 'pwrite64', when: '2+' },
    ];
    test.each(calls.flatMap((each) => ['ENOSPC', 'EIO', 'EDQUOT'].map((errno) => ({ ...each, errno }))))(
      '$call $when says $errno',
      async ({ call, when, errno }) => {
        const place = await openNearPlace({ fault: 'output:slow:x1', slowGapMs: 5 });
        const wrap = strace(`${call}:error=${errno}:when=${when}`);
        // The queue is off because it makes syncs of its own.
        const ended = await place.run([...create, 'a fox', '--no-queue'], { wrap });
        expect(ended.code, ended.err).toBe(12);
        expect(expectOneError(ended)).toMatch(words[errno] ?? /./);
        expect(ended.err).toContain('gw jobs sync');
        expect(place.files().filter((name) => !name.endsWith('.part'))).toEqual([]);
        await expectMended(place);
      },
    );

    test.each(errnos)('the rename of --force says %s: the old file stays', async (errno) => {
      const place = await openNearPlace();
      const target = path.join(place.cwd, 'fox.mp4');
      fs.writeFileSync(target, 'what was there before');
      // The first rename belongs to the test of the directory before the create.
      const wrap = strace(`rename,renameat,renameat2:error=${errno}:when=2`);
      const ended = await place.run([...create, 'a fox', '-o', 'fox.mp4', '--force'], { wrap });
      expect(ended.code, ended.err).toBe(12);
      expect(expectOneError(ended)).toMatch(words[errno] ?? /./);
      await expectMended(place, 2);
      expect(fs.readFileSync(target, 'utf8')).toBe('what was there before');
    });

    test('the probe of the directory fails: nothing is paid', async () => {
      const place = await openNearPlace();
      const dir = path.join(place.dir, 'clips');
      const wrap = strace('mkdir,mkdirat:error=EROFS:when=1');
      const ended = await place.run([...create, 'a fox', '-o', `${dir}/`], { wrap });
      expectNothingPaid(place, ended, /read-only/);
    });

    // strace counts calls for each thread, and Bun makes all calls in one thread.
    test('the part cannot be removed: the file is saved all the same, with a warning', {
      tags: ['node'],
    }, async () => {
      const place = await openNearPlace();
      // The first unlinks belong to the test of the directory; the next ones remove the lock and the part.
      const wrap = strace('unlink,unlinkat:error=EIO:when=4+');
      // libfaketime, which shifts the clock, also removes a file.
      const ended = await place.run([...create, 'a fox'], { wrap, env: { LD_PRELOAD: undefined } });
      expect(ended.code, ended.err).toBe(0);
      expect(ended.err).toMatch(
        /warning: .*\.part could not be removed: the disk reports an input\/output error/,
      );
      const [job] = await place.jobs();
      expect(sha256Of(job?.files[0]?.path ?? '')).toBe(job?.files[0]?.sha256);
      expect(place.files()).toHaveLength(2);
      const requests = place.sandbox.requests.length;
      const sync = await place.run(['jobs', 'sync']);
      expect(sync).toMatchObject({ code: 0, out: '' });
      expect(place.files()).toEqual([path.basename(job?.files[0]?.path ?? '')]);
      expect(place.sandbox.requests, 'putting a part away asks nobody').toHaveLength(requests);
    });
  });
});

describe('a small disk', { tags: ['mount'] }, () => {
  function mountAt(dir: string): (...options: string[]) => void {
    fs.mkdirSync(dir, { recursive: true });
    return mountTmpfs(dir, 'size=1m,mode=700');
  }

  /** Fills a disk except for `left` bytes; returns the file that takes the space. */
  function fill(dir: string, left: number): string {
    const { bavail, bsize } = fs.statfsSync(dir);
    const file = path.join(dir, 'ballast');
    fs.writeFileSync(file, Buffer.alloc(bavail * bsize - left));
    return file;
  }

  test('full in mid-life: the output waits until there is room', async () => {
    const place = await openNearPlace();
    const dir = path.join(place.dir, 'disk');
    mountAt(dir);
    const ballast = fill(dir, 12_288);
    const ended = await place.run([...create, 'a fox', '-o', `${dir}/`]);
    expect(ended.code, ended.err).toBe(12);
    expect(expectOneError(ended)).toMatch(/free, and the file needs|the disk is full/);
    expect(ended.err).toContain('gw jobs sync');
    fs.unlinkSync(ballast);
    await expectMended(place);
  });

  test('full from the start: nothing is paid', async () => {
    const place = await openNearPlace();
    const dir = path.join(place.dir, 'disk');
    mountAt(dir);
    fill(dir, 0);
    expectNothingPaid(place, await place.run([...create, 'a fox', '-o', `${dir}/`]), /the disk is full/);
    expect(place.files(dir)).toEqual(['ballast']);
  });

  test('as the state directory, full: nothing is paid; with room again it works', async () => {
    const place = await openNearPlace();
    const state = path.join(place.dir, 'disk');
    mountAt(state);
    const ballast = fill(state, 0);
    const env = { GW_STATE_DIR: state };
    expectNothingPaid(place, await place.run([...create, 'a fox'], { env }), /the disk is full/);
    fs.unlinkSync(ballast);
    const again = await place.run([...create, 'a fox'], { env });
    expect(again.code, again.err).toBe(0);
    await expectMended(place, 1, state);
  });

  test.each(['full', 'read-only'])(
    'as the state directory, %s after the create: the output is saved, and sync writes it down',
    async (how) => {
      const place = await openNearPlace(held);
      const state = path.join(place.dir, 'disk');
      mountAt(state);
      const env = { GW_STATE_DIR: state };
      const running = place.start([...create, 'a fox'], { env });
      await until('the ID is shown', () => running.err().includes('task vt-'));
      let mend: () => unknown = () => spawnSync('mount', ['-o', 'remount,rw', state]);
      if (how === 'read-only') spawnSync('mount', ['-o', 'remount,ro', state]);
      else {
        const ballast = fill(state, 0);
        mend = () => fs.unlinkSync(ballast);
        // The journal's last page is filled, because it could otherwise still take a line or two.
        const journal = path.join(state, 'ledger', path.basename(place.journal));
        fs.appendFileSync(journal, `${' '.repeat(4096 - (fs.statSync(journal).size % 4096) - 1)}\n`);
      }
      await forward(place.sandbox);
      const ended = await running.ended;
      expect(ended.code, ended.err).toBe(0);
      expect(ended.err).toMatch(
        /warning: .* (the disk is full|the file system is read-only) .*; its outputs are saved all the same/,
      );
      expect(fetches(place.sandbox)).toHaveLength(1);
      mend();
      expect((await place.run(['jobs', 'sync'], { env })).code).toBe(0);
      const [job] = await place.jobs(state);
      expect(sha256Of(ended.out.trim())).toBe(job?.files[0]?.sha256);
      expect(creates(place.sandbox)).toHaveLength(1);
    },
  );

  test.each(['a batch', 'a worker'])(
    'as the state directory of %s, read-only in mid-run: what runs is saved, and the next run sends the rest',
    { tags: ['redis-server'] },
    async (whose) => {
      const place = await openNearPlace(held);
      const state = path.join(place.dir, 'disk');
      mountAt(state);
      const row = { command: 'video alpha', model: '2.0-fast', resolution: '480p', duration: 4 };
      const rows = Array.from({ length: 6 }, (_, at) =>
        JSON.stringify({ ...row, id: `r${at}`, prompt: 'fox' }),
      );
      const redis = whose === 'a worker' ? [`--redis=${(await openRedis({ appendOnly: true })).url}`] : [];
      const laptop = redis.length > 0 ? new Place(place.sandbox) : place;
      if (laptop !== place) onTestFinished(() => laptop.close());
      fs.writeFileSync(path.join(laptop.cwd, 'day.jsonl'), rows.join('\n'));
      const env = { GW_STATE_DIR: state, GW_INTERVAL: '200ms' };
      const run = () => laptop.start(cmd`batch run day.jsonl ${redis}`, { env: laptop === place ? env : {} });
      const work = () => (redis.length > 0 ? place.start(['worker', ...redis], { env }) : undefined);
      const worker = work();
      const running = run();
      const journal = path.join(state, 'ledger', path.basename(place.journal));
      /** The account has three slots, and no task ends by itself. */
      const accepted = (jobs: number) =>
        until(
          `${jobs} jobs have their IDs`,
          () =>
            fs.existsSync(journal) &&
            fs.readFileSync(journal, 'utf8').split('"accepted"').length === jobs + 1,
        );
      await accepted(3);
      spawnSync('mount', ['-o', 'remount,ro', state]);
      await forward(place.sandbox);
      // Another worker could go on with the rows that this one puts back, so their run waits for one.
      const { code, err } = await (worker ?? running).ended;
      expect(code, err).toBe(worker ? 2 : 13);
      expect(creates(place.sandbox)).toHaveLength(3);
      const saved = () => place.files().filter((name) => name.endsWith('.mp4'));
      expect(saved()).toHaveLength(3);
      if (!worker) expect(err).toMatch(/6 rows: 3 saved, 3 not (sent|done); go on with: gw batch run day/);
      expect(err).not.toContain('fault of gw');
      spawnSync('mount', ['-o', 'remount,rw', state]);
      const second = work();
      const rest = worker ? running : run();
      await accepted(6);
      await forward(place.sandbox);
      const next = await rest.ended;
      expect(next.code, next.err).toBe(0);
      expect(creates(place.sandbox)).toHaveLength(6);
      expect(saved()).toHaveLength(6);
      second?.child.kill('SIGTERM');
      await second?.ended;
    },
  );

  test('as the state directory, full when the ID comes: the reserve makes room for it', async () => {
    const place = await openNearPlace();
    const state = path.join(place.dir, 'disk');
    mountAt(state);
    const reserve = path.join(state, 'ledger', 'reserve');
    const gateway = await openServer((_, response) => {
      // The journal's last page is filled, because it could otherwise still take a line or two.
      const journal = path.join(state, 'ledger', path.basename(place.journal));
      fs.appendFileSync(journal, `${' '.repeat(4096 - (fs.statSync(journal).size % 4096) - 1)}\n`);
      fill(state, 0);
      expect(fs.existsSync(reserve)).toBe(true);
      sendJson(response, 200, { id: TASK_ID, task_id: TASK_ID, status: 'queued' });
    });
    const env = { GW_STATE_DIR: state, GW_BASE_URL: gateway.url };
    const ended = await place.run(['video', 'alpha', 'create', 'a fox'], { env });
    expect(ended, ended.err).toMatchObject({ code: 0, out: `${TASK_ID}\n` });
    expect(fs.existsSync(reserve)).toBe(false);
    expect(await place.jobs(state)).toMatchObject([{ id: TASK_ID, state: 'running' }]);
    expect(gateway.seen).toHaveLength(1);
  });

  test('read-only from the start: nothing is paid', async () => {
    const place = await openNearPlace();
    const dir = path.join(place.dir, 'disk');
    const remount = mountAt(dir);
    remount('ro');
    expectNothingPaid(place, await place.run([...create, 'a fox'], { cwd: dir }), /read-only/);
    const env = { GW_STATE_DIR: path.join(dir, 'state') };
    expectNothingPaid(place, await place.run([...create, 'a fox'], { env }), /read-only/);
  });

  test('read-only in mid-life: sync mends it', async () => {
    const place = await openNearPlace(held);
    const dir = path.join(place.dir, 'disk');
    const remount = mountAt(dir);
    const running = place.start([...create, 'a fox', '-o', `${dir}/`]);
    await until('the ID is shown', () => running.err().includes('task vt-'));
    remount('ro');
    await forward(place.sandbox);
    const ended = await running.ended;
    expect(ended.code, ended.err).toBe(12);
    expect(expectOneError(ended)).toMatch(/read-only/);
    remount('rw');
    await expectMended(place);
  });
});

describe('a limit on the size of files', () => {
  test('ulimit -f: the output is not saved, and sync saves it without the limit', async () => {
    const place = await openNearPlace();
    const ended = await place.shell(
      'ulimit -f 16; exec $GW video alpha create a fox --wait --interval 100ms',
    );
    expect(ended.code, ended.err).toBe(12);
    expect(expectOneError(ended)).toMatch(/would pass the size limit/);
    expect(ended.err).toContain('gw jobs sync');
    await expectMended(place);
  });

  test('ulimit -f 0: nothing is paid', async () => {
    const place = await openNearPlace();
    const ended = await place.shell(
      'ulimit -f 0; exec $GW video alpha create a fox --wait --interval 100ms',
      {
        // libfaketime, which shifts the clock, needs a file of its own and ends when it cannot write one.
        env: { LD_PRELOAD: undefined },
      },
    );
    expectNothingPaid(place, ended, /limit/);
  });
});

// In the one-file gw, Bun itself reports the missing directory.
test('a working directory that was removed: said so, and nothing is paid; what needs none goes on', {
  tags: ['node'],
}, async () => {
  const place = await openNearPlace();
  const gone = path.join(place.dir, 'gone');
  const inGone = (line: string) =>
    place.shell(`mkdir '${gone}' && cd '${gone}' && rmdir '${gone}' && ${line}`);
  expectNothingPaid(
    place,
    await inGone('$GW video alpha create fox --wait'),
    /the working directory is gone/,
  );
  expect(await inGone('$GW --help | head -1')).toMatchObject({
    out: 'Usage: gw COMMAND [options]\n',
    err: '',
  });
});

describe('a state directory that cannot be', () => {
  test('a file in its place is named, and nothing is paid', async () => {
    const place = await openNearPlace();
    const file = path.join(place.dir, 'state');
    fs.writeFileSync(file, '');
    for (const state of [file, path.join(file, 'below')]) {
      const ended = await place.run([...create, 'a fox'], { env: { GW_STATE_DIR: state } });
      expectNothingPaid(place, ended, /not a directory|a file stands where a directory is expected/);
      expect(ended.err).toContain(file);
    }
    expect(fs.readFileSync(file, 'utf8')).toBe('');
  });

  test('no HOME: said so, and nothing is paid; with GW_STATE_DIR it works', async () => {
    const place = await openNearPlace();
    const env = { HOME: undefined };
    expectNothingPaid(place, await place.run([...create, 'a fox'], { env }), /HOME is not set/);
    const list = await place.run(['jobs', 'list'], { env });
    expect(list.code).toBe(2);
    expect(expectOneError(list)).toMatch(/HOME is not set/);
    const state = path.join(place.dir, 'state');
    const config = path.join(place.dir, 'config');
    const ended = await place.run([...create, 'a fox'], {
      env: { ...env, GW_STATE_DIR: state, GW_CONFIG_DIR: config },
    });
    expect(ended.code, ended.err).toBe(0);
  });
});

test.each([
  ['video', 'alpha', 'create', 'a fox', '--wait'],
  ['image', 'create', 'a fox'],
])('with few open files the embedded sandbox does not begin: %s %s', { tags: ['node'] }, async (...argv) => {
  const place = new Place();
  const wrap = ['bash', '-c', 'ulimit -n 24; exec "$@"', 'gw'];
  const ended = await place.run([...argv, '--sandbox'], { wrap });
  expect(ended.code, ended.err).toBe(2);
  expect(expectOneError(ended)).toMatch(/too many files are open/);
  expect(ended.err).toContain('ulimit -n');
});
