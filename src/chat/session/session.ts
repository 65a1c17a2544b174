import * as fs from 'node:fs';
import * as path from 'node:path';
import { trustedStateDir } from '../../config/dirs.ts';
import type { Context } from '../../context.ts';
import { diskFault, isDiskFault } from '../../disk/disk-fault.ts';
import { appendLine, ensureDirectory, renameFile, syncDirectory } from '../../disk/durable-directory.ts';
import { waitForLock } from '../../disk/lock-file.ts';
import { errorCode, GwError, usage } from '../../errors.ts';
import { quietly } from '../../host.ts';
import { counted, localDay } from '../../io/quantity-text.ts';
import type { ChatTurn } from '../chat.ts';
import { exchangeLine, readExchanges, type SessionSettings } from './exchange.ts';

export type SessionContext = Pick<Context, 'clock'> & {
  readonly host: Pick<Context['host'], 'env' | 'cwd' | 'platform' | 'homeDir'>;
  readonly io: Pick<Context['io'], 'note' | 'warn' | 'withoutSecrets'>;
};

/**
 * Opens a stored conversation, or a new one that is stored at its first `append`. `fresh` starts it over: the old file
 * stays until the first new exchange, and is then renamed. Throws GwError `usage` for an invalid name, and if the file
 * cannot be read or its directory cannot be written.
 */
export async function openSession(
  rawName: string,
  { fresh = false }: { readonly fresh?: boolean | undefined },
  ctx: SessionContext,
): Promise<Session> {
  const name = parseSessionName(rawName);
  const dir = directoryOf(ctx.host);
  const file = path.join(dir, `${name}.jsonl`);
  try {
    ensureDirectory(dir);
    fs.accessSync(dir, fs.constants.W_OK);
    if (fs.existsSync(file)) fs.accessSync(file, fs.constants.R_OK | fs.constants.W_OK);
  } catch (error) {
    throw cannotOpen(error, file);
  }
  const session = new Session(name, dir, ctx);
  if (fresh) session.startOver();
  else session.reload();
  return session;
}

/**
 * An unnamed conversation, stored at its first `append` under its start time. Those unused for 30 days are deleted. A
 * disk error is only a warning, because it must not prevent an answer.
 */
export function keptTalk(ctx: SessionContext): Session {
  const dir = directoryOf(ctx.host);
  const oldest = ctx.clock.now() - TALKS_KEPT_MS;
  for (const name of talkNames(dir)) {
    const file = path.join(dir, name);
    quietly(() => {
      if (name < localDay(oldest) && fs.statSync(file).mtimeMs < oldest) fs.rmSync(file);
    });
  }
  return new Session('', dir, ctx);
}

const TALKS_KEPT_MS = 30 * 24 * 3_600_000;

// A missing or unreadable directory is reported when a conversation is to be stored.
const talkNames = (dir: string): string[] =>
  (quietly(() => fs.readdirSync(dir)) ?? []).filter((name) => talkForm.test(name));
const talkForm = /^\d{4}(-\d\d){2}-\d{6}(-\d+)?\.jsonl$/;

const directoryOf = (host: SessionContext['host']): string =>
  path.join(trustedStateDir(host), 'chat', 'sessions');

export interface StoredName {
  readonly name: string;
  readonly file: string;
  /** The time of the last exchange in Unix milliseconds. */
  readonly changedAtMs: number;
}

/** The stored conversations, the latest first. Throws GwError `usage` for a directory of another user. */
export function storedSessions(host: SessionContext['host']): StoredName[] {
  const dir = directoryOf(host);
  const names = fs.existsSync(dir) ? fs.readdirSync(dir).filter((each) => each.endsWith('.jsonl')) : [];
  const found = names.flatMap((each) => {
    const file = path.join(dir, each);
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    return stat?.isFile() ? [{ name: path.basename(each, '.jsonl'), file, changedAtMs: stat.mtimeMs }] : [];
  });
  return found.sort((left, right) => right.changedAtMs - left.changedAtMs);
}

/** Deletes a stored conversation; false if there is none. Throws GwError `usage` if it cannot be deleted. */
export async function deleteSession(rawName: string, ctx: SessionContext): Promise<boolean> {
  const name = parseSessionName(rawName, 'NAME');
  const dir = directoryOf(ctx.host);
  const file = path.join(dir, `${name}.jsonl`);
  if (!fs.existsSync(file)) return false;
  try {
    const lock = await waitForLock(path.join(dir, `${name}.lock`), ctx.clock);
    try {
      fs.rmSync(file, { force: true });
      syncDirectory(dir);
    } finally {
      lock.release();
    }
  } catch (error) {
    throw cannotOpen(error, file);
  }
  return true;
}

/** A conversation on disk: a JSONL file with a line per exchange, which several processes may write. */
export class Session {
  /** All turns, in the order of the file, as last read. */
  turns: readonly ChatTurn[] = [];
  /** The settings of the last exchange; empty for a new session. */
  settings: SessionSettings = {};
  readonly isNamed: boolean;
  #startsOver = false;
  /** The version of the file that `turns` shows. */
  #seen = '';
  #beganMs: number;
  /** True after a disk error: from then on, exchanges are kept only in memory. */
  #isLost = false;

  /** @param name empty for an unnamed conversation until it is stored */
  constructor(
    public name: string,
    private readonly dir: string,
    private readonly ctx: SessionContext,
  ) {
    this.isNamed = name !== '';
    this.#beganMs = ctx.clock.now();
  }

  get file(): string {
    return this.name === '' ? this.dir : path.join(this.dir, `${this.name}.jsonl`);
  }

