import { defineCommand } from '../command.ts';
import { type BillingForm, billingFields, billingQuery } from '../gateway/models.ts';
import { isObject } from '../host.ts';
import type { Reply } from '../http/client.ts';
import { fieldLines } from '../io/layout.ts';
import { showInstead } from './show-instead.ts';

/** `gw balance`: what the gateway says of money, known fields by their names, the others as they came. */
export const balance = defineCommand<Record<string, never>, Pick<Reply, 'json' | 'bytes'>>({
  examples: ['gw balance --sandbox', 'gw balance --sandbox --json'],
  notes: [
    'The gateway does not document this reply: fields that gw does not know stand under the name they came with.',
  ],
  sends: 'query',
  async run(_, ctx) {
    const shown = await showInstead(billingQuery, {}, ctx);
    if (shown !== undefined) return { value: shown };
    const { client } = await ctx.gateway();
    return { value: await client.send(billingQuery, {}, { signal: ctx.signal }) };
  },
  human: ({ json }) => fieldLines(rowsOf(json as Readonly<Record<string, unknown>>), LONGEST_SHOWN),
  raw: ({ bytes }) => bytes,
});

/** Known fields first, then every other value by its path. */
function* rowsOf(reply: Readonly<Record<string, unknown>>): Generator<readonly [string, string]> {
  const values = new Map(leaves(reply));
  for (const { path, label, form } of billingFields) {
    const value = values.get(path);
    values.delete(path);
    if (value !== undefined && value !== null) yield [label, wordsOf(value, form)];
  }
  for (const [path, value] of values) if (value !== null) yield [path, plain(value)];
}

/** `plan.title`; lists, empty objects and what lies very deep stay whole. */
function* leaves(
  object: Readonly<Record<string, unknown>>,
  before: readonly string[] = [],
): Generator<readonly [string, unknown]> {
  for (const [name, value] of Object.entries(object)) {
    const path = [...before, name];
    if (isObject(value) && Object.keys(value).length > 0 && path.length < MAX_DEPTH) {
      yield* leaves(value, path);
    } else yield [path.join('.'), value];
  }
}
const MAX_DEPTH = 8;

/** A value in its form; one that does not have that form is shown as it came. */
function wordsOf(value: unknown, form: BillingForm): string {
  if (form === 'yes-no' && typeof value === 'boolean') return value ? 'yes' : 'no';
  if (form === 'usd' && typeof value === 'number') return `${value} USD`;
  if (form === 'unix-seconds' && typeof value === 'number' && value > 0) {
    const date = new Date(value * 1000);
    if (!Number.isNaN(date.getTime())) return date.toISOString().replace(/\.\d+Z$/, 'Z');
  }
  return plain(value);
}

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const LONGEST_SHOWN = 2000;
