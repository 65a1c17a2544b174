import type * as z from 'zod';
import { type AnyCommand, defineCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { breachesOf, type FlagOfPath, refuseOrWarn } from '../../flags/breaches.ts';
import { type FlagSet, type FlagValues, flagName } from '../../flags/flag.ts';
import { applySets, readJsonBody } from '../../flags/json-body.ts';
import { nearest } from '../../flags/nearest.ts';
import { readPrompt, refuseSharedStdin } from '../../flags/prompt.ts';
import type { Note } from '../../gateway/body.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { imageModels } from '../../gateway/image/models.ts';
import type { MediaInput } from '../../media/resolve.ts';
import { checkModel } from '../../models/check-model.ts';
import { showInstead } from '../show-instead.ts';
import type { JobResult } from '../video/follow-job.ts';
import { planOutput } from './plan-output.ts';
import { showPreviews } from './preview.ts';
import { standInFor } from './references.ts';
import { requestInput } from './request-input.ts';
import { sendImages } from './send-images.ts';

// `gw image create`, `edit` and `native`, written once: what they differ in arrives as data and pure functions.

export interface ImageBodyInput<F extends FlagSet> {
  /** The body of --body, or empty. */
  readonly base: Readonly<Record<string, unknown>>;
  readonly flags: FlagValues<F>;
  readonly prompt: string | undefined;
  readonly model: string;
  readonly media: readonly { readonly input: MediaInput; readonly url: string }[];
}

export interface ImageCommand<F extends FlagSet> {
  readonly endpoint: Endpoint;
  readonly schema: z.ZodType;
  readonly flags: F;
  /** Whether images alone make a request. */
  readonly promptIsOptional: boolean;
  /** Whether local files can go out as a form. */
  readonly takesForm: boolean;
  references(flags: FlagValues<F>): MediaInput[];
  body(input: ImageBodyInput<F>): Record<string, unknown>;
  /** Adds what the documented rules imply. */
  fill(body: Record<string, unknown>): Record<string, unknown>;
  warnings(body: Readonly<Record<string, unknown>>): readonly Note[];
  /** The key of the flag that a field of the body comes from. */
  flagKeyOf(path: readonly PropertyKey[]): string | undefined;
  /** What fills the endpoint's path, where the model stands there and not in the body. */
  params?(model: string): Readonly<Record<string, string>>;
  readonly examples: readonly string[];
  readonly notes: readonly string[];
}

/** The flags that every image command has, or that only some have. */
interface SharedValues {
  readonly prompt?: string;
  readonly model?: string;
  readonly out?: string;
  readonly force?: boolean;
  readonly preview?: boolean;
  readonly keepPartials?: boolean;
  readonly multipart?: boolean;
}

/** An image command: argv -> body -> job on disk -> reply -> images on disk. */
export function imageCommand<const F extends FlagSet>(spec: ImageCommand<F>): AnyCommand {
  return defineCommand<F, JobResult>({
    args: { name: 'PROMPT', summary: 'the prompt, as words', many: true },
    flags: spec.flags,
    examples: spec.examples,
    notes: spec.notes,
    sends: 'body',
    human: (result) => result.files.map((file) => `${file.path}\n`).join(''),
    async run({ args, flags: typed, globals }, ctx) {
      const flags = typed as SharedValues;
      const settings = await ctx.settings();
      const { body: bodyFile, apiKeyFile, set = [] } = globals;
      const { assetsDir, cwd, stdin } = ctx.host;
      refuseSharedStdin({ '--api-key-file': apiKeyFile, '--body': bodyFile, '--prompt': flags.prompt });
      const base =
        bodyFile === undefined ? {} : await readJsonBody(bodyFile, { cwd, stdin, signal: ctx.signal });
      const model =
        flags.model ?? (typeof base.model === 'string' ? base.model : settings.models.image.value);
      const references = spec.references(typed);
      const isBegun = bodyFile !== undefined || set.length > 0;
      const prompt = await readPrompt(
        {
          words: args,
          flag: flags.prompt,
          optional: isBegun || (spec.promptIsOptional && references.length > 0),
          mayReadStdin: bodyFile === undefined && apiKeyFile !== '-',
        },
        ctx,
      );
      const bodyWith = (urls: readonly string[]) => {
        const media = references.map((input, index) => ({ input, url: urls[index] ?? input.raw }));
        return spec.fill(applySets(spec.body({ base, flags: typed, prompt, model, media }), set));
      };

      // Whatever is wrong is said before a file is read: the body is checked with stand-ins for the files.
      const planned = bodyWith(references.map(standInFor));
      const images = typeof planned.n === 'number' ? planned.n : 1;
      checkBody({ spec, body: planned, typed, hasWords: args.length > 0 }, ctx);
      const plan = planOutput(flags, images, settings.out.value, ctx);
      if (flags.keepPartials && !(Number(planned.partial_images) > 0)) {
        throw usage('--keep-partials: no partial images are asked for', 'add --partial-images N');
      }

      const { input, media, breaches } = await requestInput({
        planned,
        bodyWith,
        references,
        asForm: spec.takesForm ? flags.multipart : false,
        takesForm: spec.takesForm,
        base,
        sets: set,
        params: spec.params?.(model),
        validate: globals.validate === undefined,
        deps: { cwd, assetsDir, signal: ctx.signal },
      });
      refuseOrWarn(breaches, globals.validate === undefined, ctx.io);
      const shown = await showInstead(spec.endpoint, input, ctx);
      if (shown !== undefined) return { value: shown };
      await checkModel(
        typeof planned.model === 'string' ? planned.model : model,
        Object.keys(imageModels),
        ctx,
      );
      const outcome = await sendImages(
        {
          endpoint: spec.endpoint,
          input,
          body: planned,
          model: typeof planned.model === 'string' ? planned.model : model,
          prompt: typeof planned.prompt === 'string' ? planned.prompt : prompt,
          media,
          images,
          plan,
          keepPartials: flags.keepPartials ?? false,
          settings,
        },
        ctx,
      );
      if (flags.preview) await showPreviews(outcome.files, ctx);
      return outcome.result;
    },
  });
}

interface BodyCheck {
  readonly spec: Pick<ImageCommand<FlagSet>, 'schema' | 'flagKeyOf' | 'warnings'>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly typed: object;
  readonly hasWords: boolean;
}

/** Refuses a body that breaks a documented rule, and says what is allowed but likely not meant. */
function checkBody({ spec, body, typed, hasWords }: BodyCheck, { io, globals }: Context): void {
  // A flag is named where it was typed, and where it would set what is missing: a body or a profile may have set the
  // field.
  const flagOf: FlagOfPath = (path) => {
    const key = spec.flagKeyOf(path);
    if (key === undefined) return undefined;
    const isMissing = path.length === 1 && body[String(path[0])] === undefined;
    return isMissing || key in typed || (key === 'prompt' && hasWords) ? flagName(key) : undefined;
  };
  refuseOrWarn(breachesOf(spec.schema, body, flagOf), globals.validate === undefined, io);
  for (const { path, message, known = [] } of spec.warnings(body)) {
    const [near] = nearest(String(body.model), known, 1);
    const where = [flagOf(path) ?? path.join('.'), ...(near === undefined ? [] : [String(body.model)])].join(
      ' ',
    );
    io.warn(`${where}: ${message}${near === undefined ? '' : `; did you mean ${near}?`}`);
  }
}
