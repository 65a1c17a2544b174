import { BETA_LIST_MAX, BetaListBody } from '../../gateway/beta/list.ts';
import { betaFamily } from '../../gateway/beta/task.ts';
import { refuseField } from '../request-body.ts';
import type { SandboxTask } from '../task.ts';
import type { World } from '../world.ts';
import type { BetaPlan } from './plan.ts';
import { betaStatus, taskRecord } from './record.ts';

const DEFAULT_LIMIT = 100;
const WINDOW_MS = 30 * 24 * 3_600_000;

/** Where a page begins: the time range of the first one, and the task that the page before ended with. */
interface Position {
  readonly startMs: number;
  readonly endMs: number;
  readonly after?: { readonly createdAtMs: number; readonly id: string };
}

/**
 * One page of the cursor query, newest task first ("Cursor query `POST /tasks`"). A cursor keeps the time range of the
 * first page, so that tasks created meanwhile do not move the pages. Throws Refusal.
 */
export function listPage(body: BetaListBody, world: World): object {
  const unknown = Object.keys(body).find((key) => !Object.hasOwn(BetaListBody.shape, key));
  if (unknown !== undefined) throw refuseField([unknown], 'not a parameter of this endpoint');
  const { limit = DEFAULT_LIMIT, filters = [] } = body;
  if (limit > BETA_LIST_MAX) throw refuseField(['limit'], `at most ${BETA_LIST_MAX}`);
  const nowMs = world.now();
  const position = body.cursor === undefined ? rangeOf(body, nowMs) : readCursor(body.cursor);
  const matches = (task: SandboxTask<BetaPlan>) =>
    filters.every(({ key, values }) =>
      key === 'status'
        ? values.includes(betaStatus(task, nowMs))
        : task.plan.products.some((product) => values.includes(product)),
    );
  const left = world.store
    .tasks()
    .filter((task) => task.family === betaFamily.name && nowMs < task.expiresAtMs)
    .map((task) => task as SandboxTask<BetaPlan>)
    .filter((task) => isWithin(task, position) && matches(task))
    .sort(byNewest);
  const page = left.slice(0, limit);
  const last = page.at(-1);
  const hasMore = left.length > page.length;
  return {
    result: page.map((task) => taskRecord(task, world, nowMs)),
    count: page.length,
    has_more: hasMore,
    ...(hasMore && last && { next_cursor: writeCursor({ ...position, after: placeOf(last) }) }),
  };
}

const placeOf = ({ createdAtMs, id }: SandboxTask) => ({ createdAtMs, id });

const byNewest = (a: { createdAtMs: number; id: string }, b: { createdAtMs: number; id: string }): number =>
  b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

const isWithin = (task: SandboxTask, { startMs, endMs, after }: Position): boolean =>
  task.createdAtMs >= startMs &&
  task.createdAtMs <= endMs &&
  (after === undefined || byNewest(after, task) < 0);

function rangeOf({ start_time: start, end_time: end }: BetaListBody, nowMs: number): Position {
  const endMs = end === undefined ? nowMs : Number(end);
  const startMs = start === undefined ? endMs - WINDOW_MS : Number(start);
  if (startMs >= endMs) throw refuseField(['start_time'], 'must be earlier than end_time');
  return { startMs, endMs };
}

const writeCursor = (position: Position): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url');

function readCursor(cursor: string): Position {
  const bad = () => refuseField(['cursor'], 'not a next_cursor of an earlier page');
  let read: Partial<Position>;
  try {
    read = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Partial<Position>;
  } catch {
    throw bad();
  }
  const { startMs, endMs, after } = read ?? {};
  if (typeof startMs !== 'number' || typeof endMs !== 'number') throw bad();
  if (typeof after?.createdAtMs !== 'number' || typeof after.id !== 'string') throw bad();
  return { startMs, endMs, after };
}
