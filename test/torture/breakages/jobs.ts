import type { Breakage } from './breakage.ts';

/** Breakages in creating jobs, in looking at their tasks and in removing jobs. */
export const jobs: readonly Breakage[] = [
  {
    costs: 'a create that asks for something else is taken for the lost one',
    find: 'const isSame = held.endpoint === input.intent.endpoint && held.bodySha256 === digestOf(input.asked ?? input.body);',
    replace: 'const isSame = true;',
  },
  {
    costs: 'an older task under the same external ID is taken for the lost one',
    find: 'if (isOlder(family.externalIds.createdAtMs(found.record), lost, nowMs)) return undefined;',
  },
  {
    costs: "another job's task is taken for the lost one",
    find: 'if (isAnothers) return undefined;',
  },
  {
    costs: 'a job that another key cannot see is called lost',
    find: 'if (isOtherKey(job, deps.keyId) || !isExpired(error, job, family, clock.now()))',
    replace: 'if (!isExpired(error, job, family, clock.now()))',
  },
  {
    costs: 'a wait gives a sick gateway up before its 15 minutes',
    find: 'const MAX_FAILURES = 20; const MAX_FAILING_MS = 15 * 60_000;',
    replace: 'const MAX_FAILURES = 20; const MAX_FAILING_MS = 60_000;',
  },
  {
    costs: 'a wait for a gateway that is gone never ends',
    find: 'if (isLong && look === undefined) throw error;',
  },
  {
    costs: 'a task that ends while gw sleeps is a timeout',
    find: 'await clock.sleep(Math.min(waitMs, restMs), signal);',
    replace:
      'await clock.sleep(Math.min(waitMs, restMs), signal); if (waitMs >= restMs) throw waitOver(`task ${taskId}`, taskId);',
  },
  {
    costs: 'one 404 ends the wait for a paid task',
    find: 'const MAX_NOT_FOUND = 3;',
    replace: 'const MAX_NOT_FOUND = 1;',
  },
  {
    costs: 'a task that is young counts as not found',
    find: 'const isGone = notFound >= MAX_NOT_FOUND && clock.steady() >= youngUntilMs;',
    replace: 'const isGone = notFound >= MAX_NOT_FOUND;',
  },
  {
    costs: 'looks come earlier than Retry-After says',
    find: 'if (error) options.onTrouble(error, failures); waitMs = Math.max(pauseMs, toldMs);',
    replace: 'if (error) options.onTrouble(error, failures); waitMs = pauseMs;',
  },
  {
    costs: 'more tasks are sent than the account runs',
    find: 'if (taken.length + before < most) return await begin();',
    replace: 'if (taken.length + before <= most) return await begin();',
  },
  {
    costs: '--queue waits beyond --wait-timeout',
    find: "if (clock.steady() + CHECK_MS >= deadlineMs) { throw new GwError('rate_limited', `no slot became free in time",
    replace: "if (clock.steady() < 0) { throw new GwError('rate_limited', `no slot became free in time",
  },
  {
    costs: 'a create that was lost takes no slot, and one too many is sent',
    find: 'if (mayExist(job) && keepsSlot(job, input)) return true;',
  },
  {
    costs: 'the slots of another account hold this one up',
    find: 'if (isOtherKey(job, intent.keyId)) return false; if (job.state',
    replace: 'if (job.state',
  },
  {
    costs: 'a paid create is sent again after a complete 5xx',
    find: "const creates = { ...always, server_error: 'unknown',",
    replace: "const creates = { ...always, server_error: 'retry',",
  },
  {
    costs: 'a paid create is sent again after its reply was lost',
    find: "server_error: 'unknown', lost: 'unknown', unreadable: 'unknown', redirect: 'unknown', unsettled: 'unknown', not_found: 'stop', } as const;",
    replace:
      "server_error: 'unknown', lost: 'retry', unreadable: 'unknown', redirect: 'unknown', unsettled: 'unknown', not_found: 'stop', } as const;",
  },
  {
    costs: 'the ID in a cut reply is lost with a kill while the gateway is asked for it',
    find: 'if (externalId === undefined) quietly(() => ledger.append(key, event));',
    replace: 'if (externalId !== undefined) quietly(() => ledger.append(key, event));',
  },
  {
    costs: 'a paid task that a cut reply named is never looked at again',
    find: 'return canBeLookedUp(job, family, nowMs) || idToConfirm(job) !== undefined;',
    replace: 'return canBeLookedUp(job, family, nowMs);',
  },
  {
    costs: 'one early 404 gives up a paid task that a cut reply named',
    find: 'absentSince && absentSince.lastMs - absentSince.atMs >= PROOF_MS ? undefined : unconfirmedId;',
    replace: 'absentSince ? undefined : unconfirmedId;',
  },
  {
    costs: 'what may have left counts as not sent',
    find: "if (error.sent === 'maybe') return 'lost';",
  },
  {
    costs: 'Retry-After is shortened by our own pace',
    find: 'const delayMs = told ? Number(failure.retryAfterMs) : backoffMs(retriesDone, attempt.random);',
    replace: 'const delayMs = backoffMs(retriesDone, attempt.random);',
  },
  {
    costs: 'an unasked 100 Continue throws the good reply away',
    find: 'const rest = interim.skip(chunk);',
    replace: 'const rest = chunk;',
  },
  {
    costs: 'a line that is appended beside a prune is lost',
    find: 'if (fd !== undefined) appendRest(fd, copiedBytes, file);',
  },
  {
    costs: 'two prunes at once lose lines of each other',
    find: "const lock = tryLock(path.join(locks, 'rewrite.lock'), step);",
    replace: 'const lock = { release() {} };',
  },
  {
    costs: 'a lost create of family B is looked for at another gateway, and made there once more',
    find: "if (job.state !== 'intent' && job.gateway !== intent.gateway) return { job };",
  },
  {
    costs:
      'a lost create of family B that the gateway never answers is sent without end, a run after the other',
    find: 'resends + 1 < MOST_SENDINGS',
    replace: 'resends >= 0 && MOST_SENDINGS > 0',
  },
  {
    costs: 'a job is paid for beside what a newer gw wrote, and never listed again',
    find: "if (typeof version !== 'number' || version <= format) return;",
    replace: "if (typeof version !== 'string' || version <= format) return;",
  },
  {
    costs: 'prune forgets a create that may have been paid for',
    find: 'return Math.min(clocks.nowMs, seenMs) >= (job.sentAtMs ?? job.createdAtMs) + lifeMs;',
    replace: 'return Math.min(clocks.nowMs, seenMs) >= (job.sentAtMs ?? job.createdAtMs);',
  },
  {
    costs: 'prune forgets a create that may have been paid for as soon as the clock is set on',
    find: 'return Math.min(clocks.nowMs, seenMs) >= (job.sentAtMs ?? job.createdAtMs) + lifeMs;',
    replace: 'return clocks.nowMs >= (job.sentAtMs ?? job.createdAtMs) + lifeMs;',
  },
  {
    costs: 'prune forgets a finished job whose output is not saved',
    find: 'return isSaved(job, family) || isGone(job, family, clocks);',
    replace: 'return true;',
  },
  {
    costs:
      'an output that a later wait did not bring home is never asked for again, as its create said --no-download',
    find: "if (save.download && isNews) (await ctx.ledger()).append(job.key, { event: 'plan', save });",
  },
  {
    costs: 'a job counts as home without its second output',
    find: 'return files.length > 0 && missing.length === 0 ? { value: resultOf(job, files) } : undefined;',
    replace: 'return files.length > 0 ? { value: resultOf(job, files) } : undefined;',
  },
  {
    costs:
      'a step of a worker whose answer is lost with Redis is refused when it is sent again: nobody goes on with the row',
    find: "if redis.call('HGET', KEYS[1], 'step') == ARGV[8] then",
    replace: "if redis.call('HGET', KEYS[1], 'step') == '' then",
  },
  {
    costs: 'a batch whose stdout closes ends while its images are being made: they are paid for and lost',
    find: 'await Promise.all(works);',
  },
  {
    costs: 'one new attempt is asked for, and a third is made where the second has failed too',
    find: "typeof again === 'number' ? attemptOf(job) < again :",
  },
  {
    costs: 'rows are handed over while a run on this machine makes them: both are paid for',
    find: 'if (announced.isRefused)\n      throw usage(',
    replace: 'if (false)\n      throw usage(',
  },
  {
    costs: 'a task that runs is made once more by --retry-failed, because a look at it met a wrong API key',
    find: "new Set(['task_failed', 'not_found'])",
    replace: "new Set(['task_failed', 'not_found', 'auth'])",
  },
  {
    costs:
      'a row that a dead worker was sending counts as not sent where the look-up fails: it is taken out, and paid for',
    find: "let mayExist = row.state === 'sending';",
    replace: 'let mayExist = false;',
  },
  {
    costs:
      'images that came while their worker was stopped count as not made: another one makes and pays for them again',
    find: 'return this.#imagesMade(record, outcome, made);',
    replace:
      "return error ? this.#notMade(record, error, { kind: 'nothing', error }) : this.#imagesMade(record, outcome, made);",
  },
  {
    costs: 'an empty list with another 2xx is taken for proof, and a create is sent a second time',
    find: 'if (found || status === 200) return { found, serverDateMs };',
    replace: 'if (found || status >= 200) return { found, serverDateMs };',
  },
];
