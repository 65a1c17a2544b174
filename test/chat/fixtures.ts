import type { ChatTurn } from '../../src/chat/chat.ts';
import type { SessionContext } from '../../src/chat/session/session.ts';
import { newDir } from '../helpers/new-dir.ts';

export const KEY = 'canary-key-5f1d8c7e9ab24d60';

/** A directory for one test, removed after it. */
export function tempDir(): string {
  const dir = newDir();
  return dir;
}

export interface Said {
  readonly notes: string[];
  readonly warnings: string[];
}

/** The context of a session, with a clock that stands still and a record of all notes and warnings. */
export function sessionContext(stateDir: string, env: Record<string, string> = {}): SessionContext & Said {
  const notes: string[] = [];
  const warnings: string[] = [];
  const nowMs = Date.UTC(2026, 10, 20, 12);
  let steadyMs = 0;
  return {
    notes,
    warnings,
    clock: {
      now: () => nowMs,
      steady: () => steadyMs,
      sleep: async (ms) => {
        steadyMs += ms;
      },
    },
    host: { env: { GW_STATE_DIR: stateDir, ...env }, cwd: '/', platform: 'linux', homeDir: undefined },
    io: {
      note: (text) => void notes.push(text),
      warn: (text) => void warnings.push(text),
      withoutSecrets: (text) => text.replaceAll(KEY, '***'),
    },
  };
}

export const asks = (text: string): ChatTurn => ({ role: 'user', parts: [{ type: 'text', text }] });
export const answers = (text: string): ChatTurn => ({ role: 'assistant', text });
export const exchange = (word: string): ChatTurn[] => [asks(`${word}?`), answers(`${word}!`)];
