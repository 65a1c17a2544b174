import type { Settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { modelsList } from '../../gateway/models.ts';
import type { WireReply } from '../../http/exchange.ts';
import { proxiesFromEnv, proxyFor } from '../../http/proxy.ts';
import { readDateMs } from '../../http/retry.ts';
import { durationText } from '../../io/quantity-text.ts';
import { isLoopback } from '../../loopback.ts';
import { fetchModels } from '../../models/model-cache.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';

/** Enough for a gateway that works. */
const SILENCE_MS = 10_000;
/** A clock that is off by more than this makes expiry times wrong enough to matter. */
const CLOCK_TOLERANCE_MS = 60_000;

/** The key, the way to the gateway, and what the gateway says: one look at its list of models, without retries. */
export async function checkGateway(settings: Settings, ctx: Context): Promise<Finding[]> {
  const unknown = (...checks: string[]) => checks.map((check) => skipped(check, 'not looked at'));
  try {
    if (!settings.sandbox) settings.gatewayUrl();
  } catch (error) {
    return [failed('gateway', error), ...unknown('key', 'proxy', 'clock')];
  }
  const proxy = checkProxy(settings, ctx);
  try {
    await settings.key();
  } catch (error) {
    return [failed('key', error), proxy, ...unknown('gateway', 'clock')];
  }
  if (proxy.state === 'error') return [proxy, ...unknown('key', 'gateway', 'clock')];
  return [proxy, ...(await askGateway(settings, ctx))];
}

async function askGateway(settings: Settings, ctx: Context): Promise<Finding[]> {
  const from = `present (${settings.keySource() ?? 'default'})`;
  const beganMs = ctx.clock.steady();
  let refused: WireReply | undefined;
  try {
    const reply = await fetchModels(ctx, {
      retries: 0,
      onRefused: (reply) => {
        refused = reply;
      },
      ...(settings.timeoutMs.source === 'default' && { silenceMs: SILENCE_MS }),
    });
    const tookMs = Math.round(ctx.clock.steady() - beganMs);
    return [
      ok('gateway', `answers in ${tookMs} ms`),
      ok('key', `${from}, accepted, may call ${reply.value.data.length} models`),
      checkClock(reply.serverDateMs, ctx),
    ];
  } catch (error) {
    if (!(error instanceof GwError)) throw error;
    // What refuses tells the time as well.
    const clock = checkClock(readDateMs(refused?.headers.date), ctx);
    if (error.kind === 'auth' && error.facts.status !== undefined) {
      return [ok('gateway', 'answers'), failed('key', error, from), clock];
    }
    return [failed('gateway', inWordsOfAddress(error)), skipped('key', `${from}, not tried`), clock];
  }
}

/** No ID was asked for: a 404 of the list of models says that the address leads elsewhere. */
function inWordsOfAddress(error: GwError): GwError {
  if (error.kind !== 'not_found') return error;
  const hint = `what answers there has no ${modelsList.path}: check the base URL and its path (gw config list)`;
  return new GwError(error.kind, error.message, { ...error.facts, hint });
}

function checkProxy(settings: Settings, { host }: Context): Finding {
  if (settings.sandbox) return ok('proxy', 'none: the gateway is built in');
  try {
    const proxies = proxiesFromEnv(host.env);
    if (proxies === undefined) return ok('proxy', 'none');
    const gateway = new URL(settings.gatewayUrl());
    // The origin holds no user and no password.
    const via = (url: URL) => proxyFor(url, proxies)?.url.origin ?? 'none';
    const before = isLoopback(gateway.hostname) ? 'none, as it is this machine' : via(gateway);
    const ofOutputs = (['https', 'http'] as const).map(
      (scheme) => `${scheme} ${via(new URL(`${scheme}://output.invalid`))}`,
    );
    return ok('proxy', `for the gateway: ${before}; for outputs elsewhere: ${ofOutputs.join(', ')}`);
  } catch (error) {
    return failed('proxy', error);
  }
}

function checkClock(serverMs: number | undefined, { clock }: Context): Finding {
  if (serverMs === undefined) return skipped('clock', 'the gateway did not tell the time');
  const aheadMs = clock.now() - serverMs;
  if (Math.abs(aheadMs) <= CLOCK_TOLERANCE_MS) return ok('clock', 'agrees with the gateway');
  return warning(
    'clock',
    `this machine is ${durationText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} the gateway`,
    'set the clock: times until links and records expire are shown wrong',
  );
}
