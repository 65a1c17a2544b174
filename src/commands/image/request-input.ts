import type { RequestInput } from '../../http/client.ts';
import type { KeptReference } from '../../ledger/event.ts';
import { type MediaInput, type ResolveDeps, resolveMedia } from '../../media/resolve.ts';
import { editForm, goesAsForm, isLocalFile } from './edit-form.ts';

export interface InputPlan {
  /** The body with a stand-in for each file. */
  readonly planned: Readonly<Record<string, unknown>>;
  /** The body with the address of each reference. */
  bodyWith(urls: readonly string[]): Record<string, unknown>;
  readonly references: readonly MediaInput[];
  /** `--multipart`, `--no-multipart`, neither; false where the endpoint takes no form. */
  readonly asForm: boolean | undefined;
  /** Whether the endpoint takes a form at all. */
  readonly takesForm: boolean;
  /** What --body and --set say, which a form cannot carry where they name images. */
  readonly base: Readonly<Record<string, unknown>>;
  readonly sets: readonly string[];
  readonly params: Readonly<Record<string, string>> | undefined;
  readonly validate: boolean;
  readonly deps: ResolveDeps;
}

export interface ReadyInput {
  readonly input: RequestInput;
  /** Each input image as a name, a URL without query, or a digest. */
  readonly media: readonly KeptReference[];
  readonly breaches: readonly string[];
}

/**
 * What is sent: a form with the files as they are, or JSON with their Base64. Throws `usage` for a reference that cannot
 * be sent: malformed, missing, unreadable, or no local file where --multipart asks for one.
 */
export async function requestInput(plan: InputPlan): Promise<ReadyInput> {
  const { planned, references, params, deps } = plan;
  const shared = { ...(params && { params }), ...(planned.stream === true && { stream: true }) };
  const nullField = Object.keys(planned).find((field) => planned[field] === null);
  if (goesAsForm({ asked: plan.asForm, references, hasOthers: hasOtherImages(plan), nullField })) {
    const { multipart, media, breaches } = await editForm(planned, references, deps);
    return { input: { ...shared, multipart }, media, breaches };
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
  const body = plan.bodyWith(items.map((item) => item.url));
  return {
    input: { ...shared, body },
    media: items.map(({ describe, sha256 }) => ({ name: describe, sha256 })),
    breaches,
  };
}

/** Whether images or a mask stand in the body that no flag has put there. */
function hasOtherImages({ base, sets, references }: InputPlan): boolean {
  const typed = new Set(references.map((input) => input.flag));
  return (
    (base.images !== undefined && !typed.has('--image')) ||
    (base.mask !== undefined && !typed.has('--mask')) ||
    sets.some((set) => /^(images|mask)[.=]/.test(set))
  );
}
