import type { Context } from '../../context.ts';
import { breachesOf, type FlagOfPath, refuseOrWarn } from '../../flags/breaches.ts';
import { type FlagSet, type FlagValues, flagName } from '../../flags/flag.ts';
import type { CreateBody } from './create-body.ts';
import type { VideoCreate } from './create-spec.ts';
import { breachesUnlessListed } from './unlisted-model.ts';

/** Refuses what breaks a documented rule (a warning with --no-validate), and warns of what is odd. Throws `usage`. */
export async function checkCreate<F extends FlagSet>(
  spec: VideoCreate<F>,
  typed: FlagValues<F>,
  { body, resolved }: CreateBody,
  flagOf: FlagOfPath,
  ctx: Context,
): Promise<void> {
  const validate = ctx.globals.validate === undefined;
  refuseOrWarn(resolved.breaches, validate, ctx.io);
  const breaches = await breachesUnlessListed(
    (verdict) => breachesOf(spec.schemaOf(typed), body, flagOf, verdict),
    { model: body.model, known: spec.knownModels },
    ctx,
  );
  refuseOrWarn(breaches, validate, ctx.io);
  for (const { path, message } of spec.warnings(body, typed)) {
    ctx.io.warn([flagOf(path), message].filter(Boolean).join(': '));
  }
}

/** A flag is named only where it was typed, or is missing: a body or a profile may have set the field. */
export function typedFlagOf<F extends FlagSet>(
  spec: VideoCreate<F>,
  given: object,
  args: readonly string[],
  body: Record<string, unknown>,
): FlagOfPath {
  return (path) => {
    const name = spec.flagOf(path, body);
    const isTyped = Object.keys(given).some((key) => flagName(key) === name);
    const isMissing = isAbsent(body, path);
    return isTyped || isMissing || (name === '--prompt' && args.length > 0) ? name : undefined;
  };
}

/** Whether nothing stands at a path of fields; what lies in a list is not asked for. */
function isAbsent(body: unknown, path: readonly PropertyKey[]): boolean {
  let here = body;
  for (const key of path) {
    if (here === undefined) return true;
    if (typeof here !== 'object' || here === null || Array.isArray(here)) return false;
    here = Object.hasOwn(here, key) ? (here as Record<PropertyKey, unknown>)[key] : undefined;
  }
  return here === undefined;
}
