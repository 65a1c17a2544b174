import { GwError } from '../../errors.ts';
import { HOUR_MS } from '../../gateway/limits.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import { BEAT_MS, type Clock, sleepAloud } from '../../host.ts';
import { cureOf, ExchangeError, isPermanent } from '../../http/exchange.ts';
import { retryAfterMs } from '../../http/reply-dates.ts';
import { backoffMs } from '../../http/retry.ts';
import type { FileType } from '../../media/signatures.ts';
import {
  type GetBudget,
  type GetOptions,
  type GetResult,
  getOutput,
  MAX_GETS,
  outputUrl,
  type Verdict,
} from './get-output.ts';
import type { DownloadJournal, PartFile } from './part-file.ts';
import type { PartSink } from './part-sink.ts';
import { type Finding, verifyEnd, verifyPart } from './verify-part.ts';

/** If a server asks for a longer pause, the output is left to `gw jobs sync`. */
const LONGEST_PAUSE_MS = 120_000;

interface FetchOptions extends Omit<GetOptions, 'count' | 'onBody'> {
  readonly clock: Clock;
  readonly random: () => number;
  /** Counts requests, and says whether more are allowed. */
  readonly budget: Pick<GetBudget, 'mayAsk' | 'take'>;
  readonly journal: Pick<DownloadJournal, 'waits' | 'held'>;
  /** Queries the task for a new link to this output; undefined if there is none. */
  readonly refreshLink: () => Promise<string | undefined>;
  /** Receives a message about a long pause. */
  readonly note: (text: string) => void;
}

/**
 * Downloads one output into its part file until it is complete and verified; resumes after every break, with pauses
 * between tries. When run again after its part was lost, it uses the remaining requests.
 */
export class OutputFetch {
  private link: URL;
  /** The address of the last usable body, so that a link's redirects are not counted again. */
  private from: URL;
  /** Number of requests, and of those that reached no server. */
  private tries = 0;
  private failures = 0;
  private broken = 0;
  private isRenewed = false;
  private lastReason = '';

  constructor(
    private readonly output: TaskOutput,
    private readonly sink: PartSink,
    private readonly options: FetchOptions,
  ) {
    this.link = usableLink(output.url);
    this.from = this.link;
  }

  /** Throws `download`, DiskFault, the signal's reason, or what the journal threw. */
  async run(): Promise<{ readonly part: PartFile; readonly fileType: FileType }> {
    const { clock, journal } = this.options;
    const { atMs = 0, forMs = 0 } = journal.waits[this.output.role] ?? {};
    // A time in the future is invalid. A wait of days is shortened, because the link would expire.
    const toldMs = atMs > clock.now() ? 0 : atMs + Math.min(forMs, HOUR_MS) - clock.now();
    if (toldMs > 0 && !this.sink.part?.isComplete) await this.wait(toldMs, 'its server was too busy');
    for (;;) {
      const { part } = this.sink;
      if (part?.isComplete) {
        const finding = verifyPart(part, this.output.type);
        if (finding.is === 'whole') return { part, fileType: finding.fileType };
        this.drop(finding);
        if (finding.is === 'other') await this.renew(finding.reason, undefined);
      }
      await this.act(await this.get());
    }
  }

  private async get(): Promise<GetResult> {
    const { part } = this.sink;
    const asked =
      part?.etag === undefined
        ? { offset: 0 }
        : { offset: part.bytes, etag: part.etag, totalBytes: part.totalBytes };
    const { budget } = this.options;
    const triesBefore = this.tries;
    const count = () => {
      if (!budget.mayAsk) throw this.exhausted();
      budget.take(this.output.role);
      this.tries++;
    };
    try {
      const onBody = (url: URL) => {
        this.from = url;
      };
      return await getOutput(this.from, asked, this.sink, { ...this.options, count, onBody });
    } catch (error) {
      if (this.options.signal.aborted) throw this.options.signal.reason;
      if (!(error instanceof ExchangeError)) throw error;
      if (this.tries === triesBefore) this.tries++;
      if (isPermanent(error.code)) throw failed(error.message, undefined, cureOf(error.code));
      // Try the link itself again: the host of its redirect may be gone, and it may redirect to another one.
      if (error.sent === 'no') this.from = this.link;
      return { do: 'wait', reason: error.message };
    }
  }

