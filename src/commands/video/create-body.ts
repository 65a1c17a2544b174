import type { Settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import type { FlagSet, FlagValues } from '../../flags/flag.ts';
import { applySets, readJsonBody } from '../../flags/json-body.ts';
import { readPrompt, refuseSharedStdin } from '../../flags/prompt.ts';
import { resolveMedia } from '../../media/resolve.ts';
import type { VideoCreate } from './create-spec.ts';

/** A body as it was asked for, not yet checked. */
export interface CreateBody {
  readonly body: Record<string, unknown>;
  /** What the flags say the model is; the body's own word goes before it. */
  readonly model: string;
  readonly resolved: Awaited<ReturnType<typeof resolveMedia>>;
}

/** Flags, --body and --set, prompt and media -> the body. Throws `usage` for what cannot be read. */
export async function readCreateBody<F extends FlagSet>(
  spec: VideoCreate<F>,
  typed: FlagValues<F>,
  words: { readonly args: readonly string[]; readonly flag: string | undefined },
  settings: Settings,
  ctx: Context,
): Promise<CreateBody> {
  const { globals } = ctx;
  const { body: bodyFile, apiKeyFile } = globals;
  refuseSharedStdin({ '--api-key-file': apiKeyFile, '--body': bodyFile, '--prompt': words.flag });
  const base =
    globals.body === undefined
      ? {}
      : await readJsonBody(globals.body, {
          cwd: ctx.host.cwd,
          stdin: ctx.host.stdin,
          signal: ctx.signal,
        });
  const model = spec.modelOf(typed, base, settings);
  const inputs = spec.media(typed, model);
  const need = spec.promptNeed?.(typed) ?? 'required';
  const prompt = await readPrompt(
    {
      words: words.args,
      flag: words.flag,
      optional:
        need !== 'required' || inputs.length > 0 || bodyFile !== undefined || globals.set !== undefined,
      mayReadStdin: need !== 'given' && bodyFile === undefined && apiKeyFile !== '-',
    },
    ctx,
  );
  const resolved = await resolveMedia(
    inputs,
    {
      maxBodyBytes: spec.endpointOf(typed).maxBodyBytes,
      totalS: spec.totalReferenceS(model),
      validate: globals.validate === undefined,
    },
    { cwd: ctx.host.cwd, assetsDir: ctx.host.assetsDir, signal: ctx.signal },
  );
  const media = inputs.map((input, index) => ({ input, url: resolved.items[index]?.url ?? input.raw }));
  const body = spec.fill(
    applySets(spec.body({ base, flags: typed, prompt, media, model }), globals.set ?? []),
    typed,
  );
  return { body, model, resolved };
}
