import { usage } from '../../errors.ts';
import { type Flag, fromField, list, parsed } from '../../flags/flag.ts';
import { bareId, projectField } from '../../gateway/asset/fields.ts';

// What the flags of the asset commands have in common; texts and choices come from the schemas of src/gateway/asset*.

export const projectFlag = { project: fromField(projectField, 'NAME') } as const;

/** As {@link projectFlag}, of a command that has --rest too. */
export const actionProjectFlag = {
  project: { ...projectFlag.project, summary: `${projectFlag.project.summary}; not with --rest` },
} as const;

/** A flag for a field whose words may be typed in any case. */
export const anyCaseFlag = (
  field: Parameters<typeof fromField>[0],
  choices: readonly string[],
): Flag<string> => ({
  ...fromField(field, choices.join('|')),
  choices,
});

/** A flag for an ID; `asset://ID` is taken as well. */
export const idFlag = (field: Parameters<typeof fromField>[0]): Flag<string> => ({
  ...fromField(field, 'ID'),
  parse: bareId,
});

export const idListFlag = (field: Parameters<typeof fromField>[0]): Flag<readonly string[]> => ({
  ...list('ID', field.description ?? ''),
  parse: (raw) => [bareId(raw)],
});

/** A flag for a whole number; its bounds are the schema's. */
export const countFlag = (field: Parameters<typeof fromField>[0]): Flag<number> =>
  parsed('N', field.description ?? '', (raw, flag) => {
    if (!/^\d{1,9}$/.test(raw)) throw usage(`${flag} ${raw}: not a whole number`, field.description);
    return Number(raw);
  });
