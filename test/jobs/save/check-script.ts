// Checks that outputs can be saved in a directory.
import { checkTarget } from '../../../src/jobs/save/check-target.ts';

const [dir = ''] = process.argv.slice(2);
const plan = { target: `${dir}/{id}.{ext}`, force: false, download: true };
checkTarget(plan, { family: 'alpha', model: 'm', atMs: Date.now(), outputsExpected: 1 });
