import type { Breakage } from './breakage.ts';

/** Breakages of the sandbox, which must refuse what the gateway refuses and serve only this machine. */
export const sandbox: readonly Breakage[] = [
  {
    costs: 'the sandbox can be reached from the network',
    find: "host = '127.0.0.1' } = options;",
    replace: "host = '0.0.0.0' } = options;",
  },
  {
    costs: 'a page of the web calls the sandbox of whoever reads it',
    find: "if (stranger === 'origin')",
    replace: "if (stranger === 'origin' && method === 'TRACE')",
  },
  {
    costs: 'a name that points to this machine reaches the sandbox',
    find: "if (stranger === 'host') return",
    replace: "if (stranger === 'host' && method === 'TRACE') return",
  },
  {
    costs: 'junk passes as a picture',
    find: 'return size.width > 0 && size.height > 0 ? size : undefined;',
    replace: 'return size;',
  },
  {
    costs: 'a picture is measured by what lies beside it in memory',
    find: 'const size = imageSize(new Uint8Array(bytes));',
    replace: 'const size = imageSize(bytes);',
  },
  {
    costs: 'a link works without its signature',
    find: "if (given.length !== right.length || !timingSafeEqual(given, right)) return 'bad';",
    replace: "if (given.length !== right.length) return 'bad';",
  },
  {
    costs: 'a link never expires in a rehearsal',
    find: "return nowMs < Number(expires) * 1000 ? 'good' : 'expired';",
    replace: "return 'good';",
  },
  {
    costs: 'a rehearsal takes bodies that the gateway refuses',
    find: 'if (bytes <= most) return;',
    replace: 'if (bytes <= 2 * most) return;',
  },
  {
    costs: 'the hundred downloads never run out in a rehearsal',
    find: 'world.store.append(downloadRow(id, name), nowMs) >= most',
    replace: 'world.store.append(downloadRow(id, name), nowMs) > most + 1',
  },
  {
    costs: 'a resumed rehearsal gets a byte twice',
    find: 'body: bytes.subarray(start, end + 1),',
    replace: 'body: bytes.subarray(Math.max(0, start - 1), end),',
  },
  {
    costs: 'a file that has changed is resumed in a rehearsal',
    find: 'ignoresRange || ifRange !== etag ?',
    replace: 'ignoresRange ?',
  },
];
