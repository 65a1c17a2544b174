import { GwError, usage } from '../../errors.ts';
import type { ExternalIds } from '../../gateway/task.ts';
import type { Job } from '../../ledger/event.ts';
import {
  type Accepted,
  type AcceptedJob,
  CreateAttempt,
  type CreateInput,
  digestOf,
  recordId,
} from './create.ts';
import { belongsToAnother, lookUpPatiently } from './external-id.ts';
import { isOtherKey } from './hold-job.ts';
import { recordFailure } from './record-failure.ts';

/**
 * Where an earlier job of the ledger was sent under the same external ID and its answer was lost, goes on with that job:
 * it is looked up and, where the gateway has no such task, sent again under its ID. Undefined where there is no such job.
 * A create that asks for something else is never sent while the earlier one is not settled.
 * Throws as createJob, and `usage` while another process is at work on the earlier job.
 */
export async function takeUpLost(input: CreateInput): Promise<AcceptedJob | undefined> {
  const { externalId, ledger, note } = input;
  const { externalIds } = input.family;
  if (externalId === undefined || !externalIds) return undefined;
  const job = await unsettledUnder(externalId, input);
  if (!job) return undefined;
  const hold = await ledger.hold(job.key);
  if (!hold) {
    throw usage(
      `external ID ${externalId} is that of job ${job.key}, which another gw is working on; nothing was sent`,
      `gw jobs show ${job.key} tells what becomes of it`,
    );
  }
  try {
    const { job: held } = hold;
    if (held && isLost(held)) {
      note(
        `external ID ${externalId} is that of job ${held.key}, whose answer was lost: going on with that job`,
      );
      const lost: Lost = { job: held, externalId, externalIds };
      // The model is in the endpoint: two of them take the same body.
      const isSame = held.endpoint === input.intent.endpoint && held.bodySha256 === digestOf(input.body);
      const accepted = isSame ? await goOn(lost, input) : await refuseOther(lost, input);
      const unrecorded = recordId(held.key, accepted, ledger);
      if (!accepted.isOwnReply) note(`it is task ${accepted.id}; nothing was sent again`);
      return { key: held.key, ...accepted, unrecorded };
    }
  } finally {
    hold.release();
  }
  // It was settled since it was listed: another one may stand under that ID, or none.
  return takeUpLost(input);
}

const isLost = ({ state }: Job): boolean => state === 'sent' || state === 'unknown';

interface Lost {
  readonly job: Job;
  readonly externalId: string;
  readonly externalIds: ExternalIds;
}

async function unsettledUnder(externalId: string, input: CreateInput): Promise<Job | undefined> {
  const { family, intent, key, ledger } = input;
  const [job] = await ledger.find({
    ...{ externalId, family: family.name, gateway: intent.gateway, isOpen: true, limit: 1 },
    where: (each) => each.key !== key && isLost(each) && !isOtherKey(each, intent.keyId),
  });
  return job;
}

async function goOn({ job, externalId, externalIds }: Lost, input: CreateInput): Promise<Accepted> {
  const own = { ...input, key: job.key };
  const attempt = new CreateAttempt(own);
  const error = new GwError('unknown_outcome', `it is still not known what became of job ${job.key}`);
  try {
    return await attempt.takeUp(error, sinceSentMs(job, input), externalIds, externalId);
  } catch (thrown) {
    throw recordFailure(thrown, attempt, own);
  }
}

/** The earlier job asked for something else: it is settled if it can be, and this create is refused either way. */
async function refuseOther({ job, externalId, externalIds }: Lost, input: CreateInput): Promise<never> {
  const { clock, family, ledger } = input;
  const answer = await lookUpPatiently({ ...input, externalIds, externalId });
  const found = 'failed' in answer ? undefined : answer.found;
  const what = `external ID ${externalId} is that of job ${job.key}, which asked for something else`;
  if ('failed' in answer || !found) {
    throw new GwError('unknown_outcome', `${what} and may exist; nothing was sent`, {
      hint: 'gw jobs sync looks for it again',
      taskId: job.key,
    });
  }
  const claimed = {
    ...{ found, key: job.key, once: job.once, externalId, family, externalIds, gateway: job.gateway },
    serverNowMs: answer.serverDateMs ?? clock.now(),
    sinceSentMs: sinceSentMs(job, input),
  };
  if (!(await belongsToAnother(claimed, ledger))) {
    const { status } = family.readTask(found.record, found.id);
    ledger.append(job.key, { event: 'accepted', id: found.id, status });
  }
  throw new GwError('rejected', `${what}: it is task ${found.id}; nothing was sent`, {
    hint: `pick that one up with: gw video ${family.name} wait ${found.id}`,
    taskId: found.id,
  });
}

const sinceSentMs = (job: Job, { clock }: CreateInput): number =>
  clock.now() - (job.sentAtMs ?? job.createdAtMs);
