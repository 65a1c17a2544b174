import * as path from 'node:path';
import { sha256OfFile } from '../../disk/small-file.ts';
import { usage } from '../../errors.ts';
import { EDIT_IMAGE_FIELD, EDIT_MASK_FIELD, editFormTexts } from '../../gateway/image/create.ts';
import type { RequestInput } from '../../http/client.ts';
import { type MultipartBody, type MultipartField, multipartBody } from '../../http/multipart-body.ts';
import type { KeptReference } from '../../ledger/event.ts';
import { checkModality } from '../../media/check.ts';
import { probeFile } from '../../media/probe.ts';
import { shorten } from '../../media/reference.ts';
import { type MediaInput, planOf, type ResolveDeps, referenceOf, resolveMedia } from '../../media/resolve.ts';
import { askedOf, shownOf } from '../../shots/outputs.ts';

interface InputPlan {
  /** The body with a placeholder for each file. */
  readonly planned: Readonly<Record<string, unknown>>;
  /** Makes the body with the address of each reference. */
  bodyWith(urls: readonly string[]): Record<string, unknown>;
  readonly references: readonly MediaInput[];
  /** True for `--multipart`, false for `--no-multipart` or an endpoint without forms, else undefined. */
  readonly asForm: boolean | undefined;
  /** True if the endpoint accepts a form. */
  readonly takesForm: boolean;
  /** The values of --body and --set; a form cannot carry images from there. */
  readonly base: Readonly<Record<string, unknown>>;
  readonly sets: readonly string[];
  readonly params: Readonly<Record<string, string>> | undefined;
  readonly validate: boolean;
  readonly deps: ResolveDeps;
}

interface ReadyInput {
  readonly input: RequestInput;
  /** The input to print (`shown`) and to compare by key (`asked`): an output of a job appears by its name. */
  readonly shown: RequestInput;
  readonly asked: RequestInput;
  /** Each input image as a name, a URL without query, or a digest. */
  readonly media: readonly KeptReference[];
  readonly breaches: readonly string[];
}

/**
 * Makes the input that is sent: a form with the files themselves, or JSON with Base64. Throws `usage` for a reference
 * that is malformed, missing, unreadable, or no local file although --multipart is given.
 */
export async function requestInput(plan: InputPlan): Promise<ReadyInput> {
  const { planned, references, params, deps } = plan;
  const shared = { ...(params && { params }), ...(planned.stream === true && { stream: true }) };
  if (goesAsForm(plan)) {
    const { multipart, media, breaches } = await editForm(planned, references, deps);
    const told = (tell: typeof shownOf) => ({ ...shared, multipart: formWith(multipart, references, tell) });
    return { input: { ...shared, multipart }, shown: told(shownOf), asked: told(askedOf), media, breaches };
  }
  const canBeForm = plan.takesForm && references.every(isLocalFile);
  const { items, breaches } = await resolveMedia(
    references,
    {
      validate: plan.validate,
      ...(canBeForm && { hintIfTooLarge: 'with --multipart, files of any size are sent as they are' }),
    },
    deps,
  );
  const told = (tell: typeof shownOf) => ({
    ...shared,
    body: plan.bodyWith(items.map(({ url }, at) => tell(references[at] as MediaInput, url))),
  });
  return {
    input: told((_, url) => url),
    shown: told(shownOf),
    asked: told(askedOf),
    media: items.map(({ describe, sha256 }) => ({ name: describe, sha256 })),
    breaches,
  };
}

/** True if the body has images or a mask that no flag has set. */
function hasOtherImages({ base, sets, references }: InputPlan): boolean {
  const typed = new Set(references.map((input) => input.flag));
  return (
    (base.images !== undefined && !typed.has('--image')) ||
    (base.mask !== undefined && !typed.has('--mask')) ||
    sets.some((set) => /^(images|mask)[.=]/.test(set))
  );
}

// Form data for `gw image edit`: files are streamed from disk, so a large request needs little memory.

/**
 * True if an edit is sent as a form: if requested, or by default if every image and the mask are local files. Throws
 * `usage` if --multipart is given and a reference is no local file, or a field is null, which no form text can express.
 */
function goesAsForm(plan: InputPlan): boolean {
  const { asForm: asked, references, planned } = plan;
  if (asked === false) return false;
  const hasOthers = hasOtherImages(plan);
  const nullField = Object.keys(planned).find((field) => planned[field] === null);
  const remote = references.find((input) => !isLocalFile(input));
  if (asked && remote)
    throw usage(
      `${remote.flag} ${shorten(remote.raw)}: a form takes local files only`,
      'leave out --multipart, or give a file',
    );
  if (asked && hasOthers)
    throw usage(
      '--multipart: a form takes images from --image and --mask only, not from --body or --set',
      'leave out --multipart',
    );
  if (asked && nullField !== undefined)
    throw usage(
      `--multipart: a form cannot hold null, and ${nullField} is null`,
      `leave out ${nullField}, or --multipart`,
    );
  return references.length > 0 && !remote && !hasOthers && nullField === undefined;
}

/**
 * Checks each file and lays out the form: text fields, then the images in order, then the mask. Throws `usage` for a file
 * that is missing, unreadable, empty or not regular.
 */
async function editForm(
  body: Readonly<Record<string, unknown>>,
  references: readonly MediaInput[],
  deps: ResolveDeps,
): Promise<Pick<ReadyInput, 'media' | 'breaches'> & { readonly multipart: MultipartBody }> {
  const fields: MultipartField[] = editFormTexts(body).map(([name, value]) => ({ name, value }));
  const media: KeptReference[] = [];
  const breaches: string[] = [];
  for (const input of references) {
    const { raw, flag, output } = input;
    const { reference, named } = await planOf(input, deps);
    if (reference.kind !== 'file') {
      // An output of another row will be a file by the time of sending.
      const { label } = output ?? { label: raw };
      media.push({ name: label });
      fields.push({ name: fieldOf(flag), file: { path: label, name: label, type: 'image/png', bytes: 0 } });
      continue;
    }
    const file = path.resolve(deps.cwd, reference.path);
    const { bytes, mime, ...facts } = await probeFile(file, named, { ...deps, modality: 'image' });
    breaches.push(...checkModality({ bytes, mime, ...facts }, 'image', named));
    const name = path.basename(file);
    const sha256 = await sha256OfFile(file);
    if (output && output.sha256 !== sha256)
      throw usage(`${named}: ${file} changed while it was read`, 'run it again');
    media.push({ name: output?.label ?? name, sha256 });
    fields.push({ name: fieldOf(flag), file: { path: file, name, type: mime, bytes } });
  }
  return { multipart: multipartBody(fields), media, breaches };
}

const fieldOf = (flag: string): string => (flag === '--mask' ? EDIT_MASK_FIELD : EDIT_IMAGE_FIELD);

/** The form as printed: each output appears by its name instead of its file. */
function formWith(
  form: MultipartBody,
  references: readonly MediaInput[],
  tell: typeof shownOf,
): MultipartBody {
  const inputs = references.values();
  const fields = form.fields.map((field) => {
    const input = 'file' in field ? inputs.next().value : undefined;
    if (!('file' in field) || !input?.output) return field;
    const told = tell(input, field.file.path);
    return { ...field, file: { ...field.file, name: told, path: told } };
  });
  return { ...form, fields };
}

/** True if a reference is a local file, or an output that is saved as one. */
const isLocalFile = (input: MediaInput): boolean =>
  input.output !== undefined || referenceOf(input).kind === 'file';
