// One run of saveOutputs, also for a process of its own (fetch-one-script.ts). Writes facts as JSON lines, like the ledger.
import * as fs from 'node:fs';
import { HttpTransport } from '../../../src/http/transport.ts';
import { Claims } from '../../../src/jobs/save/claims.ts';
import type { DownloadJournal, RecordedPart } from '../../../src/jobs/save/part-file.ts';
import { saveOutputs } from '../../../src/jobs/save/save-outputs.ts';
import type { SavedFile } from '../../../src/ledger/event.ts';

export interface Order {
  readonly url: string;
  readonly target: string;
  readonly ledger: string;
  readonly force?: boolean;
}

export async function fetchOne(order: Order) {
  const parts: Record<string, RecordedPart> = {};
  const files: SavedFile[] = [];
  let downloads = 0;
  const fd = fs.openSync(order.ledger, 'a+');
  for (const line of fs.readFileSync(order.ledger, 'utf8').split('\n').filter(Boolean)) {
    const { get, role, part, gone, saved } = JSON.parse(line);
    if (get) downloads++;
    if (part) parts[role] = part;
    if (gone) delete parts[role];
    if (saved) files.push(saved);
  }
  const append = (fact: object) => {
    fs.writeSync(fd, `${JSON.stringify(fact)}\n`);
    fs.fdatasyncSync(fd);
  };
  const journal: DownloadJournal = {
    downloadsSoFar: downloads,
    parts,
    files,
    waits: {},
    held: () => {},
    aboutToGet: (role) => append({ get: role }),
    part: (role, part) =>
      append(part ? { role, part: { ...part, startedAtMs: Date.now() } } : { role, gone: true }),
    saved: (file) => append({ saved: file }),
  };

  const transport = new HttpTransport({ proxies: undefined });
  const result = await saveOutputs({
    outputs: [{ role: 'video', type: 'video', url: order.url }],
    plan: { target: order.target, force: order.force ?? false, download: true },
    names: { id: 'cgt-1', family: 'alpha', model: undefined, atMs: Date.now() },
    journal,
    claims: new Claims({ find: async () => [], isHeld: () => false }, Date.now()),
    refuge: `${order.ledger}.rescued`,
    maxDownloads: 100,
    refreshLink: async () => undefined,
    transport,
    silenceMs: 10_000,
    clock: {
      now: Date.now,
      steady: () => performance.now(),
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 5))),
    },
    random: Math.random,
    signal: new AbortController().signal,
  });
  await transport.close();
  fs.closeSync(fd);
  const failures = result.failures.map(({ error }) => ({
    kind: error.kind,
    message: error.message,
    ...error.facts,
  }));
  return { files: result.files, failures };
}
