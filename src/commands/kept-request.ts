import * as path from 'node:path';
import { absoluteReferences } from '../batch/rows.ts';
import type { FlagSet, FlagValues } from '../flags/flag.ts';
import type { KeptRequest } from '../ledger/event.ts';
import { parseReference } from '../media/reference.ts';

/** A create as it was typed. */
export interface TypedRequest {
  readonly command: string;
  /** The flags that make the request; the others say how it is made, waited for and saved. */
  readonly takes: FlagSet;
  readonly typed: FlagValues<FlagSet>;
  /** As it was settled: the default of today is not that of another day. */
  readonly model: string;
  readonly prompted: boolean;
  readonly base: Readonly<Record<string, unknown>> | undefined;
  readonly sets: readonly string[] | undefined;
  readonly cwd: string;
  readonly media: readonly {
    readonly raw: string;
    readonly flag: string;
    readonly sha256: string | undefined;
  }[];
}

/** What the ledger keeps of a create for `gw again`: all but its external ID, which is of one task. */
export function keptRequest(request: TypedRequest): KeptRequest {
  const { command, takes, typed, model, prompted, base, sets, cwd, media } = request;
  const entries = Object.entries(typed).filter(([key]) => key !== 'externalId' && Object.hasOwn(takes, key));
  const names = Object.hasOwn(takes, 'model') && typed.model === undefined && base?.model === undefined;
  const flags = { ...Object.fromEntries(entries), ...(names && { model }) };
  const files = media.flatMap(({ raw, flag, sha256 }): [string, string][] => {
    const reference = sha256 === undefined ? undefined : parseReference(raw, flag);
    return sha256 !== undefined && reference?.kind === 'file'
      ? [[path.resolve(cwd, reference.path), sha256]]
      : [];
  });
  return {
    command,
    flags: absoluteReferences(flags, takes, cwd),
    ...(sets && { set: sets.filter((set) => !/^options\.external_task_id[.=]/.test(set)) }),
    ...(base && { body: withoutExternalId(base) }),
    prompted,
    files: Object.fromEntries(files),
  };
}

function withoutExternalId(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { options } = body;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return body;
  const { external_task_id: _, ...rest } = options as Record<string, unknown>;
  return { ...body, options: rest };
}
