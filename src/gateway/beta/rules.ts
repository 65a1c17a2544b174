import { type Note, type Rule, takenByModel } from '../body.ts';
import { codePoints } from '../limits.ts';
import type { BetaO1Body, BetaO1Item, BetaTextBody } from './create.ts';
import {
  BETA_DEFAULT_DURATION_S,
  BETA_MAX_PROMPT,
  BETA_O1_MAX_PROMPT,
  BETA_RECOMMENDED_PROMPT,
  type BetaSettings,
  betaO1FirstFrameDurationsS,
  betaO1References,
  betaSettings,
  parseShots,
  shotBreaches,
  shotSyntaxBreach,
  shotsTotalS,
} from './modes.ts';

// The rules of family B between fields and per endpoint ("Family B endpoints").

const settingsRule = (mode: keyof typeof betaSettings) =>
  takenByModel<unknown, BetaSettings>(
    { name: `beta.settings-of-${mode.replace(' --', '-')}`, sentence: 'Family B endpoints' },
    betaSettings,
    () => mode,
    'beta ',
  );

const promptLength: Rule<BetaTextBody> = {
  name: 'beta.prompt-length',
  verdict: 'refuse',
  sentence: 'max 3,072 characters (2,500 recommended)',
  *check({ prompt }) {
    const length = codePoints(prompt);
    if (length <= BETA_MAX_PROMPT) return;
    yield { path: ['prompt'], message: `has ${length} characters, and may have at most ${BETA_MAX_PROMPT}` };
  },
};

const recommendedLength: Rule<BetaTextBody> = {
  name: 'beta.prompt-length-recommended',
  verdict: 'warn',
  sentence: 'max 3,072 characters (2,500 recommended)',
  *check({ prompt }) {
    const length = codePoints(prompt);
    if (length <= BETA_RECOMMENDED_PROMPT) return;
    const message = `has ${length} characters; at most ${BETA_RECOMMENDED_PROMPT} are recommended`;
    yield { path: ['prompt'], message };
  },
};

/** True if the gateway reads the prompt as shots: it has the shot syntax, and `multi_shot` is not false. */
const hasShots = ({ prompt, settings }: BetaTextBody): boolean =>
  settings?.multi_shot !== false &&
  parseShots(prompt) !== undefined &&
  shotSyntaxBreach(prompt) === undefined;

const shotRules = (endpoint: 'text' | 'turbo', sentence: string): Rule<BetaTextBody>[] => [
  {
    name: `beta.shots-of-${endpoint}`,
    verdict: 'refuse',
    sentence: `${sentence} … each shot prompt at most 512 characters`,
    *check(body) {
      if (hasShots(body)) yield* shotBreaches(body.prompt);
    },
  },
  {
    name: `beta.shots-fill-the-duration-of-${endpoint}`,
    verdict: 'refuse',
    sentence,
    *check(body) {
      const { prompt, settings } = body;
      const totalS = hasShots(body) && shotBreaches(prompt).next().done ? shotsTotalS(prompt) : undefined;
      const durationS = settings?.duration ?? BETA_DEFAULT_DURATION_S;
      if (totalS === undefined || totalS === durationS) return;
      const { min, max } = betaSettings.text.durationS;
      const isOutside = settings?.duration === undefined && (totalS < min || totalS > max);
      const rule = isOutside
        ? `: together they must be ${min}-${max} s`
        : ` and the video ${durationS} s: they must be equal`;
      yield { path: ['settings', 'duration'], message: `the shots are ${totalS} s together${rule}` };
    },
  },
  {
    name: `beta.fractional-shots-of-${endpoint}`,
    verdict: 'warn',
    remark: 'whether a second may be divided is not stated',
    *check(body) {
      const { shots = [] } = hasShots(body) ? (parseShots(body.prompt) ?? {}) : {};
      const at = shots.findIndex(({ seconds }) => seconds.includes('.'));
      if (at < 0) return;
      const message = `shot ${at + 1} has the length ${shots[at]?.seconds}, no whole second`;
      yield { path: ['prompt'], message };
    },
  },
];

export const plainRules: readonly Rule<BetaTextBody>[] = [
  settingsRule('text'),
  promptLength,
  ...shotRules('text', `up to six shots, each at least one second, totaling the duration`),
  {
    name: 'beta.shot-syntax-of-text',
    verdict: 'warn',
    remark: 'the document shows the syntax "shot n, m, words;" for the turbo endpoint',
    *check({ prompt, settings }) {
      const message = settings?.multi_shot === false ? undefined : shotSyntaxBreach(prompt);
      if (message !== undefined) yield { path: ['prompt'], message: `taken for words: ${message}` };
    },
  },
  recommendedLength,
];

