import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import * as path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { passOn } from '../../src/commands/api.ts';
import { prettyJson } from '../../src/http/parse-json.ts';
import { HttpTransport } from '../../src/http/transport.ts';
import { createIo } from '../../src/io/create-io.ts';
import { cmd } from '../helpers/cmd.ts';
import { KEY, test, World } from '../helpers/gw.ts';
import {
  type RecordedRequest,
  type RecordingGateway,
  recordingGateway,
} from '../helpers/recording-gateway.ts';

const json = (response: ServerResponse, status: number, body: unknown, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

/** A world whose gateway answers as the test defines. */
async function recorded(
  answer: (request: RecordedRequest, response: ServerResponse) => void = (_, response) =>
    json(response, 200, {}),
) {
  const world = await World.open();
  const gateway = await recordingGateway(answer);
  const gw = (argv: readonly string[], options: Parameters<World['gw']>[1] = {}) =>
    world.gw(['api', ...argv], { ...options, env: { GW_BASE_URL: gateway.url, ...options.env } });
  return { world, gateway, gw };
}

const credentialHeaders = ['authorization', 'x-api-key', 'x-geo-api-key', 'provider-version'] as const;
/** The credential headers of a received request. */
const credentialOf = ({ headers }: RecordedRequest) =>
  Object.fromEntries(
    credentialHeaders.filter((name) => headers[name] !== undefined).map((name) => [name, headers[name]]),
  );

const bearer = { authorization: `Bearer ${KEY}` };
const messages = { 'x-api-key': KEY, 'provider-version': '2026-01-31' };
const geo = { 'x-geo-api-key': KEY };

/** The document's summary table, with the "Authentication" entry of each path. */
const summary = [
  ['POST', '/v1/chat/completions', bearer],
  ['POST', '/v1/messages', messages],
  ['POST', '/v1beta/models/geo-3.6-flash:generateContent', geo],
  ['POST', '/v1beta/models/geo-3.6-flash:streamGenerateContent', geo],
  ['POST', '/v1/images/generations', bearer],
  ['POST', '/v1/images/edits', bearer],
  ['POST', '/v1/models/img-2:generateContent', bearer],
  ['POST', '/api/v3/contents/generations/tasks', bearer],
  ['GET', '/api/v3/contents/generations/tasks/vt-20261120-1', bearer],
  ['POST', '/?Action=CreateAssetGroup&Version=2024-01-01', bearer],
  ['POST', '/?Action=ListAssetGroups&Version=2024-01-01', bearer],
  ['POST', '/?Action=GetAssetGroup&Version=2024-01-01', bearer],
  ['POST', '/?Action=UpdateAssetGroup&Version=2024-01-01', bearer],
  ['POST', '/?Action=DeleteAssetGroup&Version=2024-01-01', bearer],
  ['POST', '/?Action=CreateAsset&Version=2024-01-01', bearer],
  ['POST', '/?Action=ListAssets&Version=2024-01-01', bearer],
  ['POST', '/?Action=GetAsset&Version=2024-01-01', bearer],
  ['POST', '/?Action=UpdateAsset&Version=2024-01-01', bearer],
  ['POST', '/?Action=DeleteAsset&Version=2024-01-01', bearer],
  ['POST', '/api/assets/upload', bearer],
  ['GET', '/api/assets/asset-1', bearer],
  ['GET', '/api/assets?status=Active&limit=20', bearer],
  ['POST', '/text-to-video/beta-3.0', bearer],
  ['POST', '/text-to-video/beta-3.0-turbo', bearer],
  ['POST', '/image-to-video/beta-3.0', bearer],
  ['POST', '/image-to-video/beta-3.0-turbo', bearer],
  ['POST', '/omni-video/beta-3.0-omni', bearer],
  ['POST', '/motion-control/beta-3.0', bearer],
  ['POST', '/omni-video/beta-o1', bearer],
  ['GET', '/tasks?task_ids=a,b', bearer],
  ['POST', '/tasks', bearer],
  ['POST', '/v2/video_generation', bearer],
  ['GET', '/v2/query/video_generation/c-1', bearer],
  ['GET', '/v1/models', bearer],
  ['GET', '/v1/dashboard/billing/subscription', bearer],
] as const;

test('reaches every endpoint of the summary table with the credential of its path', async () => {
  const { world, gateway, gw } = await recorded();
  await world.gw(['config', 'set', 'provider_version', '2026-01-31']);
  for (const [method, url, credential] of summary) {
    const before = gateway.requests.length;
    const body = method === 'POST' ? ['--set', 'field=1'] : [];
    const run = await gw([method, url, ...body]);
    expect(run, `${method} ${url}`).toMatchObject({ code: 0, out: '{}' });
    const [request, ...more] = gateway.requests.slice(before) as [RecordedRequest];
    expect(more).toEqual([]);
    expect([request.method, request.url]).toEqual([method, url]);
    expect(credentialOf(request), url).toEqual(credential);
    expect(request.body).toBe(method === 'POST' ? '{"field":1}' : '');
    expect(request.headers['content-type']).toBe(method === 'POST' ? 'application/json' : undefined);
    expect(run.out + run.err).not.toContain(KEY);
  }
});

test('reaches every endpoint of the summary table in the sandbox', async ({ world }) => {
  await world.gw(['config', 'set', 'provider_version', '2026-01-31']);
  for (const [method, url] of summary) {
    const run = await world.gw(['api', method, url, ...(method === 'POST' ? ['--set', 'field=1'] : [])]);
    // The requested object may be missing or the body invalid, but the path and the key are accepted.
    expect(run.err, `${method} ${url}`).not.toMatch(/HTTP 40[135]|nothing at this path/);
    expect([0, 4, 5], `${method} ${url}: ${run.err}`).toContain(run.code);
  }
  expect(world.requests()).toEqual(summary.map(([method, url]) => `${method} ${url}`));
});

test.each([
  ['GET', '/v1beta/models', geo],
  ['POST', '/v1/messages/count_tokens', messages],
  ['POST', '/v1/%6Dessages', messages],
  ['POST', '/%761beta/models', geo],
  ['GET', '/v1/%zz', bearer],
  ['HEAD', '/v1/models', bearer],
  ['OPTIONS', '/v1/models', bearer],
  ['GET', '/v1/files/f-1', bearer],
  ['PUT', '/some/day', bearer],
  ['PATCH', '/some/day', bearer],
  ['delete', 'some/day', bearer],
] as const)(
  '%s %s, which no table lists, goes with the credential of its prefix',
  async (method, url, credential) => {
    const { world, gateway, gw } = await recorded();
    await world.gw(['config', 'set', 'provider_version', '2026-01-31']);
    expect(await gw([method, url])).toMatchObject({ code: 0 });
    const [request] = gateway.requests as [RecordedRequest];
    expect(request.method).toBe(method.toUpperCase());
    expect(request.url).toBe(url.startsWith('/') ? url : `/${url}`);
    expect(credentialOf(request)).toEqual(credential);
  },
);

const elsewhere = 'names another place: gw sends the key to the gateway in force and nowhere else';
const character = 'holds a blank, a control character or a backslash';

test('its help names the methods', async () => {
  const { gw } = await recorded();
  expect((await gw(['--help'])).out).toContain(
    '  GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE, and a path below ',
  );
});

describe('the longest silence', () => {
  test.each([
    ['POST', '/v1/chat/completions', [], 300_000],
    ['POST', '/v1/images/generations', [], 300_000],
    ['GET', '/v1/models', [], 60_000],
    ['POST', '/v1/chat/completions', ['--timeout', '7s'], 7_000],
  ])('of %s %s %j', async (method, url, more, silenceMs) => {
    const { gw } = await recorded();
    const asked = vi.spyOn(HttpTransport.prototype, 'stream');
    onTestFinished(() => asked.mockRestore());
    expect(await gw([method, url, ...more])).toMatchObject({ code: 0 });
    expect(asked.mock.calls.map(([request]) => request.silenceMs)).toEqual([silenceMs]);
  });
});

describe('PATH', () => {
  test.each([
    ['https://evil.example/v1/models', elsewhere],
    ['HTTP://evil.example/', elsewhere],
    ['//evil.example/v1/models', elsewhere],
    ['\\\\evil.example/v1', elsewhere],
    ['/\\evil.example', elsewhere],
    ['/v1\\models', character],
    ['javascript:alert(1)', elsewhere],
    ['/v1/../v2', 'goes up or stays with . or ..'],
    ['/v1/%2E%2e/v2', 'goes up or stays with . or ..'],
    ['/v1/./models', 'goes up or stays with . or ..'],
    ['..', 'goes up or stays with . or ..'],
    ['/v1/models#all', 'has a fragment, which no request can hold'],
    ['/v1/mo dels', character],
    ['/v1/models\n', character],
  ])('%j is refused, and nothing is sent', async (url, why) => {
    const { gateway, gw } = await recorded();
    const run = await gw(['GET', url]);
    const hint =
      'give the path below the gateway, such as /v1/models; another gateway is named with --base-url or';
    expect([run.code, run.out]).toEqual([2, '']);
    expect(run.err).toMatch(/^error: PATH "/);
    expect(run.err).toContain(`" ${why}\nhint: ${hint}`);
    expect(gateway.requests).toEqual([]);
  });

  test('keeps its query, and what looks like a parameter is none', async () => {
    const { gateway, gw } = await recorded();
    await gw(['GET', '/a/{id}?b=1&b=2&c=%2F+x&d']);
    expect(gateway.requests[0]?.url).toBe('/a/%7Bid%7D?b=1&b=2&c=%2F+x&d');
  });

  test('stays below the path of the base URL', async () => {
    const { gateway, gw } = await recorded();
    await gw(['GET', '/v1/models'], { env: { GW_BASE_URL: `${gateway.url}/proxy` } });
    expect(gateway.requests[0]?.url).toBe('/proxy/v1/models');
    expect(await gw(['GET', '/../v1'], { env: { GW_BASE_URL: `${gateway.url}/proxy` } })).toMatchObject({
      code: 2,
    });
  });

  test('a redirect to another origin is not followed, and the key stays', async () => {
    const other = await recordingGateway((_, response) => json(response, 200, {}));
    const { gw } = await recorded((_, response) =>
      json(response, 307, {}, { location: `${other.url}/v1/models` }),
    );
    expect(await gw(['POST', '/v1beta/x', '--set', 'a=1'])).toMatchObject({ code: 8 });
    expect(other.requests).toEqual([]);
  });

  test.each([
    [['/v1/models'], 'gw api GET /v1/models'],
    [['FETCH', '/v1/models'], 'hint: give one of GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE\n'],
    [['GET'], 'PATH is missing'],
    [['DELETE', ''], 'PATH is missing'],
    [['GET', '/a', '/b'], 'more than METHOD and PATH'],
    [['GET', '/a', '--set', 'a=1'], 'no body'],
    [['HEAD', '/a', '--set', 'a=1'], 'a HEAD request has no body'],
  ])('%j is a usage error that says what to write', async (argv, said) => {
    const { gateway, gw } = await recorded();
    expect(await gw(argv)).toMatchObject({ code: 2, err: expect.stringContaining(said) });
    expect(gateway.requests).toEqual([]);
  });
});

describe('the body', () => {
  test('comes from a file, with --set laid over it', async () => {
    const { world, gateway, gw } = await recorded();
    writeFileSync(path.join(world.cwd, 'body.json'), '{"a":{"b":1},"c":[1]}');
    await gw(['POST', '/x', '--body', 'body.json', '--set', 'a.b=2', '--set', 'c.1=text']);
    expect(gateway.requests[0]?.body).toBe('{"a":{"b":2},"c":[1,"text"]}');
  });

  test('comes from stdin, and may be any JSON', async () => {
    const { gateway, gw } = await recorded();
    await gw(['PUT', '/x', '--body', '-'], { stdin: '[1, "two"]' });
    expect(gateway.requests[0]?.body).toBe('[1, "two"]');
  });

  test('is sent as it was written where nothing is laid over it', async () => {
    const { gateway, gw } = await recorded();
    const text = '{ "a": 1.0, "n": 12345678901234567890, "s": "\\u00e9" }\n';
    expect(await gw(['POST', '/x', '--body', '-'], { stdin: text })).toMatchObject({ code: 0 });
    expect(gateway.requests[0]?.body).toBe(text);
    const dry = await gw(['POST', '/x', '--body', '-', '--dry-run'], { stdin: text });
    expect(dry.out).toContain('"a": 1.0,\n  "n": 12345678901234567890,\n  "s": "\\u00e9"');
    const shown = await gw(['POST', '/x', '--body', '-', '--dry-run', '--json'], { stdin: text });
    expect(shown.out).toContain('"body":{"a":1.0,"n":12345678901234567890,"s":"\\u00e9"}');
  });

  test('with an integer that --set would change is refused, by name', async () => {
    const { gateway, gw } = await recorded();
    const run = await gw(cmd`POST /x --body - --set a=1`, {
      stdin: '{"n":12345678901234567890}',
    });
    expect(run).toMatchObject({
      code: 2,
      err: expect.stringContaining('12345678901234567890 has more digits'),
    });
    expect(gateway.requests).toEqual([]);
  });

  test('that is no object takes no --set; that is no JSON is not sent', async () => {
    const { gateway, gw } = await recorded();
    expect(await gw(['PUT', '/x', '--body', '-', '--set', 'a=1'], { stdin: '[1]' })).toMatchObject({
      code: 2,
    });
    expect(await gw(['PUT', '/x', '--body', '-'], { stdin: '{' })).toMatchObject({ code: 2 });
    expect(gateway.requests).toEqual([]);
  });

  test('is shown by --dry-run and --curl, without the key', async () => {
    const { gateway, gw } = await recorded();
    const dry = await gw(['POST', '/v2/video_generation', '--set', 'model=m', '--dry-run']);
    expect(dry.code).toBe(0);
    expect(dry.out).toContain('authorization: Bearer ***');
    expect(dry.out).toContain('"model": "m"');
    const curl = await gw(['DELETE', '/x?y=1', '--curl']);
    expect(curl.out).toContain(`curl --silent --show-error --request DELETE '${gateway.url}/x?y=1'`);
    expect(curl.out).toContain('$GW_API_KEY');
    expect(gateway.requests).toEqual([]);
  });
});

test('--dry-run and --curl hide the key wherever it stands, and need none', async () => {
  const { world, gateway, gw } = await recorded();
  for (const show of ['--dry-run', '--curl']) {
    const argv = ['POST', `/x?key=${KEY}`, '--set', 'a=1', show];
    for (const more of [[], ['--json']]) {
      const run = await gw([...argv, ...more]);
      expect(run.code, run.err).toBe(0);
      expect(run.out + run.err).not.toContain(KEY);
      expect(run.out).toContain('/x?key=***');
    }
    const bare = { bare: true, env: { GW_BASE_URL: gateway.url } };
    expect(await world.gw(['api', 'GET', '/x', show], bare)).toMatchObject({ code: 0, err: '' });
    const unreadable = ['api', 'GET', '/x', show, '--api-key-file', 'nothing-there'];
    expect(await world.gw(unreadable, bare)).toMatchObject({ code: 0, err: '' });
  }
  // With --request HEAD, curl would wait for a response body.
  expect((await gw(['HEAD', '/x', '--curl'])).out).toMatch(/ --head '?http/);
  expect(gateway.requests).toEqual([]);
});

describe('the reply', () => {
  const odd = '{ "a" : 1.00,\n"n":12345678901234567890 ,"s":"\\u00e9\\/"}';

  test('goes into a pipe byte for byte, and with --json also to a terminal', async () => {
    const { gw } = await recorded((_, response) => json(response, 200, `\uFEFF${odd}`));
    expect((await gw(['GET', '/x'])).out).toBe(`\uFEFF${odd}`);
    expect((await gw(['GET', '/x', '--json'], { terminal: true })).out).toContain(odd.replaceAll('\n', '\n'));
  });

  test('is pretty on a terminal, numbers and escapes as they came', async () => {
    const { gw } = await recorded((_, response) => json(response, 200, odd));
    expect((await gw(['GET', '/x'], { terminal: true })).out).toBe(
      '{\n  "a": 1.00,\n  "n": 12345678901234567890,\n  "s": "\\u00e9\\/"\n}\n',
    );
  });

  test('that is no JSON comes through, without control characters on a terminal', async () => {
    const { gw } = await recorded((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.end('plain \x1b[31mred');
    });
    expect((await gw(['GET', '/x'])).out).toBe('plain \x1b[31mred');
    const shown = await gw(['GET', '/x'], { terminal: true });
    expect(shown.out).not.toContain('\x1b[31m');
    expect(shown.out.endsWith('\n')).toBe(true);
  });

  test('of bytes reaches a pipe exactly and no terminal', async () => {
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xfe]);
    const { gw } = await recorded((_, response) => {
      response.writeHead(200, { 'content-type': 'image/png' });
      response.end(bytes);
    });
    expect((await gw(['GET', '/x'])).out).toBe(bytes.toString('utf8'));
    const shown = await gw(['GET', '/x'], { terminal: true });
    expect(shown).toMatchObject({ code: 12, out: '', err: expect.stringContaining('> FILE') });
    expect(shown.err).not.toContain('-o');
  });

  test('with the key in it does not show the key', async () => {
    const { gw } = await recorded((_, response) => json(response, 200, { key: KEY }));
    expect((await gw(['GET', '/x'])).out).toBe('{"key":"***"}');
  });

  test('that is no success goes to stdout too, whatever it is, and then the error', async () => {
    const bodies = ['{"error":{"message":"so it is","more":1.0}}', '<html>no</html>', ''];
    for (const body of bodies) {
      const { gw } = await recorded((_, response) => json(response, 422, body));
      expect(await gw(['POST', '/x', '--set', 'a=1'])).toMatchObject({ code: 5, out: body });
    }
    const { gw } = await recorded((_, response) => json(response, 404, '{"error":1}'));
    expect((await gw(['GET', '/x'], { terminal: true })).out).toBe('{\n  "error": 1\n}\n');
  });

  test('of no bytes at all is done', async () => {
    const { gw } = await recorded((_, response) => void response.writeHead(204).end());
    expect(await gw(['DELETE', '/x'])).toMatchObject({ code: 0, out: '', err: '' });
  });

  test('of a stream comes through as its events came', async ({ world }) => {
    const body = { model: 'geo-3.6-flash', messages: [{ role: 'user', content: 'hello' }], stream: true };
    const run = await world.ok(cmd`api POST /v1/chat/completions --body -`, {
      stdin: JSON.stringify(body),
    });
    expect(run.out).toMatch(/^data: \{"id":/);
    expect(run.out).toMatch(/\ndata: \[DONE\]\n\n$/);
  });

  test.each([
    [401, 3],
    [402, 6],
    [403, 3],
    [404, 4],
    [422, 5],
  ])('with status %d ends with exit %d and the words of the gateway', async (status, code) => {
    const { gw } = await recorded((_, response) =>
      json(response, status, { error: { message: 'so it is' } }),
    );
    expect(await gw(['POST', '/v1/some', '--set', 'a=1'])).toMatchObject({
      code,
      out: '{"error":{"message":"so it is"}}',
      err: expect.stringContaining('so it is'),
    });
  });

  test("with family B's code other than 0 is passed on and ends as the refusal it is", async () => {
    const said = { code: 1201, message: 'no such setting', request_id: 'r-1' };
    const { gw } = await recorded((_, response) => json(response, 200, said));
    const run = await gw(['POST', '/text-to-video/beta-3.0', '--set', 'prompt=a']);
    expect(run).toMatchObject({
      code: 5,
      out: JSON.stringify(said),
      err: expect.stringContaining('no such setting'),
    });
  });
});

test('an envelope of the asset library ends with the code that its table gives', async () => {
  const envelope = { ResponseMetadata: { RequestId: 'r', Error: { Code: 'InternalError', Message: 'oh' } } };
  const { gw } = await recorded((_, response) => json(response, 200, envelope));
  const run = await gw(['POST', '/?Action=ListAssets&Version=2024-01-01', '--set', 'a=1']);
  expect(run).toMatchObject({ code: 8, out: JSON.stringify(envelope) });
});

describe('what is sent again', () => {
  const failing = () => recorded((_, response) => json(response, 503, { error: { message: 'busy' } }));
  const count = (gateway: RecordingGateway) => gateway.requests.length;

  test.each([
    ['POST', '/v2/video_generation', 14],
    ['POST', '/v1/images/generations', 14],
    ['POST', '/v1/images/%67enerations', 14],
    ['POST', '/text-to-video/beta-3.0', 14],
    ['POST', '/?Action=CreateAsset&Version=2024-01-01', 8],
    ['POST', '/some/unknown', 8],
    ['DELETE', '/some/unknown', 8],
    ['PATCH', '/v1/models', 8],
  ])('%s %s is not, when its outcome is unknown: exit %d', async (method, url, code) => {
    const { gateway, gw } = await failing();
    const run = await gw([method, url, '--set', 'a=1']);
    expect(run).toMatchObject({ code, out: '{"error":{"message":"busy"}}' });
    expect(run.err).not.toContain('gw jobs list');
    expect(run.err).toMatch(code === 14 ? /console of the gateway/ : /may have been done/);
    expect(count(gateway)).toBe(1);
  });

  test.each([
    ['GET', '/v1/models', []],
    ['GET', '/some/unknown', []],
    ['OPTIONS', '/some/unknown', []],
    ['POST', '/tasks', ['--set', 'limit=1']],
    ['POST', '/?Action=ListAssets&Version=2024-01-01', ['--set', 'MaxResults=1']],
    ['POST', '/?Version=2024-01-01&Action=DeleteAsset', ['--set', 'Id=asset-1']],
    ['POST', '/v1/chat/completions', ['--set', 'model=m']],
  ])('%s %s is, up to --retries', async (method, url, more) => {
    const { gateway, gw } = await failing();
    const run = await gw([method, url, ...more, '--retries', '2']);
    expect(run).toMatchObject({ code: 8, out: '{"error":{"message":"busy"}}' });
    expect(count(gateway)).toBe(3);
  });
});

test('a paid create says that no job is kept of it, and none is', async ({ world }) => {
  const body = { model: 'alpha-video-2-5-260628', content: [{ type: 'text', text: 'a fox' }] };
  const url = '/api/v3/contents/generations/tasks';
  const run = await world.gw(['api', 'POST', url, '--body', '-'], { stdin: JSON.stringify(body) });
  expect(run).toMatchObject({ code: 0, err: expect.stringContaining('not in the ledger') });
  expect(JSON.parse(run.out)).toMatchObject({ status: 'queued' });
  expect((await world.gw(['jobs', 'list', '-q'])).out).toBe('');
  expect((await world.gw(['api', 'GET', `${url}/${JSON.parse(run.out).task_id}`])).err).toBe('');
});

test('a documented limit of the body holds, unless told otherwise', async () => {
  const { world, gateway, gw } = await recorded();
  writeFileSync(path.join(world.cwd, 'large.json'), JSON.stringify({ a: 'x'.repeat(64 * 1024 * 1024) }));
  const argv = ['POST', '/v2/video_generation', '--body', 'large.json'];
  expect(await gw(argv)).toMatchObject({ code: 2, err: expect.stringContaining('at most 67108864') });
  expect(gateway.requests).toEqual([]);
});

describe('passOn', () => {
  const sink = (stdoutIsTerminal = false) => {
    const written: string[] = [];
    const push = async (text: string) => void written.push(text);
    return {
      written,
      io: {
        mode: { json: false, quiet: false, verbose: false, bars: false },
        stdoutIsTerminal,
        out: push,
        outReply: async (bytes: Uint8Array) => void written.push(Buffer.from(bytes).toString('latin1')),
      },
    };
  };

  test('hands each event over when it comes, also cut inside a character', async () => {
    const { written, io } = sink();
    const passed = passOn(io);
    passed.onHead({ status: 200, headers: { 'content-type': 'text/event-stream' } });
    const bytes = Buffer.from('data: {"é":"😀"}\n\n');
    for (let at = 0; at < bytes.length; at += 1) {
      await passed.takeChunk(bytes.subarray(at, at + 1));
      if (at === 4) expect(written.join('')).toBe('data:');
    }
    await passed.end();
    expect(Buffer.from(written.join(''), 'latin1').toString()).toBe(bytes.toString());
  });

  /** The exact bytes that a pipe receives when the answer arrives in these pieces. */
  const piped = async (type: string, pieces: readonly Uint8Array[]) => {
    const chunks: Buffer[] = [];
    const stdout = new Writable({
      write(chunk: Buffer, _, done) {
        chunks.push(Buffer.from(chunk));
        done();
      },
    });
    const mode = { json: false, quiet: false, verbose: false, bars: false };
    const host = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), env: {}, platform: 'linux' };
    const clock = { now: () => 0, steady: () => 0, sleep: async () => {} };
    const io = createIo({
      host: { ...host, clock } as unknown as Parameters<typeof createIo>[0]['host'],
      mode,
    });
    io.hideSecret(KEY);
    const passed = passOn(io);
    passed.onHead({ status: 200, headers: { 'content-type': type } });
    for (const piece of pieces) await passed.takeChunk(piece);
    await passed.end();
    await io.drain();
    return Buffer.concat(chunks);
  };

  const everyByte = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));
  test.each(['text/plain', 'application/json', 'application/x-tar', 'image/png', ''])(
    'keeps every byte of %j in a pipe, and of the key none',
    async (type) => {
      expect(await piped(type, [everyByte.subarray(0, 200), everyByte.subarray(200)])).toEqual(everyByte);
      const key = Buffer.from(KEY);
      const pieces = [Buffer.from([0xff, 0xc3]), key.subarray(0, 8), key.subarray(8), Buffer.from([0x80])];
      expect(await piped(type, pieces)).toEqual(Buffer.from('\xff\xc3***\x80', 'latin1'));
      expect(await piped(type, [key.subarray(0, 8)])).toEqual(key.subarray(0, 8));
    },
  );

  test('tells of a last piece that could not be written', async () => {
    const { io } = sink();
    const passed = passOn({ ...io, outReply: () => Promise.reject(new Error('stdout is full')) });
    passed.onHead({ status: 200, headers: {} });
    void Promise.resolve(passed.takeChunk(Buffer.from('x'))).catch(() => {});
    await expect(passed.end()).rejects.toThrow('stdout is full');
  });

  test('holds JSON back on a terminal only, and not without end', async () => {
    const { written, io } = sink(true);
    const passed = passOn(io);
    passed.onHead({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } });
    const start = Buffer.from('{"a":"');
    await passed.takeChunk(start);
    expect(written).toEqual([]);
    await passed.takeChunk(Buffer.from('x'.repeat(17 * 1024 * 1024)));
    expect(written.join('').length).toBe(start.length + 17 * 1024 * 1024);
    await passed.takeChunk(Buffer.from('"}'));
    expect(await passed.end()).toBeUndefined();
    expect(written.join('').endsWith('x"}\n')).toBe(true);
  });
});

test.each([
  ['{}', '{}\n'],
  ['[ ]', '[]\n'],
  ['[1,[],{"a":{}}]', '[\n  1,\n  [],\n  {\n    "a": {}\n  }\n]\n'],
  ['"a{b,c}:d\\"e"', '"a{b,c}:d\\"e"\n'],
  ['-1.50e+10', '-1.50e+10\n'],
  ['{"a":1', undefined],
])('pretty JSON of %s', (text, pretty) => {
  expect(prettyJson(text)).toBe(pretty);
});
