import { expect, test } from 'vitest';
import { cutText, describeBody, statusError } from '../../src/http/refused-reply.ts';
import { meaningOfStatus } from '../../src/http/reply-statuses.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
function meaning(status: number) {
  const found = meaningOfStatus(status);
  if (!found) throw new Error(`HTTP ${status} is a success`);
  return found;
}
const request = { method: 'POST', url: new URL('https://gw.example/v1/tasks') } as const;
const context = { request, resend: 'read', nowMs } as const;
const of = (status: number, text: string, headers: Record<string, string> = {}, retryAtMs?: number) =>
  statusError({ status, headers, text }, meaning(status), context, retryAtMs);

test.each([
  [300, 'unavailable', 8],
  [302, 'unavailable', 8],
  [400, 'rejected', 5],
  [401, 'auth', 3],
  [402, 'balance', 6],
  [403, 'auth', 3],
  [404, 'not_found', 4],
  [405, 'rejected', 5],
  [407, 'unavailable', 8],
  [408, 'unavailable', 8],
  [409, 'unavailable', 8],
  [410, 'not_found', 4],
  [413, 'rejected', 5],
  [422, 'rejected', 5],
  [429, 'rate_limited', 7],
  [500, 'unavailable', 8],
  [502, 'unavailable', 8],
  [503, 'unavailable', 8],
  [504, 'unavailable', 8],
  [599, 'unavailable', 8],
])('HTTP %d is %s, exit %d', (status, kind, exitCode) => {
  const error = of(status, '{}');
  expect([error.kind, error.exitCode, error.facts.status]).toEqual([kind, exitCode, status]);
});

test('message, type, code and request ID come from the body, the ID from the headers first', () => {
  const body = JSON.stringify({
    error: { message: 'no such model', type: 'invalid_request', code: 'model_not_found' },
  });
  const error = of(400, body, { 'x-request-id': 'req-1' });
  expect(error.message).toBe('the gateway refused the request (HTTP 400, POST /v1/tasks): no such model');
  expect(error.facts).toMatchObject({ type: 'invalid_request', code: 'model_not_found', requestId: 'req-1' });
});

test('the asset envelope and family B’s shape are read too', () => {
  const envelope = {
    ResponseMetadata: { RequestId: 'r', Error: { Code: 'ResourceNotFound', Message: 'gone' } },
  };
  expect(of(404, JSON.stringify(envelope)).facts).toMatchObject({ code: 'ResourceNotFound', requestId: 'r' });
  const flat = of(400, JSON.stringify({ code: 1201, message: 'bad', request_id: 'b-1' }));
  expect([flat.facts.code, flat.facts.requestId]).toEqual(['1201', 'b-1']);
  expect(flat.message).toContain('bad');
});

test.each([
  ['', 'an empty body'],
  ['<!DOCTYPE html><h1>502</h1>', 'an HTML page'],
  ['\n <html>', 'an HTML page'],
  ['<h1>502 Bad Gateway</h1>', 'an HTML page'],
  ['<!-- proxy -->\n<center>502</center>', 'an HTML page'],
  ['<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"/>', 'an HTML page'],
  ['<?xml version="1.0"?><Error/>', 'XML'],
  ['null', 'the JSON value null'],
  ['[]', 'a JSON list'],
  ['{"error":{"mess', 'broken JSON'],
  ['{}', 'other JSON than documented'],
  ['{"error":null}', 'other JSON than documented'],
  ['{"error":[]}', 'other JSON than documented'],
  ['upstream connect error', 'plain text'],
])('a body of %j is told as %s', (text, words) => {
  expect(describeBody(text)).toBe(words);
  const error = of(502, text);
  expect([error.kind, error.message]).toEqual([
    'unavailable',
    `the gateway is in trouble (HTTP 502, POST /v1/tasks): it sent ${words} instead of a message`,
  ]);
});

test('a message from outside is kept as it came, but cut at 500 characters, never inside one', () => {
  const control = of(400, JSON.stringify({ error: { message: 'a\u001b[31m\n::error::x' } }));
  expect(control.message).toContain('a\u001b[31m\n::error::x');
  expect(cutText('é'.repeat(500))).toHaveLength(500);
  expect(cutText('🦊'.repeat(500))).toBe('🦊'.repeat(500));
  expect(cutText('🦊'.repeat(501))).toBe(`${'🦊'.repeat(500)}…`);
  const long = of(400, JSON.stringify({ error: { message: 'm', code: 'c'.repeat(9999) } }), {
    'x-request-id': 'i'.repeat(9999),
  });
  expect([long.facts.code?.length, long.facts.requestId?.length]).toEqual([501, 501]);
});

test('hints say what to do next: 401 and 403 differ, 429 says when', () => {
  expect(of(401, '').facts.hint).toMatch(/GW_API_KEY, --api-key-file.*gw login/);
  expect(of(403, '').facts.hint).toMatch(/restricted.*console/);
  expect(of(402, '').facts.hint).toContain('console');
  expect(of(422, '').facts.hint).toMatch(/prompt or the media/);
  const limited = of(429, '', {}, nowMs + 90_000);
  expect([limited.hint, limited.facts.retryAtMs]).toEqual([
    'the gateway may be asked again in 90 s, at 2026-11-20T12:01:30Z',
    nowMs + 90_000,
  ]);
  for (const status of [401, 402, 403, 404, 422])
    expect(of(status, '', {}, nowMs + 90_000).hint).toBe(`${of(status, '').facts.hint}; ${limited.hint}`);
});

test('a redirect names where to, without query or user', () => {
  const error = of(302, '', { location: 'https://u:p@other.example/path?sig=s3cret#f' });
  expect(error.message).toContain('to https://other.example/path');
  expect(error.message).not.toMatch(/s3cret|u:p/);
  expect(of(302, '').message).toContain('to nowhere');
  expect(of(304, '').message).toContain('nothing has changed');
  expect(of(304, '', { location: '/x' }).message).not.toMatch(/redirect|nowhere|\/x/);
});

test('a 404 to a create is about its path, one to anything else about the ID', () => {
  const lost = { status: 404, headers: {}, text: '{}' };
  const hint = (resend: 'read' | 'paid') =>
    statusError(lost, meaning(404), { ...context, resend }).facts.hint;
  expect(hint('paid')).toMatch(/^check the path of the base URL/);
  expect(hint('read')).toMatch(/^check the ID/);
});
