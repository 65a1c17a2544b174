import * as crypto from 'node:crypto';
import { GwError } from '../errors.ts';
import { type IntentEvent, type KeptRequest, LEDGER_VERSION, type LedgerEvent } from './event.ts';

export interface SerializeOptions {
  /** Replaces the exact key in a text. */
  readonly hideSecret: (text: string) => string;
  readonly keepPrompts: boolean;
}

/**
 * The JSON of one line. Every text and field name passes the secret filter; an intent loses what must not be kept.
 * Throws GwError `unavailable` for a record nested too deep to be stored.
 */
export function serialize(
  job: string,
  timeMs: number,
  event: LedgerEvent,
  options: SerializeOptions,
): string {
  const kept = event.event === 'intent' ? trimIntent(event, options.keepPrompts) : event;
  try {
    return JSON.stringify({ v: LEDGER_VERSION, t: timeMs, job, ...kept }, hiding(options.hideSecret));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new GwError('unavailable', `the gateway's record is nested too deep or too large to be stored`);
  }
}

/** What a request was made of, as it may stand in a file: without the key, which somebody may have typed into it. */
export function withoutSecrets<T extends Pick<IntentEvent, 'prompt' | 'settings' | 'media' | 'references'>>(
  intent: T,
  hide: (text: string) => string,
): T {
  const { prompt, settings, media, references } = intent;
  const made = { prompt, settings, media, references };
  return { ...intent, ...(JSON.parse(JSON.stringify(made, hiding(hide))) as typeof made) };
}

function hiding(hide: (text: string) => string): (key: string, value: unknown) => unknown {
  return (_, value) => {
    if (typeof value === 'string') return hide(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    if (Object.keys(value).every((name) => hide(name) === name)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), inner]));
  };
}

/** Base64 never reaches the ledger, nor a query that may be a signature, nor credentials in an address. */
function trimIntent(intent: IntentEvent, keepPrompts: boolean): IntentEvent {
  const { prompt, request, ...rest } = intent;
  return {
    ...rest,
    ...(keepPrompts && prompt !== undefined && { prompt }),
    ...(request && { request: trimRequest(request, keepPrompts) }),
    media: intent.media.map(nameOf),
    ...(intent.references && {
      references: intent.references.map((each) => ({ ...each, name: nameOf(each.name) })),
    }),
    settings: Object.fromEntries(
      Object.entries(intent.settings).map(([name, value]) => [
        name,
        typeof value === 'string' ? nameOf(value) : value,
      ]),
    ),
    gateway: nameOf(intent.gateway),
  };
}

/** Longest body of --body that is kept, in characters of JSON. */
const LONGEST_BODY = 1 << 16;
/** What may hold words of a prompt. */
const worded: ReadonlySet<string> = new Set(['shot', 'set', 'body']);

/** What may not be kept of a request is only named. */
function trimRequest(request: KeptRequest, keepPrompts: boolean): KeptRequest {
  const { flags, set, body, ...rest } = request;
  const isKept = (key: string, value: unknown) => (keepPrompts || !worded.has(key)) && isKeepable(value);
  // In a body Base64 may stand alone, without the `data:` that a flag needs.
  const isText = (value: unknown) => {
    const json = JSON.stringify(value);
    return json.length <= LONGEST_BODY && !/[A-Za-z0-9+/_-]{200}/.test(json);
  };
  const keeps: Readonly<Record<string, boolean>> = {
    ...Object.fromEntries(Object.entries(flags).map(([key, value]) => [key, isKept(key, value)])),
    ...(set && { set: isKept('set', set) && isText(set) }),
    ...(body && { body: isKept('body', body) && isText(body) }),
  };
  const lacks = Object.keys(keeps).filter((key) => !keeps[key]);
  return {
    ...rest,
    flags: Object.fromEntries(Object.entries(flags).filter(([key]) => keeps[key])),
    ...(keeps.set && { set }),
    ...(keeps.body && { body }),
    ...(lacks.length > 0 && { lacks }),
  };
}

/** Whether a value holds no data, and no address that the ledger would cut. */
function isKeepable(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isKeepable);
  if (typeof value !== 'string') return true;
  const [address] = /\b(?:data:|https?:\/\/).*/is.exec(value) ?? [];
  return address === undefined || nameOf(address) === address;
}

function nameOf(reference: string): string {
  if (/^data:/i.test(reference)) {
    const type = /^data:([\w.+/-]*)/i.exec(reference)?.[1] ?? '';
    return `data:${type};sha256=${crypto.createHash('sha256').update(reference).digest('hex')}`;
  }
  if (!/^https?:\/\//i.test(reference)) return reference;
  return reference.replace(/[?#].*$/s, '').replace(/^(https?:\/\/)[^/]*@/i, '$1');
}
