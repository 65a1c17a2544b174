import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as net from 'node:net';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { type ChatApi, type ChatRequest, chatApis } from '../../src/chat/chat.ts';
import { converse } from '../../src/chat/converse.ts';
import { loadLex, MarkdownStream } from '../../src/chat/repl/markdown/markdown-stream.ts';
import { loadInk } from '../../src/chat/repl/markdown/spans.ts';
import { configFilePath, readConfig } from '../../src/config/config-file.ts';
import type { DirHost } from '../../src/config/dirs.ts';
import { GwError } from '../../src/errors.ts';
import { applySets, readJsonBody } from '../../src/flags/json-body.ts';
import type { ReplyTaker } from '../../src/http/client.ts';
import { parseJson, UnreadableJson } from '../../src/http/parse-json.ts';
import { addLine, jobOf, newDraft } from '../../src/ledger/fold.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { parseLine } from '../../src/ledger/parse-line.ts';
import { readImageSize } from '../../src/media/image-facts.ts';
import { sourceOf } from '../../src/media/probe.ts';
import { sniff } from '../../src/media/signatures.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { recordedStreams } from '../chat/recorded-streams.ts';
import { assetsDir, wasmDir } from '../helpers/assets-dir.ts';
import { newDir } from '../helpers/new-dir.ts';
import { heif, pngHead } from '../media/fixtures.ts';
import { fuzz, tell } from '../torture/torture.ts';

// Gives damaged input to all readers of foreign files and texts: each must end within a second and fail only with its own errors.
// `GW_TORTURE=1 npx vitest run --config test/torture/vitest.config.ts test/fuzz` tries 20,000 inputs for each target.

const RUNS = 200;
const LONGEST_MS = 1000;
const HANG_MS = 20_000;

/** A sample with some changes: bytes replaced, lengths made extreme, a part cut out or doubled, the end cut off. */
function damaged(samples: readonly Uint8Array[]): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    how: fc.constantFrom('byte', 'length', 'cut', 'double', 'end'),
    value: fc.constantFrom(0, 1, 8, 0x22, 0x5b, 0x7b, 0x7fffffff, 0x80000000, 0xffffffff),
    size: fc.integer({ min: 1, max: 200 }),
  });
  const changes = fc.array(change, { minLength: 1, maxLength: 5 });
  return fc.tuple(fc.constantFrom(...samples), changes).map(([sample, all]) => {
    let bytes = Buffer.from(sample);
    for (const { at, how, value, size } of all) {
      const from = Math.floor(at * bytes.length);
      if (how === 'byte') bytes.set([value & 0xff].slice(0, bytes.length), from);
      else if (how === 'length' && from + 4 <= bytes.length) bytes.writeUInt32BE(value, from);
      else if (how === 'cut') bytes = Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + size)]);
      else if (how === 'double') {
        bytes = Buffer.concat([bytes.subarray(0, from + size), bytes.subarray(from)]);
      } else if (how === 'end') bytes = bytes.subarray(0, from);
    }
    return bytes;
  });
}

/** Odd while an input is read. This thread cannot end its own endless loop, so another thread ends the process. */
const turns = new Int32Array(new SharedArrayBuffer(4));
const watch = `
  const turns = require('node:worker_threads').workerData;
  let [last, since] = [0, Date.now()];
  setInterval(() => {
    const turn = Atomics.load(turns, 0);
    if (turn !== last || turn % 2 === 0) [last, since] = [turn, Date.now()];
    if (Date.now() - since < ${HANG_MS}) return;
    process._rawDebug('fuzz: input ' + (turn + 1) / 2 + ' of this file did not end');
    process.kill(process.pid, 'SIGKILL');
  }, 500);`;
const watcher = new Worker(watch, { eval: true, workerData: turns });
afterAll(() => watcher.terminate());

