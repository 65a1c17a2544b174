import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { request } from 'node:http';
import * as path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { makePng } from '../../src/sandbox/media-check.ts';
import { seededRandom } from '../../src/sandbox/seeded.ts';
import { builtGw } from '../cli/built.ts';
import { cmd } from '../helpers/cmd.ts';
import { freePort } from '../helpers/free-port.ts';
import { newDir } from '../helpers/new-dir.ts';
import { type Answer, ask } from '../sandbox/fixture.ts';
import { isLong, seed, tell } from './torture.ts';

// Many client programs use one `gw sandbox serve` at once and send large forms, while it is killed with -9 in between.
// The long run installs the packed tarball in an empty directory and uses 50 clients for a minute.

const CLIENTS = isLong ? 50 : 8;
const SECONDS = isLong ? 60 : 4;
const KILLS = isLong ? 3 : 1;
const MAX_SERVE_MB = 300;
const FORM_MB = isLong ? 500 : 120;
const MAX_FORM_MB = 250;
const key = 'ci-only';
const auth = { authorization: `Bearer ${key}`, 'x-geo-api-key': key };

/** Makes a new directory, and gw from the packed tarball (long run) or as the tests build it. */
function install(): { readonly dir: string; readonly script: string } {
  const dir = newDir();
  if (!isLong) return { dir, script: builtGw().script };
  const root = path.join(import.meta.dirname, '../..');
  const npm = (args: readonly string[], cwd: string) =>
    execFileSync('npm', cmd`${args} --ignore-scripts --no-audit --no-fund --silent`, {
      cwd,
      encoding: 'utf8',
    });
  const [{ filename }] = JSON.parse(npm(['pack', '--json', '--pack-destination', dir], root));
  fs.writeFileSync(path.join(dir, 'package.json'), '{}');
  npm(['install', '--offline', path.join(dir, filename)], dir);
  return { dir, script: path.join(dir, 'node_modules/gw-cli/bin/gw.js') };
}

/** A served sandbox that can be killed and started again on its ports. */
class Served {
  readonly #from = install();
  readonly #work = path.join(this.#from.dir, 'empty');
  #child: ChildProcess | undefined;
  peakMb = 0;