export const turboRules: readonly Rule<BetaTextBody>[] = [
  settingsRule('text --turbo'),
  promptLength,
  {
    name: 'beta.shot-syntax-of-turbo',
    verdict: 'refuse',
    sentence: 'A multi-shot prompt uses the syntax shot n, m, words; with up to six shots',
    *check({ prompt }) {
      const message = shotSyntaxBreach(prompt);
      if (message !== undefined) yield { path: ['prompt'], message };
    },
  },
  ...shotRules(
    'turbo',
    'up to six shots; each shot at least one second, shot durations sum to settings.duration',
  ),
  recommendedLength,
];

/** Fills in the duration that the documented rules imply (the sum of the shots), unless the user gave one. */
export function fillBetaShots(body: Record<string, unknown>): Record<string, unknown> {
  const { prompt, settings = {} } = body;
  if (typeof prompt !== 'string' || typeof settings !== 'object' || settings === null) return body;
  if (Array.isArray(settings) || 'duration' in settings || !hasShots({ prompt, settings })) return body;
  const totalS = shotBreaches(prompt).next().done ? shotsTotalS(prompt) : undefined;
  const { min, max } = betaSettings.text.durationS;
  if (totalS === undefined || !Number.isInteger(totalS) || totalS < min || totalS > max) return body;
  return { ...body, settings: { ...settings, duration: totalS } };
}

type Type = BetaO1Item['type'];

const count = ({ contents }: BetaO1Body, ...types: Type[]): number =>
  contents.filter(({ type }) => types.includes(type)).length;

/** Makes a rule of O1 that forbids one type of item under a condition. */
const forbidden = (
  rule: Pick<Rule<BetaO1Body>, 'name' | 'sentence'>,
  type: Type,
  message: string,
  beside: (body: BetaO1Body) => boolean,
): Rule<BetaO1Body> => ({
  ...rule,
  verdict: 'refuse',
  *check(body) {
    if (count(body, type) > 0 && beside(body)) yield { path: ['contents', type], message };
  },
});

const named = ({ contents }: BetaO1Body) =>
  contents.flatMap((item, index) => ('id' in item && item.id !== undefined ? [{ index, id: item.id }] : []));