/** Tries a reader on damaged samples. No try may take longer than a second or fail with an error that is not `expected`. */
function target(
  name: string,
  samples: readonly (string | Uint8Array)[],
  read: (bytes: Buffer) => unknown,
  expected: (error: unknown) => boolean = () => false,
): void {
  test(name, async () => {
    const counts = { inputs: 0, refused: 0, longestMs: 0 };
    const property = fc.asyncProperty(damaged(samples.map((each) => Buffer.from(each))), async (bytes) => {
      const before = process.cpuUsage();
      Atomics.add(turns, 0, 1);
      try {
        await read(bytes);
      } catch (error) {
        if (!expected(error)) throw error;
        counts.refused += 1;
      } finally {
        Atomics.add(turns, 0, 1);
      }
      // The CPU time of this process only, because other processes of the machine do not count.
      const { user, system } = process.cpuUsage(before);
      counts.inputs += 1;
      counts.longestMs = Math.max(counts.longestMs, Math.round((user + system) / 1000));
      expect(counts.longestMs).toBeLessThan(LONGEST_MS);
    });
    await fc.assert(property, fuzz(RUNS));
    tell(`fuzz: ${name}`, { ...counts, peakMb: Math.round(process.resourceUsage().maxRSS / 1024) });
    expect(counts.inputs).toBeGreaterThan(0);
  });
}

const isRefusal = (error: unknown) => error instanceof GwError;

const jpeg = Buffer.from(
  'ffd8ffe000104a46494600010100000100010000ffc0001108001000200301220002110103110100',
  'hex',
);
const tiff = Buffer.from('49492a00080000000200000103000100000010000000010103000100000020000000000000', 'hex');
const gif = Buffer.from('R0lGODlhAAQAAwAAACwAAAAAAAQAAwAAAgEAOw==', 'base64');
const webp = Buffer.from(
  '52494646240000005745425056503820180000003001009d012a0100010002003425a400037000fefbfd5000',
  'hex',
);
target(
  'image headers',
  [pngHead(640, 480), jpeg, tiff, gif, webp, heif('heic', 'mif1', 640, 480)],
  async (bytes) => {
    const type = sniff(bytes);
    if (type?.modality === 'image') await readImageSize(sourceOf(bytes), type.format);
  },
);

for (const api of chatApis) {
  const wires = recordedStreams.filter((recorded) => recorded.api === api).map(({ wire }) => wire);
  target(`event streams of ${api}`, wires, (bytes) => ask(api, bytes), isRefusal);
}

async function ask(api: ChatApi, bytes: Buffer): Promise<unknown> {
  const conversation = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'hi' }] }];
  const request: ChatRequest = { api, model: 'm', turns: conversation, stream: true, keep: 'whole' };
  const client = {
    send: () => Promise.reject(new Error('not asked for')),
    async stream(_: unknown, __: unknown, { takeChunk }: Pick<ReplyTaker, 'takeChunk'>) {
      await takeChunk(bytes);
      return undefined;
    },
  };
  return converse(request, { client }, () => {});
}

const markdown =
  '# A\n\n1. one **two** _three_\n   - `four` [five](http://x.example/y)\n\n> six\n> > seven\n\n|a|b|\n|-|-:|\n|1|2|\n\n```js\nx\n```\n~~8~~ <b>9</b> ![10][11]\n\n[11]: /y "z"\n---\n';
const lex = await loadLex();
const ink = await loadInk(true);
target('Markdown', [markdown, markdown.repeat(5)], (bytes) => {
  const stream = new MarkdownStream(lex);
  const drawing = { columns: 60, hasUnicode: true, cutCode: true, ink };
  for (let at = 0; at < bytes.length; at += 37) stream.push(bytes.toString('utf8', at, at + 37), drawing);
  stream.end(drawing);
});

const json = '{"a":[1,2.5e3,"b\\u0041\\"",null,{"c":{}}],"__proto__":{"d":true},"e":-0}';
target(
  'JSON',
  [json, json.replaceAll('{}', json)],
  (bytes) => parseJson(bytes.toString()),
  (error) => error instanceof UnreadableJson,
);
target(
  'bodies',
  [json, json.replace('__proto__', 'f')],
  (bytes) => readJsonBody('-', { cwd: '', stdin: Readable.from([bytes]) }),
  isRefusal,
);
target(
  '--set',
  ['a.b[0].c=12', 'x:=[1,{"y":2}]', 'content[1].role=first', '__proto__.z=1'],
  (bytes) => applySets({ a: { b: [{}] } }, [bytes.toString()]),
  isRefusal,
);

