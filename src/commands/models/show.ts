import { defineCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import { nearest } from '../../flags/nearest.ts';
import { kindOf, type ModelKind, type ModelSheet, modelSheets } from '../../gateway/model-facts/sheets.ts';
import { type ModelEntry, modelsList } from '../../gateway/models.ts';
import { oneLine } from '../../io/escape.ts';
import { fetchModels } from '../../models/model-cache.ts';
import { showInstead } from '../show-instead.ts';

interface ShownModel {
  readonly id: string;
  readonly type: ModelKind | null;
  /** What gw's tables say, by name. */
  readonly facts: Readonly<Record<string, string>>;
  /** The entry of the gateway's list, as it came; null where the list has none, or could not be had. */
  readonly entry: Readonly<Record<string, unknown>> | null;
}

/** `gw models show ID`: what gw's tables and the gateway's list say of a model. */
export const show = defineCommand<Record<string, never>, ShownModel>({
  args: {
    name: 'ID',
    summary: 'a model ID, or the path of a family B endpoint',
    required: true,
    completes: 'model',
  },
  flags: {},
  examples: [
    'gw models show alpha-video-2-5-260628 --sandbox',
    'gw models show text-to-video/beta-3.0 --sandbox',
    'gw models show img-2 --sandbox --json',
  ],
  notes: [
    'Family B has no model IDs: its create endpoints are shown by their paths, or by the last part of them (several ' +
      'where they share it). What is not listed is not stated by the document of the gateway.',
  ],
  sends: 'query',
  async *run({ args: [typed = ''] }, ctx) {
    const shown = await showInstead(modelsList, {}, ctx);
    if (shown !== undefined) {
      yield { value: shown };
      return;
    }
    const all = await modelSheets();
    const sheets = all.filter(({ id, aliases }) => id === typed || aliases.includes(typed));
    const entries = await listed(ctx, sheets.length > 0);
    const isListed = (id: string) => entries?.some(({ read }) => read.id === id) === true;
    if (sheets.length === 0 && !isListed(typed)) {
      throw unknown(typed, [...all.map(({ id }) => id), ...(entries ?? []).map(({ read }) => read.id)]);
    }
    const found: Pick<ModelSheet, 'id' | 'facts'>[] = sheets.length > 0 ? sheets : [{ id: typed, facts: [] }];
    for (const { id, facts } of found) {
      const entry = entries?.find(({ read }) => read.id === id);
      const type = sheets.find((sheet) => sheet.id === id)?.kind ?? (entry && kindOf(entry.read));
      // The path of an endpoint is never in the list.
      if (entries !== undefined && entry === undefined && !id.includes('/')) {
        ctx.io.warn(`the gateway does not list ${id}: this key may not call it`);
      }
      const told = Object.fromEntries(facts.map(({ name, value }) => [name, value]));
      yield { value: { id, type: type ?? null, facts: told, entry: entry?.came ?? null } };
    }
  },
  human: ({ id, type, facts, entry }) => {
    const { id: _, ...rest } = entry ?? {};
    const rows = [
      ['id', id],
      ['type', type ?? '-'],
      ...Object.entries(facts),
      ...Object.entries(rest).map(([name, value]) => [name, wordOf(value)]),
    ];
    const width = rows.reduce((widest, [name = '']) => Math.max(widest, name.length), 0) + 2;
    return rows
      .map(([name = '', value = '']) => `${name.padEnd(width)}${oneLine(value, Number.POSITIVE_INFINITY)}\n`)
      .join('');
  },
});

/** An entry of the list: as gw reads it, and as it came. */
interface Listed {
  readonly read: ModelEntry;
  readonly came: Readonly<Record<string, unknown>>;
}

/** The gateway's list. One that cannot be had is no reason to keep what the tables know. */
async function listed(ctx: Context, isInTables: boolean): Promise<readonly Listed[] | undefined> {
  try {
    const { json, value } = await fetchModels(ctx, isInTables ? { retries: 0 } : {});
    const { data } = json as { readonly data: readonly Listed['came'][] };
    return value.data.map((read, index) => ({ read, came: data[index] ?? read }));
  } catch (error) {
    if (!isInTables || !(error instanceof GwError)) throw error;
    ctx.io.warn(`the gateway's own list could not be had: ${error.message}`);
    return undefined;
  }
}

function unknown(id: string, known: readonly string[]): GwError {
  if (id === '') return usage('ID is empty', 'gw models lists the models');
  const near = nearest(id, [...new Set(known)]);
  return new GwError('not_found', `model ${JSON.stringify(id)} is neither listed nor in gw's tables`, {
    hint: near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'gw models lists what the key may call',
  });
}

const wordOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : Array.isArray(value) && value.every((item) => typeof item === 'string')
      ? value.join(', ')
      : JSON.stringify(value);
