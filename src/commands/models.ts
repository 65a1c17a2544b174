import { defineCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { text } from '../flags/flag.ts';
import { nearest } from '../flags/nearest.ts';
import { fieldsOf } from '../gateway/json-value.ts';
import { kindOf, type ModelEntry, type ModelKind, modelsList, modelTypes } from '../gateway/models.ts';
import type { Reply } from '../http/client.ts';
import { RawJson, safeJson } from '../io/escape.ts';
import type { Table } from '../io/io.ts';
import { columnsOf, fieldLines } from '../io/layout.ts';
import { asWritten } from '../jobs/watch/exact-record.ts';
import { compactJson, textsAt } from '../json-text.ts';
import { fetchModels } from '../models/model-cache.ts';
import { showInstead } from './show-instead.ts';

const flags = {
  type: text('TYPE', 'only models of this kind, or with this endpoint type', { choices: modelTypes }),
} as const;

interface Listed {
  readonly entries: readonly ModelEntry[];
  readonly json: string;
}

/** `gw models list` prints the models that the API key may call. */
export const list = defineCommand<typeof flags, Listed>({
  flags,
  examples: [
    'gw models list --sandbox',
    'gw models list --sandbox --type video',
    'gw models list --sandbox --json',
  ],
  notes: [
    'TYPE of a model follows its table in gw, else its name; a model that neither places and that has an endpoint type ' +
      'counts as chat. The list is kept for completions and suggestions. With --type, --json leaves the other entries out.',
  ],
  sends: 'query',
  async run({ flags: { type } }, ctx) {
    const shown = await showInstead(modelsList, {}, ctx);
    if (shown !== undefined) return { value: shown };
    const { value, json, text: asItCame } = await fetchModels(ctx);
    if (type === undefined) return { value: { entries: value.data, json: asItCame } };
    const fits = (entry: ModelEntry) =>
      kindOf(entry) === type || entry.supported_endpoint_types?.includes(type) === true;
    const entries = value.data.filter(fits);
    if (entries.length === 0) refuseUnknownType(type, value.data);
    const texts = textsAt(asItCame, 'data');
    const kept = new RawJson(`[${entries.map(({ at = 0 }) => compactJson(texts[at] ?? '')).join(',')}]`);
    return { value: { entries, json: `${safeJson({ ...(json as object), data: kept })}\n` } };
  },
  human: ({ entries }) => modelTable(entries),
  raw: ({ json }) => json,
});

/** Throws `usage` for an unknown type; a known type without models is an empty list. */
function refuseUnknownType(type: string, entries: readonly ModelEntry[]): void {
  const known = new Set([...modelTypes, ...entries.flatMap((entry) => entry.supported_endpoint_types ?? [])]);
  if (known.has(type)) return;
  const [near] = nearest(type, [...known]);
  const hint = near && `did you mean ${near}?`;
  throw usage(`--type ${JSON.stringify(type)}: one of ${[...known].join(', ')}`, hint);
}

const modelTable = (entries: readonly ModelEntry[]): Table => ({
  columns: columnsOf(['id'], ['type', 'owner', 'endpoints'], ['created']),
  rows: entries.map((entry) => ({
    id: entry.id,
    cells: [
      entry.id,
      kindOf(entry) ?? '-',
      entry.owned_by ?? '-',
      entry.supported_endpoint_types?.join(', ') || '-',
      dayOf(entry.created),
    ],
  })),
});

/** Formats Unix seconds as a date; an invalid value is shown unchanged. */
function dayOf(createdS: number | undefined): string {
  if (createdS === undefined) return '-';
  const date = new Date(createdS * 1000);
  return Number.isNaN(date.getTime()) ? String(createdS) : date.toISOString().slice(0, 10);
}

interface ShownModel {
  readonly id: string;
  readonly type: ModelKind | null;
  /** Facts from gw's tables, by name; JSON and --verbose include the rules of the body with their sentences. */
  readonly facts: Readonly<Record<string, string>>;
  /** The unchanged entry of the gateway's list; null if it has none or the list is unavailable. */
  readonly entry: unknown;
}

/** `gw models show ID` prints what gw's tables and the gateway's list say of a model. */
export const show = defineCommand<Record<string, never>, ShownModel>({
  args: {
    name: 'ID',
    summary: 'a model ID, or the path of a family B endpoint',
    required: true,
    completes: 'model',
  },
  examples: [
    'gw models show alpha-video-2-5-260628 --sandbox',
    'gw models show text-to-video/beta-3.0 --sandbox',
    'gw models show img-2 --sandbox --json',
  ],
  notes: [
    'Family B has no model IDs: its create endpoints are shown by their paths, or by the last part of them (several ' +
      'where they share it). What is not listed is not stated by the document of the gateway; --verbose ' +
      'adds the rules, and the sentence of each row.',
  ],
  sends: 'query',
  async *run({ args: [typed = ''] }, ctx) {
    const shown = await showInstead(modelsList, {}, ctx);
    if (shown !== undefined) return yield { value: shown };
    const { modelSheets } = await import('../gateway/model-facts/sheets.ts');
    const all = await modelSheets();
    const sheets = all.filter(({ id, aliases }) => id === typed || aliases.includes(typed));
    const entries = await listed(ctx, sheets.length > 0);
    const isListed = (id: string) => entries?.some(({ read }) => read.id === id) === true;
    if (sheets.length === 0 && !isListed(typed))
      throw unknown(typed, [...all.map(({ id }) => id), ...(entries ?? []).map(({ read }) => read.id)]);
    const found = sheets.length > 0 ? sheets : [{ id: typed, facts: [] }];
    for (const { id, facts } of found) {
      const entry = entries?.find(({ read }) => read.id === id);
      const type = sheets.find((sheet) => sheet.id === id)?.kind ?? (entry && kindOf(entry.read));
      // The list never contains endpoint paths.
      if (entries !== undefined && entry === undefined && !id.includes('/'))
        ctx.io.warn(`the gateway does not list ${id}: this key may not call it`);
      const { json, verbose } = ctx.io.mode;
      const shown = facts.filter(({ isRule }) => json || verbose || isRule !== true);
      const sources = verbose && !json ? (await import('../sources/model-rows.ts')).sourcesOf(id) : {};
      const said = (name: string) => (sources[name] ? ` (the document says: ${sources[name]})` : '');
      const told = Object.fromEntries(shown.map(({ name, value }) => [name, `${value}${said(name)}`]));
      const came = entry && (json ? asWritten(entry.came, entry.reply) : entry.came);
      yield { value: { id, type: type ?? null, facts: told, entry: came ?? null } };
    }
  },
  human: ({ id, type, facts, entry }) => {
    const { id: _, ...rest } = fieldsOf(entry);
    return fieldLines([
      ['id', id],
      ['type', type ?? '-'],
      ...Object.entries(facts),
      ...Object.entries(rest).map(([name, value]) => [name, wordOf(value)] as const),
    ]);
  },
});

interface ListedModel {
  readonly read: ModelEntry;
  readonly came: Readonly<Record<string, unknown>>;
  readonly reply: Reply;
}

/** The gateway's list; undefined if it is unavailable and the tables know the model. */
async function listed(ctx: Context, isInTables: boolean): Promise<readonly ListedModel[] | undefined> {
  try {
    const reply = await fetchModels(ctx, isInTables ? { retries: 0 } : {});
    const { data } = reply.json as { readonly data: readonly ListedModel['came'][] };
    return reply.value.data.map((read) => ({ read, came: data[read.at ?? 0] ?? {}, reply }));
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

function wordOf(value: unknown): string {
  const words = [value].flat();
  return words.every((word) => typeof word === 'string') ? words.join(', ') : JSON.stringify(value);
}
