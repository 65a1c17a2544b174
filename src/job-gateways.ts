import { type Context, type Gateways, gatewayName } from './context.ts';
import { GwError } from './errors.ts';
import type { GlobalFlags } from './flags/flag.ts';
import type { Job } from './ledger/event.ts';
import { EMBEDDED } from './ledger/job-key.ts';

// Each job is looked up at its own gateway with the API key of its own profile: two profiles may be two accounts of
// one gateway, and neither account sees the other's tasks.

type JobGateways = Pick<Context, 'ownsJob' | 'gatewayOf' | 'gatewayWithoutKey'>;

/** Finds the gateway of each job, and opens each gateway once. */
export function createJobGateways(gateways: Gateways, globals: GlobalFlags): JobGateways {
  const showsOnly = globals.dryRun === true || globals.curl === true;
  const storedSettings = kept((profile: string) => {
    const { insecureHttp, timeout, retries } = globals;
    const only =
      profile === EMBEDDED ? { sandbox: true } : { profile, storedOnly: true, profileMayBeNew: true };
    return gateways.settingsWith({ insecureHttp, timeout, retries, ...only });
  });
  const storedAccess = kept(async (profile: string) => gateways.accessTo(await storedSettings(profile)));
  const placeOf = (job: Job) => (job.gateway === EMBEDDED ? EMBEDDED : job.profile);

  /** True if the current gateway and account are the job's own; undefined if the job's gateway cannot be reached. */
  const isInForce = async (job: Job): Promise<boolean | undefined> => {
    const inForce = await gateways.settings();
    const isHere = gatewayName(inForce) === job.gateway;
    if (isHere && (inForce.sandbox || inForce.profile.value === job.profile)) return true;
    const stored = await storedSettings(placeOf(job));
    if (gatewayName(stored) !== job.gateway) return isHere || undefined;
    return isHere && stored.keySource() === undefined && (await isKeyOf(job));
  };

  /** True if the job was sent with the current API key, whatever its profile was. */
  const isKeyOf = async ({ keyId }: Job): Promise<boolean> => {
    if (keyId === undefined || showsOnly) return false;
    const access = await gateways.gateway().catch(() => undefined);
    return access?.keyId === keyId;
  };

  const gatewayWithoutKey = kept(
    async (job: Job) => gateways.accessWithoutKey(job, await storedSettings(placeOf(job))),
    (job) => `${placeOf(job)} ${job.gateway}`,
  );

  return {
    ownsJob: async (job) =>
      gatewayName(await gateways.settings()) === job.gateway &&
      (globals.profile === undefined || (await isInForce(job)) === true),
    gatewayOf: async (job) => {
      if (showsOnly) return gatewayWithoutKey(job);
      try {
        const here = await isInForce(job);
        if (here === undefined) throw noWayTo(job);
        return here ? await gateways.gateway() : await storedAccess(placeOf(job));
      } catch (error) {
        throw ofJob(error, job);
      }
    },
    gatewayWithoutKey,
  };
}

function kept<A, T>(make: (about: A) => Promise<T>, nameOf: (about: A) => string = String) {
  const made = new Map<string, Promise<T>>();
  return (about: A): Promise<T> => {
    const one = made.get(nameOf(about)) ?? make(about);
    made.set(nameOf(about), one);
    return one;
  };
}

const noWayTo = ({ id, key, gateway, profile }: Job): GwError =>
  new GwError(
    'auth',
    `job ${id ?? key} belongs to ${gateway}, and profile ${profile} is not stored with that address`,
    { taskId: id ?? key, hint: `give that gateway with --base-url ${gateway} and its key with GW_API_KEY` },
  );

const ofJob = (error: unknown, { id, key }: Job): unknown =>
  error instanceof GwError && error.facts.taskId === undefined
    ? error.told({ taskId: id ?? key }, `job ${id ?? key}: ${error.message}`)
    : error;