  constructor(
    readonly port: number,
    readonly outputPort: number,
  ) {
    fs.mkdirSync(this.#work);
    onTestFinished(() => this.kill());
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const ports = ['--port', String(this.port), '--output-port', String(this.outputPort)];
    this.#child = spawn(
      process.execPath,
      [this.#from.script, 'sandbox', 'serve', '--quiet', '--key', key, '--speed', '2000', ...ports],
      {
        cwd: this.#work,
        env: { HOME: path.join(this.#from.dir, 'home'), PATH: process.env.PATH },
        stdio: 'ignore',
      },
    );
    const isServing = () =>
      ask(`${this.url}/v1/models`, { headers: auth }).then(
        ({ status }) => status === 200,
        () => false,
      );
    for (let tries = 0; tries < 300 && !(await isServing()); tries += 1) await setTimeout(100);
  }

  /** Raises `peakMb` to the peak memory of the running process. */
  measure(): void {
    const status = fs.readFileSync(`/proc/${this.#child?.pid}/status`, 'utf8');
    const [, kb = '0'] = /VmHWM:\s+(\d+) kB/.exec(status) ?? [];
    this.peakMb = Math.max(this.peakMb, Math.round(Number(kb) / 1024));
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

async function serve(): Promise<Served> {
  const served = new Served(await freePort(), await freePort());
  await served.start();
  return served;
}

const json = (body: unknown) => ({
  method: 'POST',
  headers: { ...auth, 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** A task that a client made, and the link and digest of its output. */
interface Made {
  readonly id: string;
  sha256?: string;
  link?: string;
}

test('many clients at once, over kills with -9: no wrong reply', { timeout: 400_000 }, async () => {
  const served = await serve();
  const at = served.url;
  let replies = 0;
  const wrong: string[] = [];
  const endMs = performance.now() + SECONDS * 1000;
  let isDown = false;

  /** The reply, or undefined if the sandbox was killed meanwhile. */
  const asked = async (url: string, options?: Parameters<typeof ask>[1]): Promise<Answer | undefined> => {
    try {
      const answer = await ask(url, { headers: auth, ...options });
      replies += 1;
      return answer;
    } catch (error) {
      if (!isDown) wrong.push(`${url}: ${String(error)}`);
      while (isDown) await setTimeout(20);
      return undefined;
    }
  };
  const check = (what: string, isRight: boolean, { status, text }: Answer) => {
    if (!isRight) wrong.push(`${what}: ${status} ${text.slice(0, 300)}`);
  };

  const client = async (number: number) => {
    const random = seededRandom(seed + number);
    const made: Made[] = [];
    const calls: readonly ((word: string) => Promise<void>)[] = [
      async (word) => {
        const body = {
          model: 'geo-3.6-flash',
          messages: [{ role: 'user', content: word }],
          stream: random() < 0.5,
        };
        const answer = await asked(`${at}/v1/chat/completions`, json(body));
        if (!answer) return;
        const isWhole = !body.stream || answer.text.endsWith('data: [DONE]\n\n');
        check('completions', answer.status === 200 && answer.text.includes(word) && isWhole, answer);
      },
      async (word) => {
        const body = { contents: [{ parts: [{ text: word }] }] };
        const answer = await asked(`${at}/v1beta/models/geo-3.6-flash:generateContent`, json(body));
        if (answer) check('geo', answer.status === 200 && answer.text.includes(word), answer);
      },
      async (word) => {
        const content = [{ type: 'text', text: word }];
        const body = { model: 'gamma-H3', content, resolution: '768P', duration: 4, ratio: '16:9' };
        const answer = await asked(`${at}/v2/video_generation`, json(body));
        if (!answer) return;
        check('create', answer.status === 200, answer);
        if (answer.status === 200) made.push({ id: JSON.parse(answer.text).task_id });
      },
      async () => {
        const each = made[Math.floor(random() * made.length)];
        if (!each) return;
        const answer = await asked(`${at}/v2/query/video_generation/${each.id}`);
        if (!answer) return;
        const { id, status, content } = answer.status === 200 ? JSON.parse(answer.text).task : {};
        check('query', id === each.id && ['queued', 'running', 'succeeded'].includes(status), answer);
        if (content) each.link ??= content.url;
      },
      async () => {
        const each = made.find(({ link }) => link !== undefined && random() < 0.3);
        const answer = each?.link && (await asked(each.link));
        if (!each || !answer) return;
        const sha256 = createHash('sha256').update(answer.bytes).digest('hex');
        const isFilm = answer.status === 200 && answer.bytes.toString('latin1', 4, 8) === 'ftyp';
        check('output', isFilm && (each.sha256 ?? sha256) === sha256, {
          ...answer,
          text: `${answer.bytes.length} bytes`,
        });
        each.sha256 = sha256;
      },
    ];
    for (let nth = 0; performance.now() < endMs; nth += 1) {
      await calls[Math.floor(random() * calls.length)]?.(`word-${number}-${nth}`);
    }
    // Tasks that were made before a kill must still exist at the end, and so must the outputs at their links.
    for (const { id, link } of made) {
      const answer = await asked(`${at}/v2/query/video_generation/${id}`);
      if (answer) check('task at the end', answer.status === 200, answer);
      const head = link && (await asked(link, { method: 'HEAD' }));
      if (head) check('link at the end', head.status === 200, head);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await setTimeout((SECONDS * 1000) / (KILLS + 1));
    served.measure();
    isDown = true;
    await served.kill();
    await served.start();
    isDown = false;
  }
  await clients;
  served.measure();
  tell('serve', { replies, kills: KILLS, wrong: wrong.length, peakMb: served.peakMb });
  if (isLong)
    console.log(
      `${CLIENTS} clients, ${SECONDS} s, ${KILLS} kills: ${replies} replies, ${wrong.length} wrong, ${served.peakMb} MB`,
    );
  expect(wrong.slice(0, 20)).toEqual([]);
  expect(replies).toBeGreaterThan(CLIENTS);
  expect(served.peakMb).toBeLessThan(MAX_SERVE_MB);
});

test(`a form of ${FORM_MB} MB takes less than ${MAX_FORM_MB} MB`, { timeout: 300_000 }, async () => {
  const served = await serve();
  const png = await makePng(320, 200, (row) => row.fill(90));
  const images = 16;
  const padding = Buffer.alloc(1024 * 1024, 7);
  const paddings = Math.floor(FORM_MB / images);
  const text = (name: string, value: string) =>
    `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(`${served.url}/v1/images/edits`, {
      method: 'POST',
      headers: { ...auth, 'content-type': 'multipart/form-data; boundary=x' },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => void pieces.push(piece));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }),
      );
    });
    function* pieces() {
      yield Buffer.from(text('model', 'img-2') + text('prompt', 'a fox') + text('size', '256x256'));
      for (let image = 0; image < images; image += 1) {
        yield Buffer.from('--x\r\ncontent-disposition: form-data; name="image[]"; filename="a.png"\r\n\r\n');
        yield png;
        for (let nth = 0; nth < paddings; nth += 1) yield padding;
        yield Buffer.from('\r\n');
      }
      yield Buffer.from('--x--\r\n');
    }
    const all = pieces();
    const more = () => {
      for (let next = all.next(); !next.done; next = all.next()) {
        if (!sent.write(next.value)) return void sent.once('drain', more);
      }
      sent.end();
    };
    more();
  });
  served.measure();
  tell('serve: a form', { formMb: images * paddings, peakMb: served.peakMb });
  if (isLong) console.log(`a form of ${images * paddings} MB: ${served.peakMb} MB`);
  expect(answer.status, answer.text.slice(0, 300)).toBe(200);
  expect(served.peakMb).toBeLessThan(MAX_FORM_MB);
});