const lines = [
  '{"v":1,"t":1790000000000,"job":"gw-0123456789abcdefghjkmnpqrs","event":"sent","attempt":1}',
  '{"v":1,"t":1790000000000,"job":"gw-0123456789abcdefghjkmnpqrs","event":"accepted","id":"cgt-1"}',
  '{"v":1,"t":1790000000000,"job":"gw-0123456789abcdefghjkmnpqrs","event":"status","state":"running"}',
];
target(
  'ledger lines',
  lines,
  (bytes) => {
    const draft = newDraft('gw-0123456789abcdefghjkmnpqrs');
    const line = parseLine(bytes.toString(), 'x.jsonl');
    if (typeof line !== 'string') addLine(draft, line);
    jobOf(draft);
  },
  isRefusal,
);

const config =
  '{"version":1,"current":"work","profiles":{"work":{"base_url":"https://x.example","models":{"chat":"m"}}}}';
const homeDir = newDir();
const home: DirHost = { env: {}, cwd: homeDir, platform: 'linux', homeDir };
fs.mkdirSync(path.dirname(configFilePath(home)), { recursive: true, mode: 0o700 });
target(
  'config files',
  [config],
  (bytes) => {
    fs.writeFileSync(configFilePath(home), bytes, { mode: 0o600 });
    readConfig(home);
  },
  isRefusal,
);

