import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, Interrupted, usage } from '../../errors.ts';
import { bareId, LibraryId } from '../../gateway/asset/fields.ts';

/**
 * The IDs of a command line, bare and each once, in order. Throws `usage` for what is none; with --no-validate, where the
 * run is given, that is a warning: for IDs that stand in a body, not in a path.
 */
export function libraryIds(args: readonly string[], run?: Pick<Context, 'globals'>): string[] {
  return [
    ...new Set(
      args.map((typed) => {
        const id = bareId(typed);
        const [issue] = LibraryId.safeParse(id).error?.issues ?? [];
        // What is sent as it stands in a body is judged, and warned of, with the body.
        if (issue && (run?.globals.validate === undefined || id === ''))
          throw usage(`${typed}: ${issue.message}`, 'give the ID as gw asset list prints it, or asset://ID');
        return id;
      }),
    ),
  ];
}

/** The one ID of a command line. Throws `usage` where there are more. */
export function libraryId(args: readonly string[], run?: Pick<Context, 'globals'>): string {
  const [id = '', ...others] = libraryIds(args, run);
  if (others.length > 0) throw usage(`${others.join(', ')}: one ID is taken`, 'run it once for each');
  return id;
}

/** One outcome an ID, one after the other. What fails for one does not stop the others; an interrupt and a key that is not accepted do. */
export async function* oneByOne<R>(
  ids: readonly string[],
  run: (id: string) => Promise<Outcome<R>>,
): AsyncGenerator<Outcome<R>> {
  for (const id of ids) {
    try {
      yield await run(id);
    } catch (error) {
      // A key that is not accepted for one is not accepted for the others.
      const isOver = error instanceof GwError && error.kind === 'auth';
      if (error instanceof Interrupted || isOver || ids.length === 1) throw ofAsset(error, id);
      yield { error: ofAsset(error, id) };
    }
  }
}

function ofAsset(error: unknown, id: string): unknown {
  if (!(error instanceof GwError) || error.facts.taskId !== undefined) return error;
  return new GwError(error.kind, `${id}: ${error.message}`, { ...error.facts, taskId: id });
}
