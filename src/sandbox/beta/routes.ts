import { randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import { type BetaCreate, betaCreates } from '../../gateway/beta/create.ts';
import { type BetaListBody, betaList } from '../../gateway/beta/list.ts';
import { betaFamily, betaTasks } from '../../gateway/beta/task.ts';
import { statusCallbacks } from '../callbacks.ts';
import { errorObject, jsonReply, Refusal, type SandboxReply } from '../reply.ts';
import { refuseField } from '../request-body.ts';
import type { Route, World } from '../route.ts';
import { findTask, type SandboxTask } from '../task.ts';
import { type BetaPlan, betaStatus, createdData, planTask, readBetaRequest, taskRecord } from './plan.ts';

const refuse: Route['refuse'] = (refusal, { codeOnly }) => betaRefusalReply(refusal, codeOnly);

const createRoute = (endpoint: BetaCreate): Route => ({
  endpoint,
  refuse,
  async answer({ body }, world) {
    const request = await readBetaRequest(body as Record<string, unknown>);
    const task = planTask(request, endpoint.variant, world);
    admitBetaTask(task, world);
    const bodyAt = (nowMs: number) => taskRecord(task, world, nowMs);
    world.callbacks.send(request.callbackUrl, statusCallbacks(task, bodyAt), false);
    return { ...betaReply(createdData(task)), acceptedTaskId: task.id };
  },
});

/** The tasks of a query by one of the two kinds of ID; throws Refusal unless exactly one kind is given. */
function askedFor(query: URLSearchParams, world: World): SandboxTask<BetaPlan>[] {
  const [taskIds, externalIds] = ['task_ids', 'external_task_ids'].map(
    (name) => query.get(name) || undefined,
  );
  if ((taskIds === undefined) === (externalIds === undefined)) {
    throw refuseField(['task_ids'], 'exactly one of task_ids and external_task_ids is needed');
  }
  const ids = new Set((taskIds ?? externalIds ?? '').split(',').map((id) => id.trim()));
  const find = (id: string) =>
    taskIds === undefined ? findByExternalId(id, world) : findTask<BetaPlan>(world, betaFamily.name, id);
  return [...ids].map(find).filter((task) => task !== undefined);
}

/** Family B: seven creates, the query by ID and the cursor query ("Family B endpoints"). */
export const betaRoutes: readonly Route[] = [
  ...betaCreates.map(createRoute),
  {
    endpoint: betaTasks,
    refuse,
    answer: ({ url }, world) =>
      betaReply(askedFor(url.searchParams, world).map((task) => taskRecord(task, world, world.now()))),
  },
  {
    endpoint: betaList,
    refuse,
    answer: ({ body }, world) => betaReply(listPage(body as BetaListBody, world)),
  },
];

const requestId = () => randomBytes(16).toString('hex');

/** A success in family B's envelope: `code` 0. */
const betaReply = (data: unknown): SandboxReply =>
  jsonReply(200, { code: 0, message: 'SUCCEED', request_id: requestId(), data });

/** Plausible codes, because the document lists none other than 0. */
const codes: Readonly<Record<string, number>> = {
  InvalidParameter: 1201,
  DuplicateExternalTaskId: 1204,
};
const OTHER_CODE = 1200;

/**
 * A refusal in family B's envelope, with the error object of every error body ("Errors").
 * @param codeOnly use status 200, so that only `code` shows the refusal
 */
function betaRefusalReply(refusal: Refusal, codeOnly: boolean): SandboxReply {
  const { status, message, headers } = refusal;
  const body = { code: codes[refusal.code ?? ''] ?? OTHER_CODE, message, request_id: requestId() };
  if (codeOnly) return jsonReply(200, body, headers);
  return jsonReply(status, { ...body, error: errorObject(status, refusal) }, headers);
}

type Task = SandboxTask<BetaPlan>;

const kind = 'beta-external-id';

function findByExternalId(externalId: string, world: World): Task | undefined {
  const claim = world.store.get(kind, externalId) as { readonly task: Task } | undefined;
  if (!claim) return undefined;
  const { task } = claim;
  const kept = findTask<BetaPlan>(world, betaFamily.name, task.id);
  if (kept || world.now() >= task.expiresAtMs) return kept;
  // A server died after storing the claim and before storing the task; the claim decides.
  world.store.add(task);
  return task;
}

/**
 * Adds a task. Its external ID is unique in the account, across all processes: throws Refusal if another task has the
 * same one.
 */
function admitBetaTask(task: Task, world: World): void {
  const { externalId } = task.plan;
  if (externalId !== undefined && !claims(externalId, task, world)) {
    throw new Refusal(
      400,
      `The external_task_id ${externalId} already exists: it must be unique in the account.`,
      'DuplicateExternalTaskId',
    );
  }
  world.store.add(task);
}

function claims(externalId: string, task: Task, world: World): boolean {
  // The claim contains the whole task, so that both are stored at the same moment.
  const claim = () => world.store.putNew(kind, externalId, { task }, { expiresAtMs: task.expiresAtMs });
  if (claim()) return true;
  if (findByExternalId(externalId, world)) return false;
  world.store.drop(kind, externalId); // the task of this claim has expired
  return claim();
}

const DEFAULT_LIMIT = 100;
const WINDOW_MS = 30 * 24 * 3_600_000;

/** The start of a page: the time range of the first page, and the last task of the previous one. */
const Position = z.object({
  startMs: z.number(),
  endMs: z.number(),
  after: z.optional(z.object({ createdAtMs: z.number(), id: z.string() })),
});
type Position = z.infer<typeof Position>;

/**
 * One page of the cursor query, newest task first ("Cursor query `POST /tasks`"). A cursor contains the time range of the
 * first page, so that new tasks do not shift the pages. Throws Refusal.
 */
function listPage(body: BetaListBody, world: World): object {
  const { limit = DEFAULT_LIMIT, filters = [] } = body;
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
  try {
    const position = Position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    if (position.after) return position;
  } catch {}
  throw refuseField(['cursor'], 'not a next_cursor of an earlier page');
}
