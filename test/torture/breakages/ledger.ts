import type { Breakage } from './breakage.ts';

const takenUp = ['jobs/create/exactly-once'];
const rewritten = ['ledger/remove'];

/** What is known of a paid job, and who may say it. */
export const ledger: readonly Breakage[] = [
  {
    costs: 'a lost job of another gateway is taken up',
    find: 'family: family.name, gateway: intent.gateway, isOpen: true, limit: 1 },',
    replace: 'family: family.name, isOpen: true, limit: 1 },',
    tests: takenUp,
  },
  {
    costs: 'a lost job of another key is taken up',
    find: 'isLost(each) && !isOtherKey(each, intent.keyId),',
    replace: 'isLost(each),',
    tests: takenUp,
  },
  {
    costs: 'a lost job under another external ID is taken up',
    find: '...{ externalId, family: family.name,',
    replace: '...{ family: family.name,',
    tests: takenUp,
  },
  {
    costs: 'any error on an old job is taken as its loss',
    find: "const isGone = error instanceof GwError && error.kind === 'not_found'; return (",
    replace: 'const isGone = error instanceof GwError; return (',
    tests: ['commands/jobs-look'],
  },
  {
    costs: 'a sync calls what was sent interrupted',
    find: 'const INTERRUPTED_RANK = 1;',
    replace: 'const INTERRUPTED_RANK = 4;',
    tests: ['ledger/fold'],
  },
  {
    costs: 'a rewritten journal loses its former name, and with it what others append',
    find: 'fs.linkSync(file, former); formers.push(former);',
    replace: '',
    tests: rewritten,
  },
  {
    costs: 'the former name of a rewritten journal is not durable before it is replaced',
    find: "formers.push(former); syncDirectory(path.dirname(file)); step('put",
    replace: "formers.push(former); step('put",
    tests: rewritten,
  },
  {
    costs: 'a rewritten journal is not on the disk when it takes the place of the former',
    find: 'fs.writeFileSync(fd, block); fs.fsyncSync(fd);',
    replace: 'fs.writeFileSync(fd, block);',
    tests: rewritten,
  },
  {
    costs: 'a line appended beside a prune is not on the disk when its former journal goes',
    find: "rest, Buffer.from('\\n')])); fs.fsyncSync(fd);",
    replace: "rest, Buffer.from('\\n')]));",
    tests: rewritten,
  },
  {
    costs: 'resolve closes a job whose task was found meanwhile',
    find: 'refuseKnown(job, key); if (job && Object.keys(job.parts).length > 0) {',
    replace: 'if (job && Object.keys(job.parts).length > 0) {',
    tests: ['commands/jobs-resolve'],
  },
  {
    costs: "resolve takes another job's task",
    find: 'if (owner) throw usage(`--as',
    replace: 'if (owner && !look) throw usage(`--as',
    tests: ['commands/jobs-resolve'],
  },
  {
    costs: 'resolve takes a task that was created under another external ID',
    find: 'if (other !== undefined && other !== open.externalId) {',
    replace: 'if (other !== undefined && !look) {',
    tests: ['commands/jobs-resolve'],
  },
  {
    costs: 'jobs of the sandbox count among those that cost money',
    find: 'const known = namesGateway(ctx) ? own : own.filter(({ job }) => job.gateway !== EMBEDDED);',
    replace: 'const known = own;',
    tests: ['commands/jobs-limited'],
  },
];
