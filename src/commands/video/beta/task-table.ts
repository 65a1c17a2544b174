import type * as z from 'zod';
import { type BetaTask, betaFamily } from '../../../gateway/beta/task.ts';
import type { Charge, TaskView } from '../../../gateway/task.ts';
import { shortDuration } from '../../../io/duration-text.ts';
import type { Table } from '../../../io/io.ts';

type TaskRecord = z.infer<typeof BetaTask>;

/** Task records of family B as a table that fits a terminal, without the links, which are credentials. */
export const taskTable = (records: readonly TaskRecord[], nowMs: number): Table => ({
  columns: [
    { name: 'id', whole: true },
    { name: 'status', whole: true },
    { name: 'age', align: 'right', whole: true },
    { name: 'result' },
    { name: 'cost' },
  ],
  rows: records.map((record) => {
    const id = String(record.id ?? '-');
    const view = betaFamily.readTask(record, id);
    const cost = view.usage?.charges?.map(chargeText).join(', ') ?? '-';
    return {
      id,
      cells: [id, view.status || '-', ageText(record.create_time, nowMs), resultText(view), cost],
    };
  }),
});

/** Unix milliseconds as an age; anything that is no such figure is shown as it came. */
function ageText(value: unknown, nowMs: number): string {
  if (typeof value === 'number' && value > 1e11) return shortDuration(nowMs - value);
  return value === undefined || value === null ? '-' : String(value);
}

/** What was made, or why it was not. */
function resultText({ outputs, usage, error, hasNoFiles }: TaskView): string {
  if (error?.message) return error.message;
  if (hasNoFiles) return 'element';
  const roles = outputs.map(({ role }) => role).join(', ') || '-';
  return usage?.outputS === undefined ? roles : `${roles} ${usage.outputS} s`;
}

const chargeText = ({ amount, unit, isTest }: Charge): string =>
  `${amount} ${unit}${isTest ? ' (test)' : ''}`;