// Reads tracks of videos and sounds in a thread that is ended when its time is up, as gw does (media/in-worker.ts). Here one
// thread reads many files.
const { buildAlone } = createRequire(import.meta.url)('../../bin/build-alone.js') as {
  buildAlone(entryPoint: string): Promise<{ readonly outputFiles: readonly [{ readonly text: string }] }>;
};
const READ_MS = 500;
const reader = path.join(homeDir, 'track-facts.cjs');
fs.writeFileSync(reader, (await buildAlone('src/media/track-facts.ts')).outputFiles[0].text);
const readTracks = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { readTrackFacts } = require(workerData);
  parentPort.on('message', async (bytes) => {
    await readTrackFacts(bytes, () => {});
    parentPort.postMessage('read');
  });
  parentPort.postMessage('ready');`;
let thread: Promise<Worker> | undefined;
const openThread = () =>
  new Promise<Worker>((resolve, reject) => {
    const worker = new Worker(readTracks, {
      eval: true,
      workerData: reader,
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    worker.once('message', () => resolve(worker)).once('error', reject);
  });
afterAll(async () => (await thread)?.terminate());

/** Throws `ended` if the thread had to be ended. No other failure may happen in it. */
async function readInThread(bytes: Buffer): Promise<void> {
  thread ??= openThread();
  const worker = await thread;
  const how = await new Promise<unknown>((resolve) => {
    const settle = (word: unknown) => {
      clearTimeout(timer);
      worker.off('message', settle).off('error', settle);
      resolve(word);
    };
    const timer = setTimeout(() => settle('ended'), READ_MS);
    worker.on('message', settle).on('error', settle);
    worker.postMessage(bytes);
  });
  if (how === 'read') return;
  thread = undefined;
  await worker.terminate();
  throw how;
}

const clip = fs.readFileSync(path.join(assetsDir, 'clips/480p-1x1.mp4'));
const mov = Buffer.from(clip);
mov.write('qt  ', 8, 'latin1');
const mp3 = fs.readFileSync(path.join(assetsDir, 'clips/tone.mp3'));
const m4a = fs.readFileSync(path.join(assetsDir, 'clips/tone.m4a'));
const wav = Buffer.alloc(4000);
wav.write(
  'RIFF\xa0\x0f\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x78\x0f\0\0',
  'latin1',
);
target(
  'tracks of films and sounds',
  [clip, mov, mp3, m4a, wav],
  readInThread,
  (error) => error === 'ended' || (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY',
);

const ledgerDir = path.join(homeDir, 'ledger-of-many');
const journals = path.join(ledgerDir, 'ledger');
fs.mkdirSync(journals, { recursive: true, mode: 0o700 });
const jobs = Array.from({ length: 50 }, (_, at) => `gw-${String(at).padStart(26, '0')}`);
const journal = jobs.flatMap((job, at) =>
  [
    ...[
      {
        event: 'intent',
        family: 'alpha',
        endpoint: 'alpha.create',
        prompt: 'a fox '.repeat(1000),
        settings: {},
      },
    ],
    ...[{ event: 'sent' }, { event: 'accepted', id: `t-${at}`, status: 'queued' }],
  ].map((event) => `\n${JSON.stringify({ v: 1, t: 1_790_000_000_000 + at, job, ...event })}\n`),
);
fs.writeFileSync(path.join(journals, '2026-09.jsonl'), journal.join(''), { mode: 0o600 });
const findAll = async () => {
  const ledger = openLedger({ dir: ledgerDir, clock: { now: Date.now }, keepPrompts: true });
  return (await ledger.find({ ids: ['t-7'] })).map(({ key }) => key);
};
await findAll();
const contentsFile = path.join(journals, 'contents');
target("the ledger's contents", [fs.readFileSync(contentsFile)], async (bytes) => {
  fs.writeFileSync(contentsFile, bytes, { mode: 0o600 });
  expect(await findAll()).toEqual([jobs[7]]);
});

const sandbox = await startSandbox({
  key: 'k',
  account: 'enterprise',
  speed: 1000,
  faults: [],
  clipsDir: path.join(assetsDir, 'clips'),
  wasmDir,
});
afterAll(() => sandbox.close());
const { port } = new URL(sandbox.baseUrl);
const http = (line: string, body = '', type = 'application/json') =>
  [
    `${line} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'authorization: Bearer k',
    'connection: close',
    ...(body === '' ? [] : [`content-type: ${type}`, `content-length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n');
const form =
  '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nimg-2\r\n' +
  '--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\nx\r\n--b--\r\n';
/** Sends bytes unchanged, and reads until the sandbox has ended the connection or half a second has passed. */
function request(bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let came = '';
    const socket = net.connect(Number(port), '127.0.0.1', () => socket.end(bytes));
    const done = () => {
      socket.destroy();
      resolve(came);
    };
    socket.setTimeout(READ_MS, done);
    socket.setEncoding('latin1').on('data', (text: string) => {
      came += text;
    });
    socket.on('error', done).on('close', done);
  });
}
target(
  "the sandbox's router",
  [
    http('GET /v1/models'),
    http('GET /tasks?task_ids=a,b&external_task_ids=c'),
    http(
      'POST /api/v3/contents/generations/tasks',
      '{"model":"alpha-video-2-5-260628","content":[{"type":"text","text":"x"}]}',
    ),
    http(
      'POST /tasks',
      '{"start_time":1,"end_time":2,"limit":5,"filters":[{"key":"status","values":["x"]}]}',
    ),
    http(
      'POST /text-to-video/beta-3.0',
      '{"prompt":"a fox","settings":{"duration":5},"options":{"external_task_id":"e"}}',
    ),
    http(
      'POST /v1/chat/completions',
      '{"model":"geo-3.6-flash","stream":true,"messages":[{"role":"user","content":"hi"}]}',
    ),
    http('POST /v1/images/edits', form, 'multipart/form-data; boundary=b'),
    http(
      'POST /?Action=ListAssets&Version=2024-01-01',
      '{"PageNumber":1,"PageSize":10,"Filter":{"GroupType":"AIGC"}}',
    ),
    http('DELETE /v2/query/video_generation/t-1'),
  ],
  async (bytes) => expect(await request(bytes)).not.toMatch(/^HTTP\/1\.1 500/),
);
