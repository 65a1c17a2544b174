import type { Breakage } from './breakage.ts';

/** Breakages in the record of paid jobs, and in the rules of who may write it. */
export const ledger: readonly Breakage[] = [
  {
    costs: 'a lost job of another gateway is taken up',
    find: 'family: family.name, gateway: intent.gateway, isOpen: true, limit: 1,',
    replace: 'family: family.name, isOpen: true, limit: 1,',
  },
  {
    costs: 'a lost job of another key is taken up',
    find: 'mayExist(each) && !isOtherKey(each, intent.keyId),',
    replace: 'mayExist(each),',
  },
  {
    costs: 'a lost job under another external ID is taken up',
    find: 'externalId, family: family.name,',
    replace: 'family: family.name,',
  },
  {
    costs: 'any error on an old job is taken as its loss',
    find: "const isGone = error instanceof GwError && error.kind === 'not_found'; const lifeMs",
    replace: 'const isGone = error instanceof GwError; const lifeMs',
  },
  {
    costs: 'a sync calls what was sent interrupted',
    find: 'const INTERRUPTED_RANK = 1;',
    replace: 'const INTERRUPTED_RANK = 4;',
  },
  {
    costs: 'a rewritten journal loses its former name, and with it what others append',
    find: 'keepAs(file, former); formers.push(former);',
  },
  {
    costs: 'the former name of a rewritten journal is not durable before it is replaced',
    find: "formers.push(former); syncDirectory(path.dirname(file)); step('put",
    replace: "formers.push(former); step('put",
  },
  {
    costs: 'a rewritten journal is not on the disk when it takes the place of the former',
    find: 'fs.writeFileSync(fd, block); fs.fsyncSync(fd);',
    replace: 'fs.writeFileSync(fd, block);',
  },
  {
    costs: 'a line appended beside a prune is not on the disk when its former journal goes',
    find: 'appendLine(file, rest);',
    replace: "fs.appendFileSync(file, Buffer.concat([Buffer.from('\\n'), rest, Buffer.from('\\n')]));",
  },
  {
    costs: 'resolve closes a job whose task was found meanwhile',
    find: 'refuseKnown(job, key); const hasLinks =',
    replace: 'const hasLinks =',
  },
  {
    costs: "resolve takes another job's task",
    find: 'if (owner) throw usage(`--as',
    replace: 'if (owner && !look) throw usage(`--as',
  },
  {
    costs: 'resolve takes a task that was created under another external ID',
    find: 'if (other !== undefined && other !== open.externalId)',
    replace: 'if (other !== undefined && !look)',
  },
  {
    costs: 'jobs of the sandbox count among those that cost money',
    find: 'namesGateway(ctx) || gatewayName(await ctx.settings()) === EMBEDDED;',
    replace: 'true;',
  },
  {
    costs: 'a create is not held while it is sent, and a sync beside it writes it off',
    find: 'append(key, intent); return hold;',
    replace: 'append(key, intent); lock.release(); return hold;',
  },
  {
    costs: 'a sync judges a job as it was when it was listed',
    find: 'const job = hold.job ?? listed;',
    replace: 'const job = listed;',
  },
  {
    costs: 'a sync writes off an image that another gw is waiting for',
    find: 'const hold = await ledger.hold(key); if (!hold) return undefined; try { if (!hold.job) return undefined;',
    replace:
      'const hold = (await ledger.hold(key)) ?? { job: (await ledger.find({ ids: [key] }))[0], release() {} }; try { if (!hold.job) return undefined;',
  },
  {
    costs: '"interrupted" hides a create that was sent',
    find: 'const INTERRUPTED_RANK = 1;',
    replace: 'const INTERRUPTED_RANK = 4;',
  },
  {
    costs: 'an ID that came is lost on a full disk though the reserve is there',
    find: 'if (!mayUseReserve || !isFull(error) || !giveUpReserve(dir)) throw error;',
    replace: 'throw error;',
  },
  {
    costs: 'the links to images are lost on a full disk though the reserve is there',
    find: "return isTrace && (state === 'sent' || state === 'unknown');",
    replace: 'return false;',
  },
  {
    costs: 'the links of a cut reply are followed and not written down, and a kill loses what is behind them',
    find: 'deps.ledger.append(key, { ...event, ...links })',
    replace: 'deps.ledger.append(key, event)',
  },
  {
    costs: 'a link that was cut is taken for a whole one, and the whole ones beside it may be lost with it',
    find: "kind === 'text' && !tokens.isOpen && (before",
    replace: "kind === 'text' && (before",
  },
  {
    costs: 'a damaged job forgets its family, and is left alone',
    find: "told.find((name) => familyNames.includes(name ?? '')) ?? told[0]",
    replace: 'told[0]',
  },
  {
    costs: 'a paid job whose family cannot be told is passed over in silence',
    find: 'else if (job.isDamaged) warnOfNoFamily(job, io);',
    replace: 'else if (job.isDamaged) continue;',
  },
  {
    costs: 'a refusal of the second sending settles the first one of family B',
    find: 'isRefused = !isDoubt;',
    replace: 'if (!isDoubt) throw error;',
  },
  {
    costs: 'a 409 counts as a refusal, and a create of family B that is there is not looked up',
    find: '451: { ...refused,',
    replace: '409: refused, 451: { ...refused,',
  },
  {
    costs: 'the trial file of a living process is taken away',
    find: 'stats.size > MARK.length || Math.abs(nowMs - stats.mtimeMs) < TRIAL_LIFE_MS',
    replace: 'stats.size > MARK.length',
  },
  {
    costs: 'the hint of a lost image names an answer that images do not have',
    find: "const [known, answer] = family === 'image' ? ['that nothing was made', 'none'] :",
    replace: 'const [known, answer] =',
  },
  {
    costs: 'a damaged piece of the contents is believed, and a paid job is not found',
    find: 'if (crc32(bytes) !== sum) throw',
    replace: 'if (crc32(bytes) === -1) throw',
  },
  {
    costs: 'a name that stands at the end of a page of the contents is not found',
    find: 'while (at > 0 && firstOf(at) >= low) at -= 1;',
  },
  {
    costs: 'a sync passes over a piece of the contents in which one job is open',
    find: 'if (isOpen && open === 0) continue;',
    replace: 'if (isOpen && open < 2) continue;',
  },
  {
    costs: 'the jobs that wait while the contents are made fill the memory',
    find: "let room = how === 'heads' ? SLICE_BYTES :",
    replace: "let room = how === 'heads' ? Number.POSITIVE_INFINITY :",
  },
  {
    costs: 'a job that went on since the contents were made stands there twice',
    find: 'if (!replaced.has(row.key)) yield row;',
    replace: 'yield row;',
  },
  {
    costs: 'a job of the contents that went on is what its last lines alone say',
    find: 'spans = [] } = row ?? {};',
    replace: 'spans = [] } = {};',
  },
  {
    costs: 'each create reads every job of the last hour, and takes the longer the more there are',
    find: 'if (isRecent.has(row.key) || !mayBe(row)) continue;',
    replace: 'if (isRecent.has(row.key)) continue;',
  },
  {
    costs: 'the lines of a journal that is being rewritten are read as all there is',
    find: 'if (isWhole) return opened;',
    replace: 'isWhole = true; return opened;',
  },
];
