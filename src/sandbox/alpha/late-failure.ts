import type { AlphaCreateBody } from '../../gateway/alpha/create.ts';
import { AUTO_DURATION, alphaModels } from '../../gateway/alpha/models.ts';
import { SENSITIVE_OUTPUT_WORD } from '../prompt-words.ts';

/** A failure that shows only after the task was accepted. */
export interface LateFailure {
  readonly code: string;
  readonly message: string;
  /** Whether it ends the task early in its run, or at the end. */
  readonly when: 'early' | 'end';
}

const promptOf = (body: AlphaCreateBody) =>
  body.content.map((item) => (item.type === 'text' ? item.text : '')).join('\n');

/**
 * What goes wrong with a request that was accepted: on 2.5 the task type is inferred from prompt and assets, and its
 * constraints are checked after the start ("2.5 task constraints"); a sensitive output is found at the end.
 */
export function lateFailure(body: AlphaCreateBody): LateFailure | undefined {
  const prompt = promptOf(body);
  const constraint = brokenConstraint(body, prompt);
  if (constraint) return { code: 'InvalidParameter.TaskTypeConstraint', message: constraint, when: 'early' };
  if (!prompt.includes(SENSITIVE_OUTPUT_WORD)) return undefined;
  return {
    code: 'OutputVideoSensitiveContentDetected',
    message: 'The output video may contain sensitive content.',
    when: 'end',
  };
}

function brokenConstraint(body: AlphaCreateBody, prompt: string): string | undefined {
  const { ratio, duration, omni_reference_task_type: task = 'auto' } = body;
  const hasVideo = body.content.some((item) => item.type === 'video_url');
  if (alphaModels[body.model]?.version !== '2.5' || task !== 'auto' || !hasVideo) return undefined;
  const edits = /\b(edit|replac(e|ing))/i.test(prompt);
  if (!edits && !/\bexten(d|sion)/i.test(prompt)) return undefined;
  const named = edits ? 'video editing' : 'video extension';
  if (ratio !== 'adaptive') return `The task was taken as ${named}, which requires ratio adaptive.`;
  if (edits && duration !== AUTO_DURATION)
    return `The task was taken as ${named}, which requires duration -1.`;
  return undefined;
}
