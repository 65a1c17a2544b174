import { usage } from '../../../errors.ts';
import { flagsOfBodies } from '../../../flags/body-flags.ts';
import {
  alsoFrom,
  everywhere,
  type Flag,
  type FlagValues,
  flagName,
  on,
  text,
  withValue,
} from '../../../flags/flag.ts';
import { BetaO1Body, BetaTextBody, betaCreateOf } from '../../../gateway/beta/create.ts';
import {
  type BetaMode,
  type BetaShot,
  type BetaVariant,
  betaModeNames,
  betaO1Media,
  betaSettings,
  betaVariantOf,
  buildShots,
} from '../../../gateway/beta/modes.ts';
import { fillBetaShots } from '../../../gateway/beta/rules.ts';
import { betaFamily, betaReplyWarning } from '../../../gateway/beta/task.ts';
import { type BodyInput, madeBy, videoCreate } from '../create.ts';

const shot: Flag<readonly Pick<BetaShot, 'seconds' | 'words'>[]> = {
  value: 'SECONDS:WORDS',
  list: true,
  summary: 'one shot, in place of a prompt (text, text --turbo); the duration is their sum',
  parse(raw, flag) {
    const [, seconds, words] = /^\s*(\d{1,6}(?:\.\d{1,3})?)\s*:([\s\S]*)$/.exec(raw) ?? [];
    if (seconds === undefined || words === undefined || words.trim() === '')
      throw usage(
        `${withValue(flag, raw)}: not of the form SECONDS:WORDS`,
        `write ${flag} "3:a fox wakes up"`,
      );
    if (words.includes(';'))
      throw usage(`${flag} ${raw}: a ";" ends a shot`, 'put a comma or a dot in its place');
    return [{ seconds: String(Number(seconds)), words: words.trim() }];
  },
};

const flags = alsoFrom(everywhere, {
  mode: text(betaModeNames.join('|'), 'what to make the video from (default text)', {
    choices: betaModeNames,
  }),
  turbo: on('the turbo endpoint (text, image)'),
  shot,
});
type Flags = FlagValues<typeof flags>;

const fields = flagsOfBodies([BetaTextBody, BetaO1Body], Object.entries(betaSettings));

/** The endpoint for the flags. Throws `usage` for an unknown mode, and for --turbo in a mode without turbo. */
function variantOf({ mode = 'text', turbo = false }: Flags): BetaVariant {
  if (!betaModeNames.includes(mode as BetaMode))
    throw usage(`--mode ${mode}: one of ${betaModeNames.join(', ')}`);
  const variant = betaVariantOf(mode, turbo);
  if (variant) return variant;
  const withTurbo = betaModeNames.filter((name) => betaVariantOf(name, true)).join(', ');
  throw usage(`--turbo: the mode ${mode} has no turbo endpoint`, `leave it out; turbo is for ${withTurbo}`);
}

function endpointOf(flags: Flags) {
  const { mode, turbo } = variantOf(flags);
  const endpoint = betaCreateOf(mode, turbo);
  if (!endpoint) throw new Error(`no endpoint for the mode ${mode}`);
  return endpoint;
}

export const create = videoCreate({
  family: betaFamily,
  about: `Create a video of ${madeBy(Object.entries(betaSettings).map(([name, settings]) => ({ ...settings, name })))}: several shots in one video, sound, elements of the account; the gateway says what each cost.`,
  fields,
  flags,
  endpointOf,
  modelOf: (_, flags) => variantOf(flags).model,
  media: (modality) => ({
    takes: { url: true, base64: modality === 'image', schemes: [] },
    limits: modality === 'audio' ? undefined : betaO1Media[modality],
  }),
  refuse: refuseMisplaced,
  promptNeed: ({ shot }, typed) => (shot ? 'given' : typed.element ? 'optional' : 'required'),
  place: (input) => (variantOf(input.flags).mode === 'o1' ? placeContents(input) : placePrompt(input)),
  fill: (body, flags) => (variantOf(flags).mode === 'text' ? fillBetaShots(body) : body),
  replyWarning: betaReplyWarning,
  examples: [
    'gw video beta create --sandbox "a paper boat on a calm sea at dawn" --duration 3 --wait',
    'gw video beta create --sandbox --turbo --shot "2:a fox wakes up" --shot "3:it runs through the snow" --wait -o clips/',
    'gw video beta create --sandbox --mode o1 "@fox runs" --image fox=https://example.com/fox.png --ratio 1:1 --dry-run',
  ],
  notes: [
    'The bodies of the modes image, omni and motion are not documented: they take --prompt, the settings and options, ' +
      '--body FILE and --set PATH=VALUE, and what they are given is sent as it is. ' +
      'With --mode o1 a reference may have an ID of its own (--image fox=fox.png), by which the prompt calls it (@fox); ' +
      'a file whose name holds a = is written ./a=b.png. ' +
      'gw gives every task an external ID, so that a create whose reply was lost is found again, and not sent twice.',
  ],
});

/** Throws `usage` for flags that the mode does not support. */
function refuseMisplaced(flags: Flags, typed: Readonly<Record<string, unknown>>): void {
  const { mode, settings } = variantOf(flags);
  if (flags.shot !== undefined && mode !== 'text')
    throw mode === 'o1'
      ? usage('--shot: not for the mode o1', 'say it in the prompt')
      : usage('--shot: shots are for the mode text', 'leave --mode out');
  if (flags.shot !== undefined && typed.multiShot === false)
    throw usage(
      '--shot: not with --no-multi-shot, which makes one shot of the prompt',
      'leave one of them out',
    );
  const key = Object.keys(fields.items).find((name) => typed[name] !== undefined);
  if (key === undefined || mode === 'o1') return;
  const flag = flagName(key);
  throw settings
    ? usage(`${flag}: the mode ${mode} takes a prompt only`, 'add --mode o1, or leave it out')
    : usage(
        `${flag}: how the mode ${mode} takes media is not documented`,
        'put it into the body as the gateway takes it, with --body FILE or --set PATH=VALUE',
      );
}

type Input = BodyInput<typeof flags>;

function placePrompt({ base, flags, prompt }: Input): Record<string, unknown> {
  if (flags.shot !== undefined && prompt !== undefined)
    throw usage('the prompt was given twice: by --shot and by itself', 'put all of it into the shots');
  const words = flags.shot === undefined ? prompt : buildShots(flags.shot);
  return words === undefined ? base : { ...base, prompt: words };
}

/** A prompt replaces the prompt items of --body; media of a type replace the items of that type. */
function placeContents({ base, prompt, items }: Input): Record<string, unknown> {
  const elements = items.filter(({ kind }) => kind === 'element');
  const placed = [
    ...(prompt === undefined ? [] : [{ type: 'prompt', text: prompt }]),
    ...items.map((item) => {
      const { kind, id, url } = item;
      return kind === 'element'
        ? // An element needs an ID; if none is given, its number makes one.
          { type: kind, id: id ?? `element${elements.indexOf(item) + 1}`, element_id: url }
        : { type: kind, url, ...(id !== undefined && { id }) };
    }),
  ];
  if (placed.length === 0) return base;
  const replaced = new Set<unknown>(placed.map((item) => item.type));
  const kept = (Array.isArray(base.contents) ? base.contents : []).filter(
    (item: { type?: unknown } | null) => !replaced.has(item?.type),
  );
  const first = prompt === undefined ? [] : placed.splice(0, 1);
  return { ...base, contents: [...first, ...kept, ...placed] };
}