  /** Reads exchanges that other processes have added. Throws GwError `usage` if the file cannot be read. */
  reload(): void {
    if (this.#startsOver || this.name === '' || this.#isLost) return;
    try {
      const state = stateOf(this.file);
      if (state === this.#seen) return;
      const { exchanges, damaged } = readExchanges(this.file);
      this.turns = exchanges.flatMap(({ turns }) => turns);
      this.settings = exchanges.at(-1)?.settings ?? {};
      this.#seen = state;
      const lost = `${counted(damaged, 'exchange')} of ${this.file} cannot be read and are left out`;
      if (damaged > 0) this.ctx.io.warn(`session ${this.name}: ${lost}`);
    } catch (error) {
      throw cannotOpen(error, this.file);
    }
  }

  /**
   * Stores a question with all its answers, durably when this resolves. A lock keeps the exchanges of several processes
   * apart. Throws GwError `usage` if the lock is not free within 10 s, and `internal` for a disk error.
   */
  async append(turns: readonly ChatTurn[], settings: SessionSettings = this.settings): Promise<void> {
    const { clock, io } = this.ctx;
    const kept = { ...settings, tools: settings.tools ?? this.settings.tools };
    const line = exchangeLine({ turns, settings: kept }, clock.now(), (text) => io.withoutSecrets(text));
    try {
      if (!this.#isLost) await this.#store(line);
    } catch (error) {
      const fault = cannotStore(error, this.file);
      if (this.isNamed || !(fault instanceof GwError)) throw fault;
      io.warn(fault.message);
      this.#isLost = true;
    }
    if (this.#isLost) this.turns = [...this.turns, ...turns];
    else this.reload();
  }

  async #store(line: string): Promise<void> {
    if (this.name === '') this.#takeName();
    const lock = await waitForLock(path.join(this.dir, `${this.name}.lock`), this.ctx.clock);
    try {
      if (this.#startsOver) {
        const kept = setAside(this.file, this.ctx.clock.now());
        this.#startsOver = false;
        this.#seen = '';
        if (kept !== undefined) this.ctx.io.note(`the old conversation is kept: gw chat --session ${kept}`);
      }
      appendLine(this.file, line);
    } finally {
      lock.release();
    }
  }

  /** If two conversations begin in the same second, the later name gets a number. */
  #takeName(): void {
    ensureDirectory(this.dir);
    const time = new Date(this.#beganMs).toTimeString().slice(0, 8).replaceAll(':', '');
    const began = `${localDay(this.#beganMs)}-${time}`;
    for (let count = 0; ; count += 1) {
      const name = `${began}${count === 0 ? '' : `-${count}`}`;
      try {
        fs.closeSync(fs.openSync(path.join(this.dir, `${name}.jsonl`), 'wx', 0o600));
        this.name = name;
        return;
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error;
      }
    }
  }

  /** Forgets the turns; the next `append` renames the old file and begins a new one. */
  startOver(): void {
    this.turns = [];
    if (this.isNamed) this.#startsOver = true;
    else {
      this.name = '';
      this.#beganMs = this.ctx.clock.now();
    }
  }
}

/** A value that changes whenever the file does. */
function stateOf(file: string): string {
  const stats = fs.statSync(file, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? 'none' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
}

/** The error of a session that cannot be opened: `usage`, because nothing has been sent. */
function cannotOpen(error: unknown, file: string): unknown {
  if (!isDiskFault(error)) return error;
  const { reason, remedy } = diskFault(error);
  return new GwError('usage', `the session ${file} cannot be used: ${reason}; nothing was sent`, {
    hint: `${remedy}, or set GW_STATE_DIR to a directory that can be written`,
  });
}

/** The error of an exchange that was shown but could not be stored. */
function cannotStore(error: unknown, file: string): unknown {
  if (!isDiskFault(error)) return error;
  const { reason, remedy } = diskFault(error);
  return new GwError('internal', `the answer could not be added to the session ${file}: ${reason}`, {
    hint: `${remedy}; the session is as it was before this question`,
  });
}

/** Leaves room for the time that is appended to the name. */
const MAX_STEM = 80;

/**
 * Renames a session's file to a free name, `NAME.20261120t120000z`; call it under the session's lock. Returns the new
 * session name, or undefined if there was no file. Throws the system's error.
 */
function setAside(file: string, nowMs: number): string | undefined {
  if (!fs.existsSync(file)) return undefined;
  const stem = path.basename(file, '.jsonl').slice(0, MAX_STEM);
  const time = new Date(nowMs)
    .toISOString()
    .replace(/\.\d+|[-:]/g, '')
    .toLowerCase();
  for (let count = 0; ; count += 1) {
    const name = `${stem}.${time}${count === 0 ? '' : `-${count}`}`;
    const target = path.join(path.dirname(file), `${name}.jsonl`);
    if (fs.existsSync(target)) continue;
    renameFile(file, target);
    syncDirectory(path.dirname(file));
    return name;
  }
}

const shape = /^[a-z0-9][a-z0-9._-]{0,99}$/;
/** Names that Windows reserves for devices, whatever follows the dot. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/;

/** Checks the name of a session, which is also its file's name. Throws GwError `usage` for an invalid one. */
export function parseSessionName(raw: string, flag = '--session'): string {
  if (shape.test(raw) && !device.test(raw)) return raw;
  const shown = JSON.stringify(raw.length > 80 ? `${raw.slice(0, 80)}…` : raw);
  const rule =
    'a session is named with at most 100 of a-z, 0-9, dot, hyphen and underscore, and begins with a letter or digit';
  if (device.test(raw)) throw usage(`${flag} ${shown}: Windows keeps that name for a device`, rule);
  const close = raw.toLowerCase().trim().replace(/\s+/g, '-');
  throw usage(`${flag} ${shown}: not the name of a session`, shape.test(close) ? `${rule}: ${close}` : rule);
}
