import * as crypto from 'node:crypto';
import { GwError } from '../errors.ts';
import { formatOf } from '../formats.ts';
import type { IntentEvent, KeptRequest, LedgerEvent } from './event.ts';
import { withSum } from './parse-line.ts';

interface SerializeOptions {
  /** Replaces the API key in a text. */
  readonly hideSecret: (text: string) => string;
  readonly keepPrompts: boolean;
}

/**
 * The JSON of one line. Every text and field name passes the secret filter, and data that must not be kept is removed
 * from an intent. Throws GwError `unavailable` for a record that is nested too deeply.
 */
export function serialize(
  job: string,
  timeMs: number,
  event: LedgerEvent,
  options: SerializeOptions,
): string {
  const kept = event.event === 'intent' ? trimIntent(event, options.keepPrompts) : event;
  try {
    const line = {
      v: formatOf('ledger'),
      t: timeMs,
      job,
      ...(options.keepPrompts ? kept : withoutPrompt(kept)),
    };
    return withSum(JSON.stringify(line, hiding(options.hideSecret)));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new GwError('unavailable', `the gateway's record is nested too deep or too large to be stored`);
  }
}

/** Removes the model's revised prompts, because they reveal the user's prompt. */
function withoutPrompt(event: LedgerEvent): LedgerEvent {
  const name = 'revised_prompt';
  if (!JSON.stringify(event).includes(name)) return event;
  const { recordText: _, reply: __, ...rest } = event as { recordText?: string; reply?: string };
  return JSON.parse(JSON.stringify(rest, (key, value) => (key === name ? undefined : value)));
}

type Asked = Pick<IntentEvent, 'prompt' | 'settings' | 'media' | 'references' | 'request'>;

/** Removes the API key, which somebody may have typed, from the parts of a request that are stored. */
export function withoutSecrets<T extends Asked>(intent: T, hide: (text: string) => string): T {
  const { prompt, settings, media, references, request } = intent;
  const made = { prompt, settings, media, references, request };
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

/** Removes Base64, queries (which may be signatures) and credentials in URLs before an intent is stored. */
export function trimIntent<T extends Asked & { gateway: string }>(intent: T, keepPrompts: boolean): T {
  const { prompt, request } = intent;
  return {
    ...intent,
    prompt: keepPrompts ? prompt : undefined,
    request: request && trimRequest(request, keepPrompts),
    media: intent.media.map(nameOf),
    references: intent.references?.map((each) => ({ ...each, name: nameOf(each.name) })),
    settings: withoutData(intent.settings) as Asked['settings'],
    gateway: nameOf(intent.gateway),
  };
}

/** Copies a value with each text that is data or a URL shortened, at any depth. */
function withoutData(value: unknown): unknown {
  if (typeof value === 'string') {
    return isBase64(value) ? `base64;sha256=${sha256(value)}` : nameOf(value);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutData);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutData(inner)]));
}

/** True if a text contains Base64, in one piece or wrapped: human words are not that long. */
const isBase64 = (text: string): boolean =>
  /[A-Za-z0-9+/_-]{200}|(?:[A-Za-z0-9+/_-]{50,}={0,2}(?:\s+|$)){3}/.test(text);

const sha256 = (text: string): string => crypto.createHash('sha256').update(text).digest('hex');

/** Longest --body that is kept, in characters of JSON. */
const LONGEST_BODY = 1 << 16;
/** Flags that may contain words of a prompt. */
const worded: ReadonlySet<string> = new Set(['prompt', 'shot', 'set', 'body']);

/** Moves flags that may not be kept to `lacks`; `isKeepable` decides about a flag's value. */
export function trimRequest(
  request: KeptRequest,
  keepPrompts: boolean,
  isKeepable: (value: unknown) => boolean = isUnsigned,
): KeptRequest {
  const { flags, set, body, lacks: lackedBefore = [], ...rest } = request;
  const isKept = (key: string, value: unknown) => (keepPrompts || !worded.has(key)) && isKeepable(value);
  // A body may hold bare Base64, without the `data:` prefix that a flag needs.
  const isText = (value: unknown): boolean =>
    typeof value === 'object' && value !== null
      ? JSON.stringify(value).length <= LONGEST_BODY && Object.values(value).every(isText)
      : typeof value !== 'string' || !isBase64(value);
  const keeps: Readonly<Record<string, boolean>> = {
    ...Object.fromEntries(Object.entries(flags).map(([key, value]) => [key, isKept(key, value)])),
    ...(set && { set: isKept('set', set) && isText(set) }),
    ...(body && { body: isKept('body', body) && isText(body) }),
  };
  const lacks = [...lackedBefore, ...Object.keys(keeps).filter((key) => !keeps[key])];
  return {
    ...rest,
    flags: Object.fromEntries(Object.entries(flags).filter(([key]) => keeps[key])),
    ...(keeps.set && { set }),
    ...(keeps.body && { body }),
    ...(lacks.length > 0 && { lacks }),
  };
}

/** True if a value holds no data and no URL that the ledger would cut. */
function isUnsigned(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isUnsigned);
  if (typeof value !== 'string') return true;
  const [address] = /\b(?:data:|https?:\/\/).*/is.exec(value) ?? [];
  return address === undefined || nameOf(address) === address;
}

/** The stored form of a reference: data as its digest, a URL without query and credentials. */
export function nameOf(reference: string): string {
  if (/^data:/i.test(reference)) {
    const type = /^data:([\w.+/-]*)/i.exec(reference)?.[1] ?? '';
    return `data:${type};sha256=${sha256(reference)}`;
  }
  if (!/^https?:\/\//i.test(reference)) return reference;
  return reference.replace(/[?#].*$/s, '').replace(/^(https?:\/\/)[^/]*@/i, '$1');
}
