import { defineCommand } from '../command.ts';
import { type BillingForm, billingFields, billingQuery } from '../gateway/models.ts';
import type { Reply } from '../http/client.ts';
import { fieldLines } from '../io/layout.ts';
import { compactJson, membersOf } from '../json-text.ts';
import { showInstead } from './show-instead.ts';

/** `gw balance` prints the account's money: known fields by name, then all others. */
export const balance = defineCommand<Record<string, never>, Pick<Reply, 'text' | 'bytes'>>({
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
  human: ({ text }) => fieldLines(rowsOf(text), LONGEST_SHOWN),
  raw: ({ bytes }) => bytes,
});

/** Yields the known fields, then every other value with its path. */
function* rowsOf(reply: string): Generator<readonly [string, string]> {
  const values = new Map(leaves(reply));
  for (const { path, label, form } of billingFields) {
    const value = values.get(path);
    values.delete(path);
    if (value !== undefined && value !== 'null') yield [label, wordsOf(value, form)];
  }
  for (const [path, value] of values) if (value !== 'null') yield [path, wordsOf(value, 'text')];
}

/** Yields `plan.title` and its JSON text; lists, empty objects and deeply nested values are not split. */
function* leaves(text: string, before: readonly string[] = []): Generator<readonly [string, string]> {
  for (const { name, start, end } of membersOf(text, 0)) {
    const path = [...before, String(name)];
    const written = compactJson(text.slice(start, end));
    if (/^\{[^}]/.test(written) && path.length < MAX_DEPTH) yield* leaves(written, path);
    else yield [path.join('.'), written];
  }
}
const MAX_DEPTH = 8;

/** Formats a value by its form; a value of another form is shown unchanged. */
function wordsOf(written: string, form: BillingForm): string {
  const value: unknown = JSON.parse(written);
  if (form === 'yes-no' && typeof value === 'boolean') return value ? 'yes' : 'no';
  if (form === 'usd' && typeof value === 'number') return `${written} USD`;
  if (form === 'unix-seconds' && typeof value === 'number' && value > 0) {
    const date = new Date(value * 1000);
    if (!Number.isNaN(date.getTime())) return date.toISOString().replace(/\.\d+Z$/, 'Z');
  }
  return typeof value === 'string' ? value : written;
}

const LONGEST_SHOWN = 2000;
