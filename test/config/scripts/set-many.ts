// Adds COUNT profiles named TAG-N to the configuration in the directory DIR, one write each.
import { updateConfig } from '../../../src/config/change-config.ts';

const [dir = '', count = '0', tag = ''] = process.argv.slice(2);
const clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
};
const host = { env: { GW_CONFIG_DIR: dir }, cwd: '/', platform: process.platform, homeDir: undefined, clock };
async function run(): Promise<void> {
  for (let number = 0; number < Number(count); number++) {
    await updateConfig(host, (config) => ({
      ...config,
      profiles: { ...config.profiles, [`${tag}-${number}`]: { retries: number } },
    }));
  }
}
run().catch((error) => {
  process.stderr.write(`${error}\n`);
  process.exitCode = 1;
});
