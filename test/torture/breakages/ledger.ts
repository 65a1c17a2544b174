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
  {
    costs: 'a create is not held while it is sent, and a sync beside it writes it off',
    find: 'append(key, intent); return hold;',
    replace: 'append(key, intent); lock.release(); return hold;',
    tests: ['ledger/orders'],
  },
  {
    costs: 'a sync judges a job as it was when it was listed',
    find: 'const job = hold.job ?? listed;',
    replace: 'const job = listed;',
    tests: ['ledger/orders'],
  },
  {
    costs: 'a sync writes off an image that another gw is waiting for',
    find: 'const hold = await ledger.hold(key); if (!hold) return undefined; try { // As it stands now: its process may have come further since the job was listed. const { job } = hold;',
    replace:
      'const hold = (await ledger.hold(key)) ?? { job: (await ledger.find({ ids: [key] }))[0], release() {} }; try { const { job } = hold;',
    tests: ['jobs/image/sync'],
  },
  {
    costs: '"interrupted" hides a create that was sent',
    find: 'const INTERRUPTED_RANK = 1;',
    replace: 'const INTERRUPTED_RANK = 4;',
    tests: ['ledger/fold', 'ledger/orders'],
  },
  {
    costs: 'an ID that came is lost on a full disk though the reserve is there',
    find: "if (event.event !== 'accepted' || !isFull(error) || !giveUpReserve(dir)) throw error;",
    replace: 'throw error;',
    tests: ['ledger/write-faults'],
  },
  {
    costs: 'a damaged job forgets its family, and is left alone',
    find: "told.find((name) => familyNames.includes(name ?? '')) ?? told[0]",
    replace: 'told[0]',
    tests: ['commands/jobs'],
  },
  {
    costs: 'a paid job whose family cannot be told is passed over in silence',
    find: 'else if (job.isDamaged) warnOfNoFamily(job, io);',
    replace: 'else if (job.isDamaged) continue;',
    tests: ['commands/jobs'],
  },
  {
    costs: 'a refusal of the second sending settles the first one of family B',
    find: 'isRefused = !isDoubt;',
    replace: 'if (!isDoubt) throw error;',
    tests: takenUp,
  },
  {
    costs: 'a 409 counts as a refusal, and a create of family B that is there is not looked up',
    find: '451: { ...refused,',
    replace: '409: refused, 451: { ...refused,',
    tests: takenUp,
  },
  {
    costs: 'the trial file of a living process is taken away',
    find: 'stats.size > 1 || Math.abs(nowMs - stats.mtimeMs) < TRIAL_LIFE_MS',
    replace: 'stats.size > 1',
    tests: ['jobs/save/target'],
  },
  {
    costs: 'the hint of a lost image names an answer that images do not have',
    find: "family === 'image' ? ['that nothing was made', 'none'] : ['what became of it', 'ID|none']",
    replace: "['what became of it', 'ID|none']",
    tests: ['commands/image'],
  },
  {
    costs: 'a damaged piece of the index is believed, and a paid job is not found',
    find: 'crc32(bytes) !== block.sum',
    replace: 'crc32(bytes) === -1',
    tests: ['ledger/index'],
  },
  {
    costs: 'an ID that stands behind the first of a piece of the index is not found',
    find: 'firstWhere(run, ({ first }) => first >= beginning) - 1',
    replace: 'firstWhere(run, ({ first }) => first >= beginning)',
    tests: ['ledger/index'],
  },
  {
    costs: 'a sync passes over a piece of the index in which one job is open',
    find: '!(isOpen && open === 0)',
    replace: '!(isOpen && open < 2)',
    tests: ['ledger/index'],
  },
  {
    costs: 'after a prune that was killed, jobs are listed twice',
    find: 'if (!this.#index.write(this.dir)) return this.#readAnew(Number.POSITIVE_INFINITY);',
    replace: 'this.#index.write(this.dir);',
    tests: ['ledger/index'],
  },
  {
    costs: 'the jobs that wait while the index is made fill the memory',
    find: 'waiting.length > MOST_WAITING',
    replace: 'waiting.length < 0',
    tests: ['ledger/index'],
  },
  {
    costs: 'jobs that give way to others while the index is made are forgotten',
    find: 'if (isAll) for (const entry of waiting) makeRow',
    replace: "if (which === 'all') for (const entry of waiting) makeRow",
    tests: ['ledger/index'],
  },
  {
    costs: 'a look for a name stops after three pieces of the index',
    find: 'if (line < lines.length) break; from += 1;',
    replace: 'if (line < lines.length) break; from += 1; if (from > 2) break;',
    tests: ['ledger/index'],
  },
  {
    costs: 'what is kept of the names ends after four pieces of the index',
    find: 'names.push([bytes, sum, first]);',
    replace: 'names.push([bytes, sum, first]); if (names.length === 4) break;',
    tests: ['ledger/index'],
  },
  {
    costs: 'each create reads every job of the last hour, and takes the longer the more there are',
    find: 'if (mayAsk(line, row.key, bodySha256)) yield row;',
    replace: 'yield row;',
    tests: ['ledger/index'],
  },
  {
    costs: 'a create does not tell of the same one under an external ID with a space in it',
    find: 'id === undefined || line.includes(bodySha256(id))',
    replace: 'line.includes(bodySha256(id))',
    tests: ['ledger/index'],
  },
];