  private async act(result: GetResult): Promise<void> {
    const { sink } = this;
    if ('reason' in result) this.lastReason = result.reason;
    switch (result.do) {
      case 'complete': {
        const { part } = sink;
        // A body without an announced length ends where the server ended it; any other short one is continued.
        if (part && part.totalBytes === undefined) {
          // Verified before its length is recorded: later, no process could tell that the length was not announced.
          const broken = verifyEnd(part);
          if (broken) this.drop(broken);
          else sink.setTotal(part.bytes);
        } else if (!part?.isComplete) {
          await this.pause({ do: 'wait', reason: 'the server ended the file early' });
        }
        return;
      }
      case 'finish':
        if (sink.part) sink.setTotal(sink.part.bytes);
        return;
      case 'drop':
        if (sink.part === undefined) return this.pause({ do: 'wait', reason: result.reason });
        return sink.discard();
      case 'renew':
        // A body that was refused for its first bytes is not a valid beginning of the output.
        if (result.status === undefined) sink.discard();
        return this.renew(result.reason, result.status);
      case 'wait':
        return this.pause(result);
      default:
        throw failed(this.lastReason, result.do === 'refuse' ? result.status : undefined);
    }
  }

  /** Discards a useless part; a truncated output gets one more try. */
  private drop({ is, reason }: Exclude<Finding, { is: 'whole' }>): void {
    this.sink.discard();
    this.lastReason = reason;
    if (is === 'broken' && ++this.broken > 1) throw failed(reason);
  }

  /** Handles a dead link: first goes back from its redirects, then asks the task once for a new one. */
  private async renew(reason: string, status: number | undefined): Promise<void> {
    if (this.from.href !== this.link.href) {
      this.from = this.link;
      return;
    }
    if (this.isRenewed) throw failed(reason, status);
    this.isRenewed = true;
    const fresh = await this.options.refreshLink();
    const url = fresh === undefined ? undefined : usableLink(fresh);
    // If the task returns the same link, it is worth one more GET, because the gateway has just confirmed it.
    if (url === undefined) throw failed(`${reason}; there is no other link`, status);
    this.link = url;
    this.from = url;
  }

  private async pause(verdict: Extract<Verdict, { do: 'wait' }>): Promise<void> {
    this.lastReason = verdict.reason;
    const { budget, clock, journal, random } = this.options;
    const toldMs = retryAfterMs(verdict.headers, clock.now()) ?? 0;
    if (toldMs > 0) journal.held(this.output.role, toldMs);
    const mayAsk = budget.mayAsk && this.tries < MAX_GETS;
    if (!mayAsk && toldMs === 0) throw this.exhausted();
    const pauseMs = Math.max(toldMs, backoffMs(this.failures++, random));
    await this.wait(pauseMs, verdict.reason, verdict.status, mayAsk);
  }

  private async wait(forMs: number, reason: string, status?: number, mayAsk = true): Promise<void> {
    const { clock, note, signal } = this.options;
    const retryAtMs = clock.now() + forMs;
    const at = new Date(retryAtMs).toISOString();
    if (mayAsk && forMs <= LONGEST_PAUSE_MS) {
      const tell = () => (forMs > BEAT_MS ? note(`${reason}; it is asked again at ${at}`) : undefined);
      return sleepAloud(clock, forMs, signal, tell);
    }
    const what = `${reason} and asks to wait until ${at}`;
    throw new GwError('download', what, { status, retryAtMs, hint: 'after that, gw jobs sync fetches it' });
  }

  private exhausted(): GwError {
    const reason = this.lastReason || 'the link was redirected too often';
    return failed(`gave up after ${this.tries} requests: ${reason}`);
  }
}

function failed(reason: string, status?: number, cure?: string): GwError {
  const again = 'gw jobs sync tries again while the link lives';
  return new GwError('download', reason, { status, hint: [cure, again].filter(Boolean).join('; ') });
}

function usableLink(link: string): URL {
  const url = outputUrl(link);
  if (url !== undefined) return url;
  if (link === '') throw new GwError('download', 'it is gone from where it was saved, and came only once');
  const scheme = /^[a-z][a-z0-9+.-]{0,30}:/i.exec(link)?.[0];
  throw new GwError('download', 'the link of the output is not an http or https address', {
    hint: `gw follows no ${scheme ?? 'such'} link; the record has it (gw jobs show)`,
  });
}
