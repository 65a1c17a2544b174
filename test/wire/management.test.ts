import { describe, expect } from 'vitest';
import { billingQuery, modelsList } from '../../src/gateway/models.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { KEY, test, World } from '../helpers/gw.ts';

// Literal examples for "Management" and "Model list entry": the schemas, the sandbox over raw HTTP, and the commands.

/** Runs a command with a gateway that gives only this reply. */
async function told(argv: readonly string[], body: string) {
  const world = await World.open();
  const gateway = await fakeGateway(() => ({ body }));
  return world.gw([...argv, '--retries', '0'], { env: { GW_BASE_URL: gateway.url } });
}

const acceptedLists = [
  '{"object":"list","data":[{"id":"geo-3.6-flash","object":"model","created":1767225600,"owned_by":"geo","supported_endpoint_types":["openai","anthropic"]}]}',
  // A restricted API key may see no models.
  '{"object":"list","data":[]}',
  // Only the ID is needed. Any other missing or odd field is shown as a dash.
  '{"data":[{"id":"x"}]}',
  '{"data":[{"id":"x","created":null,"owned_by":7,"supported_endpoint_types":null,"more":{"a":1}}]}',
];
const refusedLists = [
  '{"object":"list"}',
  '{"data":{}}',
  '{"data":[{"object":"model"}]}',
  '{"data":[{"id":7}]}',
  '[]',
];

const acceptedBalances = ['{}', '{"hard_limit_usd":1,"plan":{"title":"A"}}', '{"anything":[1,null]}'];
const refusedBalances = ['[]', 'null', '"12 USD"', '12'];

describe.each([
  ['GET /v1/models', modelsList, ['models'], acceptedLists, refusedLists],
  ['GET /v1/dashboard/billing/subscription', billingQuery, ['balance'], acceptedBalances, refusedBalances],
])('%s', (line, endpoint, argv, accepted, refused) => {
  test('is asked for with the key as a bearer, at that path', async () => {
    expect(`${endpoint.method} ${endpoint.path}`).toBe(line);
    const world = await World.open();
    const url = `${world.sandbox.baseUrl}${endpoint.path}`;
    const answers = await Promise.all([
      fetch(url, { headers: { authorization: `Bearer ${KEY}` } }),
      fetch(url),
      fetch(url, { headers: { 'x-api-key': KEY } }),
      fetch(url, { method: 'POST', headers: { authorization: `Bearer ${KEY}` } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 401, 404]);
    expect(endpoint.reply.safeParse(await answers[0]?.json()).success).toBe(true);
  });

  test.each(accepted)('takes the reply %s, and --json passes it on', async (body) => {
    expect(endpoint.reply.safeParse(JSON.parse(body)).success).toBe(true);
    expect(await told([...argv, '--json'], body)).toMatchObject({ code: 0, out: body });
    expect(await told(argv, body)).toMatchObject({ code: 0, err: '' });
  });

  test.each(refused)('does not take the reply %s', async (body) => {
    expect(endpoint.reply.safeParse(JSON.parse(body)).success).toBe(false);
    expect(await told(argv, body)).toMatchObject({ code: 8, out: '' });
  });
});

test("the sandbox's entries have the documented fields and no others", async ({ world }) => {
  const reply = JSON.parse((await world.gw(['models', '--json'])).out);
  expect(Object.keys(reply)).toEqual(['object', 'data']);
  expect(reply.object).toBe('list');
  for (const entry of reply.data) {
    expect(entry).toEqual({
      id: expect.any(String),
      object: 'model',
      created: expect.any(Number),
      owned_by: expect.any(String),
      supported_endpoint_types: expect.arrayContaining(['openai']),
    });
  }
});
