import * as path from 'node:path';
import { type Row, readWritten } from '../../batch/rows.ts';
import type { Settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { leaves } from '../../disk/confined-path.ts';
import { placeFiles } from '../../flags/body-flags.ts';
import { flagName } from '../../flags/flag.ts';
import {
  budgetFlags,
  countFlags,
  onceFlags,
  pollFlags,
  promptFlags,
  saveFlags,
  waitFlags,
} from '../../flags/job-flags.ts';
import type { WithStored } from '../../flags/yielding.ts';
import type { MadeJob } from '../../jobs/create/make.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { KeptRequest } from '../../ledger/event.ts';
import { trimIntent, withoutSecrets } from '../../ledger/serialize.ts';
import type { CarriedJob, RowRecord } from '../../machines/row.ts';
import { pinned } from '../../shots/outputs.ts';
import { familyOf } from '../batch/places.ts';
import { type CheckedRow, creates, type RowFiles } from '../batch/row-command.ts';

// A request is checked on one machine, travels over the queue, and is stored by another as if it had been made there.

/**
 * Adds to a row what a worker may have set differently: the profile's models, global flags, and whether the output path
 * is a folder here.
 */
export function forOthers(row: Row, { models, sidecar }: Settings, { host, globals }: Context): Row {
  const { command, flags, body, said, ownOut } = row;
  const kind = familyOf(command);
  const isSaid = flags.model !== undefined || body?.model !== undefined;
  const [, stored] = Object.entries(models).find(([family]) => family === kind) ?? [];
  const model = isSaid || !creates[command]?.model ? undefined : stored?.value;
  const { out } = flags;
  const isFolder =
    typeof out === 'string' && !ownOut && !out.endsWith('/') && planTarget(out, host.cwd).endsWith(path.sep);
  const folder = { out: `${out}/` };
  return {
    ...row,
    ...(isFolder && { flags: { ...flags, ...folder }, said: { ...said, ...folder } }),
    pinned: {
      model,
      ...(sidecar.value && { sidecar: true }),
      ...(globals.validate === false && { validate: false }),
    },
  };
}

/** The row as a worker will read it, without profile defaults that have yielded to the row's own fields. */
export function rowForQueue(row: Row, request: KeptRequest | undefined): Row {
  const kept = request?.flags;
  const stored = (row.flags as WithStored).stored ?? [];
  const gone = stored.filter(
    (key) => kept && !Object.hasOwn(kept, key) && !howKeys.has(key) && key !== 'model',
  );
  const names = gone.map((key) => flagName(key).slice(2));
  const said = Object.entries(row.said ?? {}).filter(([name]) => !names.includes(name));
  return readWritten({ ...row, said: Object.fromEntries(said) }, creates);
}

/** The checked request of a row in the form for the queue. */
export async function carriedCheck(
  row: Row,
  { request: { intent }, fields }: CheckedRow,
  { dir, confined }: RowFiles,
  { io }: Pick<Context, 'io'>,
): Promise<CarriedJob> {
  const kept = trimIntent(
    withoutSecrets(intent, (text) => io.withoutSecrets(text)),
    true,
  );
  const { endpoint, model, prompt, settings, media, references, request } = kept;
  const files: Record<string, string> = {};
  placeFiles(row.flags, creates[row.command] ?? {}, (name, flag) => {
    const sha256 = request?.files[path.resolve(dir, confined(name, flag))];
    if (sha256 !== undefined) files[name] = sha256;
    return name;
  });
  // The worker that creates the row will resolve the outputs of other rows.
  const outputs = outputsIn(request, /^job:/i);
  const ownPrompt = request?.flags.prompt as string | undefined;
  const asked = { endpoint, model, prompt, ownPrompt, settings, media, references };
  return { ...asked, fields: await fields(), files, outputs, attempt: 1 };
}

/** The outputs that a request uses, limited to references that match `like`. */
const outputsIn = (request: KeptRequest | undefined, like: RegExp): CarriedJob['outputs'] => {
  const found = Object.entries(request?.outputs ?? {}).filter(([word]) => like.test(word));
  return found.length > 0 ? Object.fromEntries(found) : undefined;
};

/** The parts of a job that another machine needs to continue it. */
export function carriedJob(
  { key, endpoint, model, prompt, settings, media, references, once, externalId, request }: MadeJob,
  { job }: Pick<RowRecord, 'job'>,
): CarriedJob {
  const { attempt = 1, fields = {} } = once ?? {};
  const kept = { key, endpoint, model, settings, media, references, externalId, attempt, fields };
  const ownPrompt = job?.ownPrompt ?? (request?.flags.prompt as string | undefined);
  // The ledger may be set to store no prompts.
  const outputs = outputsIn(request, /./s) ?? job?.outputs;
  return { files: {}, ...job, ...kept, prompt: prompt ?? job?.prompt, ownPrompt, outputs };
}

/** Flags that say how a request is created, waited for and saved, and are not part of it. */
const howKeys = new Set(
  [promptFlags, waitFlags, pollFlags, saveFlags, onceFlags, countFlags, budgetFlags]
    .flatMap((flags) => Object.keys(flags))
    .concat('yes', 'preview', 'externalId', 'stored'),
);

/** The request for `gw again`, on a machine where the row's files are below `root`. */
export function requestOf(row: Row, { ownPrompt, files, outputs }: CarriedJob, root: string): KeptRequest {
  const { command, flags, set, body, pinned: { model } = {} } = row;
  const asked = Object.entries({ ...(model !== undefined && { model }), ...flags });
  const at = (file: string) => path.resolve(root, file);
  const own = ownPrompt !== undefined && { prompt: ownPrompt };
  const makes = { ...Object.fromEntries(asked.filter(([key]) => !howKeys.has(key))), ...own };
  const found = Object.entries(outputs ?? {}).map(([raw, label]) => ({ raw, output: { label, asked: raw } }));
  return {
    command,
    flags: pinned(placeFiles(makes, creates[command] ?? {}, at), found),
    ...(outputs && { outputs }),
    ...(set.length > 0 && { set }),
    ...(body && { body }),
    prompted: flags.prompt !== undefined || flags.promptFile !== undefined,
    files: Object.fromEntries(
      Object.entries(files).flatMap(([file, sha256]) => (leaves(file) ? [] : [[at(file), sha256]])),
    ),
  };
}
