import { defineCommand } from '../../command.ts';
import { usage } from '../../errors.ts';
import { text } from '../../flags/flag.ts';
import { nearest } from '../../flags/nearest.ts';
import { kindOf, modelKinds } from '../../gateway/model-facts/sheets.ts';
import { endpointTypes, type ModelEntry, modelsList } from '../../gateway/models.ts';
import type { Table } from '../../io/io.ts';
import { fetchModels } from '../../models/model-cache.ts';
import { showInstead } from '../show-instead.ts';

const types = [...modelKinds, ...endpointTypes];

const flags = {
  type: text('TYPE', 'only models of this kind, or with this endpoint type', { choices: types }),
} as const;

interface Listed {
  readonly entries: readonly ModelEntry[];
  /** What --json prints. */
  readonly json: string;
}

/** `gw models list`: what the key may call. */
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
    const asCame = (json as { readonly data: readonly unknown[] }).data;
    const data = asCame.filter((_, index) => entries.includes(value.data[index] as ModelEntry));
    return { value: { entries, json: `${JSON.stringify({ ...(json as object), data })}\n` } };
  },
  human: ({ entries }) => modelTable(entries),
  raw: ({ json }) => json,
});

/** No model of a type that exists is an empty list; a type that nobody knows is a mistake. */
function refuseUnknownType(type: string, entries: readonly ModelEntry[]): void {
  const known = new Set([...types, ...entries.flatMap((entry) => entry.supported_endpoint_types ?? [])]);
  if (known.has(type)) return;
  const [near] = nearest(type, [...known], 1);
  throw usage(
    `--type ${JSON.stringify(type)}: one of ${[...known].join(', ')}`,
    near === undefined ? undefined : `did you mean ${near}?`,
  );
}

/** The gateway's models as a list. */
const modelTable = (entries: readonly ModelEntry[]): Table => ({
  columns: [
    { name: 'id', whole: true },
    { name: 'type' },
    { name: 'owner' },
    { name: 'endpoints' },
    { name: 'created', optional: true },
  ],
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

/** Unix seconds; what is no date is shown as it came. */
function dayOf(createdS: number | undefined): string {
  if (createdS === undefined) return '-';
  const date = new Date(createdS * 1000);
  return Number.isNaN(date.getTime()) ? String(createdS) : date.toISOString().slice(0, 10);
}
