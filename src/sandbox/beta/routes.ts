import { type BetaCreate, betaCreates } from '../../gateway/beta/create.ts';
import { BetaListBody, betaList } from '../../gateway/beta/list.ts';
import { betaFamily, betaTasks } from '../../gateway/beta/task.ts';
import { refuseField } from '../request-body.ts';
import type { Route } from '../route.ts';
import { statusCallbacks } from '../status-callbacks.ts';
import { findTask, type SandboxTask } from '../task.ts';
import type { World } from '../world.ts';
import { betaRefusalReply, betaReply } from './envelope.ts';
import { admitBetaTask, findByExternalId } from './external-ids.ts';
import { listPage } from './list.ts';
import { type BetaPlan, planTask } from './plan.ts';
import { createdData, taskRecord } from './record.ts';
import { readBetaRequest } from './request.ts';

const refuse: Route['refuse'] = (refusal, { codeOnly }) => betaRefusalReply(refusal, codeOnly);

const createRoute = (endpoint: BetaCreate): Route => ({
  endpoint,
  body: endpoint.strictBody,
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

/** The tasks that a query asks for by one of the two kinds of ID; throws Refusal where it is not exactly one. */
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
    body: BetaListBody,
    refuse,
    answer: ({ body }, world) => betaReply(listPage(body as BetaListBody, world)),
  },
];
