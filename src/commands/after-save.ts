import { firstLineOf } from '../config/keys.ts';
import type { Settings } from '../config/settings.ts';
import { GwError } from '../errors.ts';
import type { Host } from '../host.ts';
import { durationText } from '../io/quantity-text.ts';
import type { Job } from '../ledger/event.ts';

/** The time limit of the user's command. */
const LONGEST_MS = 600_000;

/** Runs the user's command for a saved file (`--exec`, the setting `after_save`). Throws GwError `partial` if it fails. */
export async function runAfterSave(
  command: string,
  file: string,
  { key, id, family, once }: Job,
  { host, note, settings }: { host: Host; note: (text: string) => void; settings: Settings },
): Promise<void> {
  const named = `the command after ${file} was saved`;
  try {
    await firstLineOf(
      {
        command,
        what: named,
        kind: 'partial',
        env: { GW_FILE: file, GW_ID: id ?? key, GW_FAMILY: family, GW_KEY: once?.key ?? key },
        longestMs: LONGEST_MS,
        onSlow: () => note(`${named} still runs; it is ended after ${durationText(LONGEST_MS)}`),
      },
      { ...host, env: settings.childEnvironment() },
    );
  } catch (error) {
    if (!(error instanceof GwError)) throw error;
    const facts = { taskId: id ?? key, hint: 'run it by hand to see why' };
    throw new GwError('partial', `${error.message}; the file stays`, facts);
  }
}
