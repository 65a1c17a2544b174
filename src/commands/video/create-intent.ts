import type { Access } from '../../context.ts';
import type { CreateInput } from '../../jobs/create.ts';
import type { IntentEvent } from '../../ledger/event.ts';
import type { ReadyCreate } from './create-spec.ts';

/** What the ledger keeps of a create before it is sent. */
export function intentOf(
  { spec, endpoint, model, body, media, settings }: ReadyCreate,
  { name: gateway, keyId }: Access,
  save: IntentEvent['save'],
): CreateInput['intent'] {
  const { content, contents, prompt, ...rest } = body;
  return {
    event: 'intent',
    family: spec.family.name,
    endpoint: endpoint.name,
    model: typeof body.model === 'string' ? body.model : model,
    prompt: promptIn(content ?? contents ?? prompt),
    settings: { ...scalarsOf(rest), ...scalarsOf(rest.settings) },
    media: media.map((item) => item.describe),
    profile: settings.profile.value,
    keyId,
    gateway,
    save,
  };
}

/** The plain values of an object; none where it is no object. */
const scalarsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each !== 'object'))
    : {};

/** The words of a request: a prompt field, or the text items of its content. */
function promptIn(source: unknown): string | undefined {
  if (typeof source === 'string') return source;
  if (!Array.isArray(source)) return undefined;
  const texts = source
    .map((item: { text?: unknown } | null) => item?.text)
    .filter((text) => typeof text === 'string');
  return texts.length > 0 ? texts.join('\n') : undefined;
}
