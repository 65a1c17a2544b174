import { defineCommand } from '../../command.ts';
import type { FlagSet, FlagValues } from '../../flags/flag.ts';
import { pollFlags, promptFlags, saveFlags, waitFlags } from '../../flags/job-flags.ts';
import { identifyBody } from '../../jobs/external-id.ts';
import { showInstead } from '../show-instead.ts';
import { checkCreate, typedFlagOf } from './check-create.ts';
import { readCreateBody } from './create-body.ts';
import type { SharedValues, VideoCreate } from './create-spec.ts';
import { type JobResult, jobLines } from './follow-job.ts';
import { sendAndFollow } from './send-and-follow.ts';

export type { BodyInput, VideoCreate } from './create-spec.ts';

// `gw video FAMILY create`, written once: what the families differ in arrives as data and pure functions.

/** The create command of a family: argv -> body -> job on disk -> reply, and with --wait the outputs on disk. */
export function videoCreate<F extends FlagSet>(spec: VideoCreate<F>) {
  const flags = { ...promptFlags, ...spec.flags, ...waitFlags, ...pollFlags, ...saveFlags };
  return defineCommand<typeof flags, JobResult>({
    args: { name: 'PROMPT', summary: 'the prompt, as words', many: true },
    flags,
    examples: spec.examples,
    ...(spec.notes && { notes: spec.notes }),
    sends: 'body',
    human: (result, _, failed) => jobLines(result, failed),
    async run({ args, flags: given }, ctx) {
      const flags = given as SharedValues;
      const settings = await ctx.settings();
      const typed = given as unknown as FlagValues<F>;
      const words = { args, flag: flags.prompt };
      const made = await readCreateBody(spec, typed, words, settings, ctx);
      const flagOf = typedFlagOf(spec, given, args, made.body);
      await checkCreate(spec, typed, made, flagOf, ctx);
      const endpoint = spec.endpointOf(typed);
      const identified = identifyBody(spec.family, made.body);
      const shown = await showInstead(endpoint, { body: identified.body }, ctx);
      if (shown !== undefined) return { value: shown };
      const checkFirst = async () => {
        if (ctx.globals.validate === undefined) await spec.checkFirst?.(made.body, flagOf, ctx);
      };
      const { model, resolved } = made;
      const media = resolved.items;
      return sendAndFollow({ spec, endpoint, model, ...identified, media, flags, settings, checkFirst }, ctx);
    },
  });
}
