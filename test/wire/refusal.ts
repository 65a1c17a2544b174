import { expect } from 'vitest';

/**
 * Expects the sandbox to refuse a body with status 400, and to name the field and the rule that gw names. `breach` is gw's first
 * sentence about the body, such as `content.1.text hello: must be a list`.
 */
export async function expectRefusal(reply: Response, breach = ''): Promise<void> {
  const { error } = (await reply.json()) as { error: { message: string } };
  expect({ status: reply.status, error }).toMatchObject({
    status: 400,
    error: { type: 'invalid_request_error', code: 'InvalidParameter' },
  });
  expect(error.message).toMatch(/^Invalid parameter [^:]+: .+\.$/s);
  const [, field = '', rule = ''] = /^Invalid parameter ([^:]+): (.+)\.$/s.exec(error.message) ?? [];
  expect(breach, error.message).toContain(rule);
  expect(`body ${breach}`, error.message).toContain(field.replaceAll(/\[(\d+)\]/g, '.$1'));
}
