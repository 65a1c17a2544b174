import { expect, test } from 'vitest';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { World } from '../helpers/gw.ts';

async function saying(body: unknown, status = 200) {
  const world = await World.open();
  const gateway = await fakeGateway(() => ({ status, body }));
  const gw = (argv: readonly string[], options: Parameters<World['gw']>[1] = {}) =>
    world.gw(['balance', ...argv], { ...options, env: { GW_BASE_URL: gateway.url } });
  return { gateway, gw };
}

test('the sandbox answers with the public dashboard shape, which is told in words', async () => {
  const world = await World.open({ account: 'personal' });
  const run = await world.gw(['balance']);
  expect(run).toMatchObject({ code: 0, err: '' });
  expect(run.out).toMatch(/^plan +Personal$/m);
  expect(run.out).toMatch(/^hard limit +120 USD$/m);
  expect(run.out).toMatch(/^payment method +yes$/m);
  expect(run.out).toMatch(/^access until +2027-11-20T12:00:00Z$/m);
  expect(world.requests()).toEqual(['GET /v1/dashboard/billing/subscription']);
});

test('--json prints the reply byte for byte', async () => {
  const body = '{ "hard_limit_usd" : 12.50,\n "n": 12345678901234567890 }';
  const { gw } = await saying(body);
  expect(await gw(['--json'])).toMatchObject({ code: 0, out: body });
});

test('an error that comes with status 200 is no balance', async () => {
  const { gw } = await saying({ error: { message: 'no such account' } });
  const run = await gw(['--retries', '0']);
  expect([run.code, run.out]).toEqual([8, '']);
  expect(run.err).toContain(
    'brought an unreadable reply: HTTP 200 with other JSON than documented, which says: no such account',
  );
});

test('a long number is told to people as it was written', async () => {
  const { gw } = await saying(
    '{"hard_limit_usd": 0.12345678901234567890, "n": {"id": [12345678901234567890]}}',
  );
  const { out } = await gw([]);
  expect(out).toContain('0.12345678901234567890 USD\n');
  expect(out).toMatch(/^n\.id +\[12345678901234567890\]$/m);
});

test('known fields stand first and in words, all others as they came', async () => {
  const { gw } = await saying({
    credits: { cash: 12.5, test: [{ amount: 1 }] },
    soft_limit_usd: 'ten',
    has_payment_method: 'maybe',
    access_until: 0,
    hard_limit_usd: 7,
    'odd\nname': '\u001b[31mred',
    nothing: null,
    empty: {},
  });
  const { out } = await gw([]);
  expect(out.split('\n').map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    'hard limit | 7 USD',
    'soft limit | ten',
    'payment method | maybe',
    'access until | 0',
    'credits.cash | 12.5',
    'credits.test | [{"amount":1}]',
    'odd\\nname | \\x1b[31mred',
    'empty | {}',
    '',
  ]);
});

test.each([
  [250, 0],
  [2000, 8],
])('a reply nested %i deep', async (depth, code) => {
  const { gw } = await saying(JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`));
  expect(await gw(['--retries', '0'])).toMatchObject({ code });
});

test.each([
  ['a list', '[]', 200, 8],
  ['a page', '<html></html>', 200, 8],
  ['401', '{"error":{"message":"no"}}', 401, 3],
  ['404', '{"error":{"message":"no"}}', 404, 4],
])('%s in place of it', async (_, body, status, code) => {
  const { gw } = await saying(body, status);
  expect(await gw(['--retries', '0'])).toMatchObject({ code, out: '' });
});

test('--dry-run and --curl send nothing', async () => {
  const { gateway, gw } = await saying({});
  expect((await gw(['--dry-run'])).out).toContain('GET ');
  expect((await gw(['--curl'])).out).toContain('/v1/dashboard/billing/subscription');
  expect(gateway.requests).toEqual([]);
});
