import { defineCommand, type Outcome } from '../command.ts';
import { trustedStateDir } from '../config/dirs.ts';
import { type Context, commandFor } from '../context.ts';
import { ended, errorCode, GwError, Interrupted, usage } from '../errors.ts';
import { parsed, port, withValue } from '../flags/flag.ts';
import { eventsFlag } from '../flags/job-flags.ts';
import { isWebUrl } from '../gateway/body.ts';
import type { WireHead } from '../http/exchange.ts';
import { type SyncInput, syncJobs } from '../jobs/watch/sync.ts';
import { createTurns, SAVES_AT_ONCE } from '../jobs/watch/turns.ts';
import { type CallbackServer, startCallbackServer } from '../listen/callback-server.ts';
import { announce } from '../listen/running.ts';
import { type KnownJob, readJobs, syncInput } from './jobs/find-jobs.ts';
import { needsSync, outcomeOfSync } from './jobs/sync.ts';
import { cannotListen, isEveryAddress, ownAddress } from './own-address.ts';
import { type JobResult, resultIn } from './video/follow-job.ts';
import { createFollowers } from './video/followers.ts';

const flags = {
  port: port('port to listen at (default: any free one)'),
  host: parsed('ADDR', 'address of this machine to listen at (default 127.0.0.1)', ownAddress),
  publicUrl: parsed(
    'URL',
    'how callers from outside reach it, where a tunnel or a proxy stands before it',
    urlOf,
  ),
  forward: parsed('URL', 'pass each callback on to this address, as it came', urlOf),
  events: eventsFlag,
} as const;

