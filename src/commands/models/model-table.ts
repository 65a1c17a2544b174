import { kindOf } from '../../gateway/model-facts/sheets.ts';
import type { ModelEntry } from '../../gateway/models.ts';
import type { Table } from '../../io/io.ts';

/** The gateway's models as a list. */
export const modelTable = (entries: readonly ModelEntry[]): Table => ({
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
