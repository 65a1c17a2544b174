import { saveFlags } from '../../flags/job-flags.ts';

/** The flags of saving where a job exists already: what its create said holds unless they say otherwise. */
export const laterSaveFlags = {
  ...saveFlags,
  out: {
    ...saveFlags.out,
    summary: saveFlags.out.summary.replace(/\(default .*\)$/, '(default: as its create said)'),
  },
} as const;