/** The rules of O1 ("O1 combination rules"). */
export const o1Rules: readonly Rule<BetaO1Body>[] = [
  settingsRule('o1'),
  {
    name: 'beta.o1-prompt-length',
    verdict: 'refuse',
    sentence: 'up to 2,500 characters',
    *check({ contents }) {
      for (const [index, item] of contents.entries()) {
        const length = item.type === 'prompt' ? codePoints(item.text) : 0;
        if (length <= BETA_O1_MAX_PROMPT) continue;
        const message = `has ${length} characters; a prompt item has at most ${BETA_O1_MAX_PROMPT}`;
        yield { path: ['contents', index, 'text'], message };
      }
    },
  },
  {
    name: 'beta.o1-one-of-each-frame',
    verdict: 'refuse',
    sentence: 'Only first-frame or first-plus-last-frame is supported',
    *check(body) {
      for (const type of ['first_frame', 'last_frame'] as const) {
        if (count(body, type) > 1) yield { path: ['contents', type], message: `at most one ${type}` };
      }
    },
  },
  forbidden(
    { name: 'beta.o1-last-frame-needs-a-first', sentence: '(last-frame-only is not)' },
    'last_frame',
    'a last frame needs a first frame',
    (body) => count(body, 'first_frame') === 0,
  ),
  forbidden(
    { name: 'beta.o1-no-images-with-both-frames', sentence: 'no other reference images with both frames' },
    'refer_image',
    'with a first and a last frame there are no other reference images',
    (body) => count(body, 'first_frame') > 0 && count(body, 'last_frame') > 0,
  ),
  forbidden(
    { name: 'beta.o1-feature-video', sentence: 'feature_video defines a first frame only' },
    'feature_video',
    'a feature video goes with a first frame only, not with a last frame',
    (body) => count(body, 'last_frame') > 0,
  ),
  forbidden(
    { name: 'beta.o1-base-video', sentence: 'base_video cannot define first or last frame' },
    'base_video',
    'a base video goes with neither first nor last frame',
    (body) => count(body, 'first_frame', 'last_frame') > 0,
  ),
  forbidden(
    { name: 'beta.o1-element', sentence: 'cannot be used with first/last-frame generation' },
    'element',
    'an element does not go with a first or last frame',
    (body) => count(body, 'first_frame', 'last_frame') > 0,
  ),
  {
    name: 'beta.o1-one-reference-video',
    verdict: 'refuse',
    sentence: 'at most one reference video',
    *check(body) {
      const videos = count(body, 'feature_video', 'base_video');
      const type = count(body, 'base_video') > 0 ? 'base_video' : 'feature_video';
      if (videos > 1)
        yield { path: ['contents', type], message: `at most one reference video, ${videos} given` };
    },
  },
  {
    name: 'beta.o1-images-and-elements',
    verdict: 'refuse',
    sentence: 'Image plus element count at most 7 without a reference video, 4 with one.',
    *check(body) {
      const given = count(body, 'first_frame', 'last_frame', 'refer_image', 'element');
      const hasVideo = count(body, 'feature_video', 'base_video') > 0;
      const most = hasVideo ? betaO1References.withVideo : betaO1References.withoutVideo;
      if (given <= most) return;
      const message = `at most ${most} images and elements ${hasVideo ? 'beside' : 'without'} a reference video, ${given} given`;
      const type = count(body, 'refer_image') > 0 ? 'refer_image' : 'element';
      yield { path: ['contents', type], message };
    },
  },
  {
    name: 'beta.o1-ids',
    verdict: 'refuse',
    sentence: '@id identifiers must be unique and must not contain one another',
    *check(body) {
      const ids = named(body);
      for (const [at, { index, id }] of ids.entries()) {
        for (const { id: before } of ids.slice(0, at)) {
          const message = idBreach(id, before);
          if (message !== undefined) yield { path: ['contents', index, 'id'], message };
        }
      }
    },
  },
  {
    name: 'beta.o1-aspect-ratio',
    verdict: 'refuse',
    sentence: 'required when there is no first frame and no reference video',
    *check(body): Generator<Note> {
      if (body.settings?.aspect_ratio !== undefined) return;
      if (count(body, 'first_frame', 'feature_video', 'base_video') > 0) return;
      const message = 'is required without a first frame or a reference video';
      yield { path: ['settings', 'aspect_ratio'], message };
    },
  },
  {
    name: 'beta.o1-first-frame-alone',
    verdict: 'refuse',
    sentence: 'first-frame-only input without other references supports only 5 or 10',
    *check({ contents, settings }) {
      const [reference, ...others] = contents.filter(({ type }) => type !== 'prompt');
      const durationS = settings?.duration ?? BETA_DEFAULT_DURATION_S;
      if (reference?.type !== 'first_frame' || others.length > 0) return;
      if (betaO1FirstFrameDurationsS.includes(durationS)) return;
      const message = `a first frame alone makes ${betaO1FirstFrameDurationsS.join(' or ')} seconds`;
      yield { path: ['settings', 'duration'], message };
    },
  },
  {
    name: 'beta.o1-custom-watermark',
    verdict: 'refuse',
    sentence: 'custom watermarks unsupported',
    *check({ options }) {
      const custom = Object.keys(options?.watermark_info ?? {}).find((name) => name !== 'enabled');
      if (custom === undefined) return;
      yield { path: ['options', 'watermark_info', custom], message: 'O1 takes no custom watermark' };
    },
  },
  {
    name: 'beta.o1-original-sound',
    verdict: 'warn',
    sentence: 'keep reference-video audio or none',
    *check(body) {
      if (body.settings?.audio !== 'original' || count(body, 'feature_video', 'base_video') > 0) return;
      yield { path: ['settings', 'audio'], message: 'there is no reference video whose sound could be kept' };
    },
  },
  {
    name: 'beta.o1-names-in-the-prompt',
    verdict: 'warn',
    sentence: 'per-task asset ID, referenced in the prompt as @id; unique',
    *check(body) {
      const ids = named(body);
      const texts = body.contents.flatMap((item) => (item.type === 'prompt' ? [item.text] : []));
      for (const [, name = ''] of texts.join('\n').matchAll(/(?<![\p{L}\p{N}._-])@([\p{L}\p{N}_-]+)/gu)) {
        if (ids.some(({ id }) => name.startsWith(id))) continue;
        yield { path: ['contents'], message: `the prompt says @${name}, and no item has that ID` };
      }
    },
  },
];

function idBreach(id: string, before: string): string | undefined {
  if (id === before) return 'two items have this ID: each needs one of its own';
  if (id.includes(before)) return `holds the ID ${before}: IDs must not contain one another`;
  return before.includes(id) ? `is held in the ID ${before}: IDs must not contain one another` : undefined;
}
