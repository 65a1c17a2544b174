import { usage } from '../../../errors.ts';
import { flagName } from '../../../flags/flag.ts';
import { buildShots } from '../../../gateway/beta/shots.ts';
import type { BodyInput } from '../create-video.ts';
import { type BetaFlags, betaDuration, type betaFlags, betaVariant } from './flags.ts';
import { o1Elements, o1Flags, o1References } from './references.ts';

// beta create: typed flags and resolved media -> the body's own shape.

type Fields = Record<string, unknown>;
type Input = BodyInput<typeof betaFlags>;

/**
 * Lays the flags over the body of --body: what a flag says replaces that field; on O1 a prompt replaces the prompt
 * items, and media of a type replace the items of that type. Throws `usage` for flags that the mode has no place for.
 */
export function betaBody(input: Input): Fields {
  const { base, flags } = input;
  const variant = betaVariant(flags);
  const given: Fields = {
    ...(variant.mode === 'o1' ? contentsOf(input) : promptOf(input)),
    settings: merged(base.settings, {
      multi_shot: flags.multiShot,
      audio: flags.audio,
      resolution: flags.resolution,
      aspect_ratio: flags.ratio,
      duration: flags.duration === undefined ? undefined : betaDuration(flags.duration, variant),
    }),
    options: merged(base.options, {
      callback_url: flags.callbackUrl,
      external_task_id: flags.externalId,
      watermark_info: watermarkOf(base.options, flags),
    }),
  };
  return { ...base, ...typedOnly(given) };
}

const typedOnly = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Typed fields over those of the base; undefined where nothing was typed, so that the base stays as it is. */
function merged(base: unknown, fields: Fields): Fields | undefined {
  const given = typedOnly(fields);
  if (Object.keys(given).length === 0) return undefined;
  return { ...(isObject(base) ? base : {}), ...given };
}

function watermarkOf(options: unknown, { watermark }: BetaFlags): Fields | undefined {
  return merged(isObject(options) ? options.watermark_info : undefined, { enabled: watermark });
}

function promptOf({ flags, prompt }: Input): Fields {
  if (flags.shot === undefined) return { prompt };
  if (flags.mode !== undefined && flags.mode !== 'text') {
    throw usage('--shot: shots are for the mode text', 'leave --mode out and add --turbo');
  }
  if (!flags.turbo) {
    throw usage('--shot: only the turbo endpoint takes a prompt of shots', 'add --turbo');
  }
  if (prompt !== undefined) {
    throw usage('the prompt was given twice: by --shot and by itself', 'put all of it into the shots');
  }
  return { prompt: buildShots(flags.shot) };
}

function contentsOf({ base, flags, prompt, media }: Input): Fields {
  if (flags.shot !== undefined) throw usage('--shot: not for the mode o1', 'say it in the prompt');
  const references = o1References(flags);
  const items = [
    ...media.map(({ url }, index) => {
      const { type, id } = references[index] ?? {};
      return { type, url, ...(id !== undefined && { id }) };
    }),
    ...o1Elements(flags),
  ];
  const promptItem = prompt === undefined ? [] : [{ type: 'prompt', text: prompt }];
  if (promptItem.length + items.length === 0) return {};
  const replaced = new Set<unknown>([...promptItem, ...items].map((item) => item.type));
  const kept = (Array.isArray(base.contents) ? base.contents : []).filter(
    (item: Fields | null) => !replaced.has(item?.type),
  );
  return { contents: [...promptItem, ...kept, ...items] };
}

const flagOfSetting: Record<string, string> = {
  multi_shot: '--multi-shot',
  audio: '--audio',
  resolution: '--resolution',
  aspect_ratio: '--ratio',
  duration: '--duration',
};
const flagOfOption: Record<string, string> = {
  callback_url: '--callback-url',
  external_task_id: '--external-id',
  watermark_info: '--watermark',
};
const flagOfType: Record<string, string> = {
  prompt: '--prompt',
  ...Object.fromEntries(Object.entries(o1Flags).map(([key, type]) => [type, flagName(key)])),
};

/** The flag that a field of the body comes from. */
export function betaFlagOf(path: readonly PropertyKey[], body: Fields): string | undefined {
  const [field, item] = path;
  if (field === 'prompt') return '--prompt';
  if (field === 'settings') return flagOfSetting[String(item)];
  if (field === 'options') return flagOfOption[String(item)];
  if (field !== 'contents') return undefined;
  if (typeof item === 'string') return flagOfType[item];
  const found: unknown =
    typeof item === 'number' && Array.isArray(body.contents) ? body.contents[item] : undefined;
  return isObject(found) ? flagOfType[String(found.type)] : undefined;
}