function urlOf(raw: string, flag: string): URL {
  // A password is not shown, even in a text that is no URL.
  if (/^[^:]*:[\\/]*[^\\/?#]*@/.test(raw) || raw.includes('#'))
    throw usage(`${flag}: an address without user, password and #`, 'leave them out');
  if (isWebUrl(raw)) return new URL(raw);
  throw usage(`${withValue(flag, raw)}: not a URL`, 'write it out: https://host/path');
}

/** First the URL; then, with --json, the outcome of each job. */
type Heard = { readonly url: string } | JobResult;

/** `gw listen` receives status callbacks of families B and C, looks up the named tasks, and saves finished ones. */
export const listen = defineCommand<typeof flags, Heard>({
  flags,
  examples: [
    'gw listen --port 4010 & sleep 1; kill $!',
    'gw listen --public-url https://gw.example.com/hooks --forward http://127.0.0.1:3000/hook & sleep 1; kill $!',
    'gw listen --events & sleep 2; gw video gamma create --sandbox "a fox" --resolution 768P --duration 4 --ratio 1:1 --callback-url auto; kill $!',
  ],
  notes: [
    'Its URL goes to --callback-url of gw video beta|gamma create; auto stands for the listener that was started last. A ' +
      'callback is only a hint: the task is looked at with its own key, if the ledger knows it. What changed while no listener ' +
      'ran is brought home by gw jobs sync.',
  ],
  async *run({ flags }, ctx) {
    const { host = '127.0.0.1', publicUrl, forward } = flags;
    if (isEveryAddress(host) && publicUrl === undefined)
      throw usage(
        `--host ${host} is every address of this machine`,
        'name the one that its callers use, or say how they reach it with --public-url',
      );
    if (publicUrl !== undefined && publicUrl.search !== '')
      throw usage('--public-url: an address without a query', 'leave out what stands after ?');
    const stateDir = trustedStateDir(ctx.host);
    const told = new ToldTasks(ctx);
    const passOn = forward && (await forwardTo(forward, ctx));
    const server = await startCallbackServer({
      port: flags.port ?? 0,
      host,
      publicUrl,
      onCallback: ({ ids, body, type }) => {
        told.add(ids);
        passOn?.(body, type);
      },
    }).catch((error: unknown) => {
      throw cannotListen(error, { host });
    });
    const { url } = server;
    let takeBack = () => {};
    try {
      takeBack = announceAt(stateDir, server, ctx);
      if (ctx.events)
        await ctx.io.outJson({ event: 'listening', t: new Date(ctx.clock.now()).toISOString(), url });
      else yield { value: { url } };
      const reach =
        publicUrl === undefined && flags.host === undefined ? ', reached from this machine only' : '';
      ctx.io.note(`listening at ${url}${reach}, until Ctrl-C`);
      for await (const outcome of told.outcomes()) {
        if (!ctx.events && !ctx.io.mode.json)
          for (const { path } of resultIn(outcome)?.files ?? []) ctx.io.note(`saved ${path}`);
        yield outcome as Outcome<Heard>;
      }
    } finally {
      takeBack();
      await server.close();
    }
    throw ended(ctx.signal);
  },
  human: (heard) => ('url' in heard ? `${heard.url}\n` : ''),
});

function announceAt(stateDir: string, { url }: CallbackServer, ctx: Context): () => void {
  try {
    return announce(stateDir, url, ctx.clock.now());
  } catch (error) {
    const hint = 'set GW_STATE_DIR to a directory that can';
    throw usage(`${stateDir} cannot be written (${errorCode(error)})`, hint);
  }
}

/** IDs processed at once, so that a challenge is answered soon. */
const MOST_AT_ONCE = 100;
/** IDs that may wait; further ones are dropped, and a later `jobs sync` finds their tasks. */
const MOST_WAITING = 10_000;
/** Pauses before an unknown ID is looked for again: a callback may arrive before the create's reply is stored. */
const YOUNG_PAUSES_MS = [1_000, 5_000];

/** Looks up the tasks that callbacks named, each at most once at a time. */
class ToldTasks {
  readonly #followers;
  readonly #turns = createTurns(SAVES_AT_ONCE);
  /** Waiting IDs, with the number of times that the ledger did not know them. */
  readonly #waiting = new Map<string, number>();
  /** The number of IDs that will be looked for again. */
  #later = 0;
  /** The keys of jobs in progress; true if a callback has named the job again meanwhile. */
  readonly #underWay = new Map<string, boolean>();
  readonly #outcomes: Outcome<JobResult>[] = [];
  readonly #running = new Set<Promise<void>>();
  #wake = () => {};

  constructor(private readonly ctx: Context) {
    this.#followers = createFollowers(ctx);
    ctx.signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  add(ids: readonly string[], tries = 0): void {
    for (const id of ids) if (this.#waiting.size < MOST_WAITING) this.#waiting.set(id, tries);
    this.#wake();
  }

  /** Yields the outcome of each job worth reporting, until the run is interrupted. */
  async *outcomes(): AsyncGenerator<Outcome<JobResult>> {
    const { signal } = this.ctx;
    while (!signal.aborted) {
      for (const outcome of this.#outcomes.splice(0)) yield outcome;
      if (this.#waiting.size > 0) {
        await this.#takeUp();
        // Lets pending requests be answered first.
        await new Promise((resolve) => setImmediate(resolve));
      } else if (this.#outcomes.length === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          if (signal.aborted) resolve();
        });
      }
    }
    await Promise.allSettled(this.#running);
    yield* this.#outcomes.splice(0);
  }

  async #takeUp(): Promise<void> {
    const ctx = this.ctx;
    const ids = new Map<string, number>();
    for (const [id, tries] of this.#waiting) {
      if (ids.size === MOST_AT_ONCE) break;
      ids.set(id, tries);
      this.#waiting.delete(id);
    }
    const inputs: SyncInput[] = [];
    try {
      const jobs = await readJobs({ ids: [...ids.keys()] }, ctx);
      for (const { job } of jobs) for (const name of [job.key, job.id ?? '']) ids.delete(name);
      for (const [tries, pauseMs] of YOUNG_PAUSES_MS.entries()) {
        const young = [...ids.keys()].filter((id) => ids.get(id) === tries);
        this.#addLater(young, tries + 1, pauseMs);
      }
      for (const job of jobs) inputs.push(...(await this.#inputOf(job)));
    } catch (error) {
      this.#failed(error);
    }
    if (inputs.length === 0) return;
    const work = this.#sync(inputs).finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  /** The input for looking at a job; empty if it needs no lookup, or one is running. */
  async #inputOf({ job, family }: KnownJob): Promise<SyncInput[]> {
    const ctx = this.ctx;
    if (family === undefined || !needsSync({ job, family }, ctx.clock.now())) return [];
    if (this.#underWay.has(job.key)) {
      this.#underWay.set(job.key, true);
      return [];
    }
    try {
      if (!(await ctx.ownsJob(job))) return [];
      const input = await syncInput({ job, family }, this.#followers, ctx);
      if (input) this.#underWay.set(job.key, false);
      return input ? [input] : [];
    } catch (error) {
      this.#failed(error);
      return [];
    }
  }

  /** A missing API key or an unreadable ledger must not end the listener. */
  #failed(error: unknown): void {
    if (this.ctx.signal.aborted) return;
    const hint = `what it told of is brought home by: ${commandFor('gw jobs sync', this.ctx)}`;
    const told = error instanceof GwError ? error.told({ hint: error.facts.hint ?? hint }) : error;
    this.#outcomes.push({ error: told });
  }

  async #sync(inputs: readonly SyncInput[]): Promise<void> {
    const ctx = this.ctx;
    for (const { job } of inputs) ctx.events?.about(job, false);
    try {
      for await (const { job, synced } of syncJobs(inputs, ctx.signal, this.#turns)) {
        const outcome = outcomeOfSync(job, synced, ctx);
        if (outcome && !(outcome.error instanceof Interrupted)) this.#outcomes.push(outcome);
        const isNamedAgain = this.#underWay.get(job.key);
        this.#underWay.delete(job.key);
        if (isNamedAgain) this.add([job.id ?? job.key]);
        this.#wake();
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      for (const { job } of inputs) this.#underWay.delete(job.key);
      this.#wake();
    }
  }

  /** One timer for all IDs, because a timer and an abort listener for each would cost more and more. */
  #addLater(ids: readonly string[], tries: number, pauseMs: number): void {
    if (ids.length === 0 || this.#later + ids.length > MOST_WAITING) return;
    const { clock, signal } = this.ctx;
    this.#later += ids.length;
    clock.sleep(pauseMs, signal).then(
      () => {
        this.#later -= ids.length;
        this.add(ids, tries);
      },
      () => undefined,
    );
  }
}

const FORWARDS_AT_ONCE = 8;
const MOST_FORWARDS_WAITING = 1_000;
const FORWARD_MS = 10_000;

/** Forwards bodies unchanged and without credentials; it reports a failure once, until a forward succeeds again. */
async function forwardTo(url: URL, ctx: Context): Promise<(body: Buffer, type: string) => void> {
  const { HttpTransport, proxiesFromEnv } = await import('../http/transport.ts');
  const { readCertificates } = await import('../config/certificates.ts');
  const { ca } = await readCertificates({ cacert: (await ctx.settings()).cacert }, ctx.host);
  const transport = new HttpTransport({ proxies: proxiesFromEnv(ctx.host.env), tuneFirstReply: false, ca });
  ctx.signal.addEventListener('abort', () => void transport.close(), { once: true });
  const turns = createTurns(FORWARDS_AT_ONCE);
  let waiting = 0;
  let isFailing = false;
  const fail = (why: string) => {
    const said = `a callback was not passed on to ${url.origin}: ${why}`;
    if (!isFailing && !ctx.signal.aborted) ctx.io.warn(said);
    isFailing = true;
  };
  const post = (body: Buffer, type: string): Promise<WireHead> =>
    new Promise((onHead, reject) => {
      const request = {
        method: 'POST',
        url,
        headers: { 'content-type': type, 'user-agent': 'gw' },
        body,
        silenceMs: FORWARD_MS,
        connectMs: FORWARD_MS,
        signal: AbortSignal.any([ctx.signal, AbortSignal.timeout(2 * FORWARD_MS)]),
      };
      // Only the status counts. A body may be large or endless, so its first byte ends the connection.
      const onData = () => Promise.reject(new Error('the body is not read'));
      transport.stream(request, { onHead, onData }).catch(reject);
    });
  return (body, type) => {
    if (waiting >= MOST_FORWARDS_WAITING) return fail(`${waiting} wait already`);
    waiting += 1;
    void turns
      .take(0, () => post(body, type))
      .then(
        ({ status }) => {
          if (status >= 200 && status < 300) isFailing = false;
          else fail(`it answered ${status}`);
        },
        (error: unknown) => fail(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => {
        waiting -= 1;
      });
  };
}
