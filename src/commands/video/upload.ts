import * as path from 'node:path';
import { firstLineOf } from '../../config/keys.ts';
import type { Context } from '../../context.ts';
import { sha256OfFile } from '../../disk/small-file.ts';
import { usage } from '../../errors.ts';
import { once } from '../../host.ts';
import { bytesText, durationText } from '../../io/quantity-text.ts';
import { checkMedia, checkModality, checkTotals } from '../../media/check.ts';
import { type MediaFacts, probeFile } from '../../media/probe.ts';
import { shorten } from '../../media/reference.ts';
import { type MediaInput, type ResolveDeps, referenceOf } from '../../media/resolve.ts';
import { askFirst, canAsk } from '../ask-first.ts';

// Uploads local files that an endpoint takes only by address, if the user has set `upload_command`. Each file is
// checked, a placeholder address passes the other checks, and the upload comes last, when nothing else can fail.

/** A file that is to be uploaded. */
export interface Upload {
  /** The placeholder for the file's future address in the body. */
  readonly standIn: string;
  readonly file: string;
  readonly flag: string;
  /** The flag and its value, for messages: `--video clip.mp4`. */
  readonly named: string;
  readonly sha256: string;
  /** The name in the ledger and for people. */
  readonly label: string;
  /** Gets the link of a job's output, which needs no upload. */
  readonly link?: (() => Promise<string>) | undefined;
  readonly facts: MediaFacts;
}

/**
 * Finds the files that an endpoint takes only by address, and checks them: outputs of jobs, and other files if there
 * is an upload command. Throws `usage` for a file that cannot be read.
 */
export async function planUploads(
  inputs: readonly MediaInput[],
  { totalS, hasCommand }: { readonly totalS: number | undefined; readonly hasCommand: boolean },
  deps: ResolveDeps,
) {
  /** The key is the position of the reference. */
  const uploads = new Map<number, Upload>();
  const breaches: string[] = [];
  for (const [at, input] of inputs.entries()) {
    const { raw, flag, modality, takes, limits, output } = input;
    const reference = referenceOf(input);
    if (reference.kind !== 'file' || takes.base64 || !takes.url || !(output?.link ?? hasCommand)) continue;
    const file = path.resolve(deps.cwd, reference.path);
    const named = `${flag} ${shorten(raw, 200)}`;
    const facts = await probeFile(file, named, { ...deps, modality });
    const wrongKind = checkModality(facts, modality, named);
    breaches.push(...(wrongKind.length > 0 ? wrongKind : checkMedia(facts, limits ?? {}, named)));
    const sha256 = await sha256OfFile(file);
    const standIn = `https://upload.invalid/${sha256}/${encodeURIComponent(path.basename(file))}`;
    const label = output?.label ?? path.basename(file);
    uploads.set(at, { standIn, file, flag, named, sha256, label, link: output?.link, facts });
  }
  if (totalS !== undefined) breaches.push(...checkTotals([...uploads.values()], totalS));
  return {
    /** The references, with a placeholder for each file that is to be uploaded. */
    inputs: inputs.map((input, at) => {
      const { standIn } = uploads.get(at) ?? {};
      return standIn === undefined ? input : { ...input, raw: standIn, output: undefined };
    }),
    uploads,
    breaches,
  };
}

type Body = Readonly<Record<string, unknown>>;

/**
 * Returns a function that uploads the files on its first call, after one question, and puts their addresses into a
 * body. Throws `usage` if no question can be asked and --yes is missing. The returned function throws `usage` if the
 * answer is no, or if the command fails or prints no https:// address.
 */
export function uploader(
  uploads: readonly Upload[],
  yes: boolean,
  ctx: Context,
): (body: Body) => Promise<Body> {
  const asking = uploads.filter(({ link }) => !link);
  const [first] = asking;
  // A batch never asks, because its rows are made side by side.
  const mayAsk = canAsk(ctx) && ctx.followers === undefined;
  if (first && !yes && !mayAsk)
    throw usage(
      `${first.named}: upload_command would upload it, and there is no terminal to ask on`,
      'add --yes to upload it without a question',
    );
  const addresses = once(async () => {
    if (!yes && first) await ask(asking, ctx);
    const found = new Map<string, string>();
    for (const upload of uploads) {
      const { standIn, link } = upload;
      if (!found.has(standIn)) found.set(standIn, await (link?.() ?? addressOf(upload, ctx)));
    }
    return found;
  });
  return async (body) => withAddresses(body, await addresses()) as Body;
}

async function ask(uploads: readonly Upload[], ctx: Context): Promise<void> {
  ctx.signal.throwIfAborted();
  const names = [...new Set(uploads.map(({ file }) => path.basename(file)))].join(', ');
  const bytes = uploads.reduce((sum, { facts }) => sum + facts.bytes, 0);
  const question = `Upload ${names} (${bytesText(bytes)}) by upload_command, for the gateway to fetch?`;
  await askFirst(question, ctx, 'nothing was uploaded, and nothing was sent');
}

const LONGEST_UPLOAD_MS = 600_000;

async function addressOf({ file, named, facts }: Upload, ctx: Context): Promise<string> {
  const settings = await ctx.settings();
  const stopWaiting = ctx.io.awaiting(`uploading ${path.basename(file)}, ${bytesText(facts.bytes)}`);
  let line: string;
  try {
    line = await firstLineOf(
      {
        command: settings.uploadCommand.value ?? '',
        what: `${named}: the upload command`,
        setting: 'upload_command',
        gives: 'address',
        kind: 'usage',
        env: { GW_FILE: file },
        longestMs: LONGEST_UPLOAD_MS,
        onSlow: () =>
          ctx.io.note(
            `${named}: the upload command still runs; it is ended after ${durationText(LONGEST_UPLOAD_MS)}`,
          ),
      },
      { ...ctx.host, env: settings.childEnvironment() },
    );
  } catch (error) {
    ctx.signal.throwIfAborted();
    throw error;
  } finally {
    stopWaiting();
  }
  const address = line.trim();
  if (/^https:\/\/[^\s\p{Cc}]+$/u.test(address) && URL.canParse(address)) return address;
  throw usage(
    `${named}: the upload command printed no https:// address`,
    'the first line of its stdout is to be the address; gw config get upload_command shows it',
  );
}

function withAddresses(value: unknown, addresses: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return addresses.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each) => withAddresses(each, addresses));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withAddresses(each, addresses)]),
  );
}
