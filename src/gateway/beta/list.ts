import * as z from 'zod/mini';
import { type ObjectMaker, type Rule, whole, withRules } from '../body.ts';
import { filled, filledText } from '../checks.ts';
import type { Endpoint } from '../endpoint.ts';
import { type Fields, fieldsOf } from '../json-value.ts';
import { areBetaTasks, asText, betaRefusal, betaTasksPath, isBetaSuccess, refusalOr } from './task.ts';

// "Cursor query `POST /tasks`": every task of the account, page by page.

export const betaStatuses = ['submitted', 'processing', 'succeeded', 'failed'] as const;
export const betaProductTypes = ['video', 'image', 'try_on'] as const;
export const BETA_LIST_MAX = 500;
/** The gateway's default for `limit`. */
export const BETA_LIST_DEFAULT = 100;

const UnixMs = z.string().check(z.regex(/^\d{1,15}$/, 'Unix milliseconds, as a text'));

/** The values that the document lists for each filter key. */
const betaFilters = { status: betaStatuses, product_type: betaProductTypes } as const;
type FilterKey = keyof typeof betaFilters;
const filterKeys = Object.keys(betaFilters) as FilterKey[];

const listFields = (object: ObjectMaker) =>
  object({
    start_time: z.optional(UnixMs),
    end_time: z.optional(UnixMs),
    cursor: z.optional(filledText()),
    limit: z.optional(whole({ min: 1, max: BETA_LIST_MAX }, `give a number from 1 to ${BETA_LIST_MAX}`)),
    filters: z.optional(
      z.array(
        object({
          key: z.enum(filterKeys),
          values: z.array(z.string()).check(filled('at least one value is needed')),
        }),
      ),
    ),
  });

/** Milliseconds with fewer than 12 digits lie before March 1973: the user more likely typed seconds or a year. */
const looksLikeSeconds = (time: string): boolean => time.length < 12;

const listRules: readonly Rule<BetaListBody>[] = [
  {
    name: 'beta.list-start-before-end',
    verdict: 'refuse',
    sentence: 'earlier than end_time',
    *check({ start_time: start, end_time: end }) {
      if (start === undefined || end === undefined || Number(start) < Number(end)) return;
      yield { path: ['start_time'], message: 'the start must be earlier than the end' };
    },
  },
  {
    name: 'beta.list-times-in-milliseconds',
    verdict: 'warn',
    sentence: 'Unix milliseconds',
    *check(body) {
      for (const path of ['start_time', 'end_time'] as const) {
        const time = body[path];
        if (time === undefined || !looksLikeSeconds(time)) continue;
        yield { path: [path], message: `${time} is ${new Date(Number(time)).toISOString().slice(0, 10)}` };
      }
    },
  },
  {
    name: 'beta.list-filters',
    verdict: 'refuse',
    sentence: 'status: submitted, processing, succeeded, failed; product type: video, image, try_on',
    *check({ filters = [] }) {
      for (const [index, { key, values }] of filters.entries()) {
        const known: readonly string[] = betaFilters[key];
        for (const [at, value] of values.entries()) {
          if (known.includes(value)) continue;
          yield { path: ['filters', index, 'values', at], message: `one of ${known.join(', ')}`, known };
        }
      }
    },
  },
];

/** The body of `POST /tasks`. */
export const BetaListBody = withRules(listFields, listRules);
export type BetaListBody = z.infer<ReturnType<typeof listFields>>;

/** One page of records, and the cursor of the next. */
export interface BetaPage {
  readonly result: readonly Fields[];
  readonly next_cursor?: string | null;
  readonly has_more?: boolean | null;
}

/** The page in a reply; undefined if the reply holds none. Null counts as an empty list, as some servers send it. */
export function betaPageIn(reply: unknown): BetaPage | undefined {
  const { data } = fieldsOf(reply);
  if (data === null && isBetaSuccess(reply)) return { result: [] };
  const { result: tasks, next_cursor: given = null, has_more: more = null } = fieldsOf(data);
  // The document states that the cursor we send is text, but not the type of the one we receive.
  const cursor = asText(given);
  const result = tasks === null ? [] : tasks;
  if ((cursor !== null && typeof cursor !== 'string') || (more !== null && typeof more !== 'boolean')) return;
  return areBetaTasks(result) ? { result, next_cursor: cursor, has_more: more } : undefined;
}

export const betaList: Endpoint = {
  name: 'beta.list',
  method: 'POST',
  path: betaTasksPath,
  resend: 'read',
  body: BetaListBody,
  // A refusal has no page and is accepted here too.
  reply: refusalOr(betaPageIn),
  refusal: betaRefusal,
};
