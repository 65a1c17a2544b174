import { codePoints } from '../code-points.ts';
import type { Note } from '../task.ts';
import {
  BETA_DEFAULT_DURATION_S,
  BETA_O1_MAX_PROMPT,
  betaO1FirstFrameDurationsS,
  betaO1References,
} from './modes.ts';
import type { BetaO1Body, BetaO1Item } from './o1.ts';

// The O1 combination rules ("Family B endpoints").

type Type = BetaO1Item['type'];

/** How many items there are of each type. */
function countsOf(contents: readonly BetaO1Item[]): (...types: Type[]) => number {
  return (...types) => contents.filter(({ type }) => types.includes(type)).length;
}

/** The rules between the items, and between items and settings: each breach names the field and the rule. */
export function* betaO1Breaches(body: BetaO1Body): Generator<Note> {
  const { contents, options } = body;
  for (const [index, item] of contents.entries()) {
    const length = item.type === 'prompt' ? codePoints(item.text) : 0;
    if (length > BETA_O1_MAX_PROMPT) {
      yield {
        path: ['contents', index, 'text'],
        message: `has ${length} characters; a prompt item has at most ${BETA_O1_MAX_PROMPT}`,
      };
    }
  }
  yield* frameBreaches(contents);
  yield* referenceBreaches(contents);
  yield* idBreaches(contents);
  yield* settingBreaches(body);
  const custom = Object.keys(options?.watermark_info ?? {}).filter((field) => field !== 'enabled');
  if (custom.length > 0) {
    yield { path: ['options', 'watermark_info', custom[0] ?? ''], message: 'O1 takes no custom watermark' };
  }
}

function* frameBreaches(contents: readonly BetaO1Item[]): Generator<Note> {
  const count = countsOf(contents);
  for (const type of ['first_frame', 'last_frame'] as const) {
    if (count(type) > 1) yield { path: ['contents', type], message: `at most one ${type}` };
  }
  const hasFirst = count('first_frame') > 0;
  const hasLast = count('last_frame') > 0;
  if (hasLast && !hasFirst) {
    yield { path: ['contents', 'last_frame'], message: 'a last frame needs a first frame' };
  }
  if (hasFirst && hasLast && count('refer_image') > 0) {
    yield {
      path: ['contents', 'refer_image'],
      message: 'with a first and a last frame there are no other reference images',
    };
  }
  if (hasLast && count('feature_video') > 0) {
    yield {
      path: ['contents', 'feature_video'],
      message: 'a feature video goes with a first frame only, not with a last frame',
    };
  }
  if ((hasFirst || hasLast) && count('base_video') > 0) {
    yield {
      path: ['contents', 'base_video'],
      message: 'a base video goes with neither first nor last frame',
    };
  }
  if ((hasFirst || hasLast) && count('element') > 0) {
    yield { path: ['contents', 'element'], message: 'an element does not go with a first or last frame' };
  }
}

function* referenceBreaches(contents: readonly BetaO1Item[]): Generator<Note> {
  const count = countsOf(contents);
  const videos = count('feature_video', 'base_video');
  if (videos > 1) {
    yield {
      path: ['contents', count('base_video') > 0 ? 'base_video' : 'feature_video'],
      message: `at most one reference video, ${videos} given`,
    };
  }
  const references = count('first_frame', 'last_frame', 'refer_image', 'element');
  const most = videos > 0 ? betaO1References.withVideo : betaO1References.withoutVideo;
  if (references > most) {
    yield {
      path: ['contents'],
      message: `at most ${most} images and elements ${videos > 0 ? 'beside' : 'without'} a reference video, ${references} given`,
    };
  }
}

/** "`@id` identifiers must be unique and must not contain one another." */
function* idBreaches(contents: readonly BetaO1Item[]): Generator<Note> {
  const named = contents.flatMap((item, index) =>
    'id' in item && item.id !== undefined ? [{ index, id: item.id }] : [],
  );
  for (const [at, { index, id }] of named.entries()) {
    for (const { id: before } of named.slice(0, at)) {
      const path = ['contents', index, 'id'];
      if (id === before) yield { path, message: 'two items have this ID: each needs one of its own' };
      else if (id.includes(before))
        yield { path, message: `holds the ID ${before}: IDs must not contain one another` };
      else if (before.includes(id))
        yield { path, message: `is held in the ID ${before}: IDs must not contain one another` };
    }
  }
}

function* settingBreaches({ contents, settings }: BetaO1Body): Generator<Note> {
  const count = countsOf(contents);
  const setsShape = count('first_frame', 'feature_video', 'base_video') > 0;
  if (!setsShape && settings?.aspect_ratio === undefined) {
    yield {
      path: ['settings', 'aspect_ratio'],
      message: 'is required where there is neither a first frame nor a reference video',
    };
  }
  const references = contents.filter(({ type }) => type !== 'prompt');
  const isFirstFrameAlone = references.length === 1 && references[0]?.type === 'first_frame';
  if ((settings as { multi_shot?: unknown } | undefined)?.multi_shot !== undefined) {
    yield { path: ['settings', 'multi_shot'], message: 'not a setting of O1' };
  }
  const durationS = settings?.duration ?? BETA_DEFAULT_DURATION_S;
  if (isFirstFrameAlone && !betaO1FirstFrameDurationsS.includes(durationS)) {
    yield {
      path: ['settings', 'duration'],
      message: `a first frame alone makes ${betaO1FirstFrameDurationsS.join(' or ')} seconds`,
    };
  }
}

/** What is allowed but likely not meant. */
export function* betaO1Warnings({ contents, settings }: BetaO1Body): Generator<Note> {
  const count = countsOf(contents);
  if (settings?.audio === 'original' && count('feature_video', 'base_video') === 0) {
    yield { path: ['settings', 'audio'], message: 'there is no reference video whose sound could be kept' };
  }
  const ids = contents.flatMap((item) => ('id' in item && item.id !== undefined ? [item.id] : []));
  const texts = contents.flatMap((item) => (item.type === 'prompt' ? [item.text] : []));
  for (const [, name = ''] of texts.join('\n').matchAll(/(?<![\p{L}\p{N}._-])@([\p{L}\p{N}_-]+)/gu)) {
    if (!ids.some((id) => name.startsWith(id))) {
      yield { path: ['contents'], message: `the prompt says @${name}, and no item has that ID` };
    }
  }
}
