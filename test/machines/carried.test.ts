import { expect, test } from 'vitest';
import { carriedCheck, requestOf } from '../../src/commands/machines/carried.ts';

// A row's request on the queue keeps the words that were given, and not the words of the whole body.

type Checked = Parameters<typeof carriedCheck>[1];

/** The request that another machine keeps for `gw again` of a row whose body holds the texts of `prompt`. */
async function carried(flags: Record<string, unknown>, prompt: string, own?: string) {
  const row = { row: 1, line: 1, key: 'day/a', command: 'video beta', flags, set: [] };
  const request = { command: row.command, flags: own ? { prompt: own } : {}, prompted: true, files: {} };
  const intent = { endpoint: 'beta.create', gateway: '', prompt, settings: {}, media: [], request };
  const files = { dir: '/', confined: (file: string) => file };
  const io = { withoutSecrets: (text: string) => text } as Parameters<typeof carriedCheck>[3]['io'];
  const checked = { request: { intent }, fields: async () => ({}) } as unknown as Checked;
  return requestOf(row, await carriedCheck(row, checked, files, { io }), '/');
}

test('a prompt beside further texts of --set is kept alone, also where a file holds it', async () => {
  for (const flags of [{ prompt: 'a fox' }, { promptFile: 'words.txt' }]) {
    const kept = await carried(flags, 'a fox\na hare', 'a fox');
    expect(kept).toMatchObject({ flags: { prompt: 'a fox' }, prompted: true });
  }
  expect(await carried({ prompt: 'a fox' }, 'a fox')).toMatchObject({ flags: {}, prompted: true });
});

test('shots are no prompt', async () => {
  const kept = await carried({ shot: ['3:a fox'] }, 'Shot 1: a fox');
  expect(kept).toMatchObject({ flags: { shot: ['3:a fox'] }, prompted: false });
});
