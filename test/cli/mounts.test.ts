import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { disks, mountAt } from './mounts.ts';
import { openNearPlace } from './near-place.ts';
import { create, creates, sha256AtServer, sha256Of } from './place.ts';

// On file systems that people save to, gw replaces an unsupported operation with another one and loses nothing.

describe.each(disks)('%s', (_, tags, mount) => {
  test('takes videos, images, their sidecars and a batch, whole and without replacing anything', {
    tags,
  }, async () => {
    const place = await openNearPlace({ speed: 3_000, minTaskMs: 1 });
    const dir = await mountAt(place, mount);
    const [fox, picture] = [path.join(dir, 'fox.mp4'), path.join(dir, 'fox.png')];
    fs.writeFileSync(fox, 'mine');
    const gw = async (...argv: string[]) => {
      const ended = await place.run([...argv, '-q']);
      expect(ended.code, ended.err).toBe(0);
      return ended.out.trim().split('\n');
    };
    const video = [...create, 'a fox', '-o', fox, '--sidecar'];
    expect(await gw(...video)).toEqual([path.join(dir, 'fox-1.mp4')]);
    expect(fs.readFileSync(fox, 'utf8')).toBe('mine');
    expect(await gw(...create, 'a fox', '-o', fox, '--force')).toEqual([fox]);
    expect(await gw('image', 'create', 'a fox', '-o', picture, '--sidecar')).toEqual([picture]);
    expect(await gw('image', 'create', 'a fox', '-o', picture)).toEqual([path.join(dir, 'fox-1.png')]);
    for (const name of ['native.png', 'native-1.png'])
      expect(await gw('image', 'native', 'a fox', '-o', path.join(dir, 'native.png'))).toEqual([
        path.join(dir, name),
      ]);
    const [long, next] = [251, 249].map((length, copy) =>
      path.join(dir, `${'x'.repeat(length)}${copy === 0 ? '' : '-1'}.mp4`),
    ) as [string, string];
    // This driver loses some files with long names when they are renamed.
    const hasLongNames = !tags.includes('fusefat');
    if (hasLongNames) {
      fs.writeFileSync(long, 'mine');
      expect(await gw(...create, 'a fox', '-o', long)).toEqual([next]);
      expect(fs.readFileSync(long, 'utf8')).toBe('mine');
    }
    const rows = Array.from({ length: 20 }, (_row, at) =>
      JSON.stringify({ command: 'image create', prompt: `fox ${at}`, id: `r${at}` }),
    );
    fs.writeFileSync(path.join(place.cwd, 'rows.jsonl'), rows.join('\n'));
    expect(await gw('batch', 'run', 'rows.jsonl', '-o', `${dir}/batch/{row}.{ext}`)).toHaveLength(20);
    const jobs = await place.jobs();
    const files = jobs.flatMap((job) => job.files);
    const made = hasLongNames ? 27 : 26;
    expect([creates(place.sandbox).length, jobs.length, files.length]).toEqual([made, made, made]);
    for (const file of files) expect(sha256Of(file.path), file.path).toBe(file.sha256);
    const [last] = jobs.filter(({ family }) => family === 'alpha');
    for (const name of ['what?.mp4', 'été.mp4']) {
      const odd = await place.run([...create, 'a fox', '-o', path.join(dir, name)]);
      if (tags.includes('dosfstools'))
        expect([odd.code, odd.err]).toEqual([2, expect.stringContaining('files cannot be saved in')]);
      else fs.rmSync(path.join(dir, name));
    }
    expect(last?.files[0]?.sha256).toBe(await sha256AtServer(place.sandbox, last?.id ?? ''));
    expect(fs.readdirSync(dir).sort()).toEqual(
      [
        'batch',
        'fox-1.mp4',
        'fox-1.mp4.json',
        'fox-1.png',
        'fox.mp4',
        'fox.png',
        'fox.png.json',
        'native-1.png',
        'native.png',
        ...(hasLongNames ? [long, next].map((file) => path.basename(file)) : []),
      ].sort(),
    );
    const rescued = path.join(place.state, 'rescued');
    expect(fs.existsSync(rescued) ? fs.readdirSync(rescued) : []).toEqual([]);
  });

  test('keeps the ledger and the settings, or is refused with a hint that fits', { tags }, async () => {
    const place = await openNearPlace({ speed: 3_000, minTaskMs: 1 });
    const dir = await mountAt(place, mount);
    const env = { GW_STATE_DIR: path.join(dir, 'state'), GW_CONFIG_DIR: path.join(dir, 'config') };
    const keepsNoModes = tags.includes('ntfs-3g');
    // On these file systems a file that has content cannot be opened for appending.
    const takesNoLedger = keepsNoModes || mount === disks[1]?.[2];
    for (const [at, prompt] of ['a fox', 'an owl'].entries()) {
      const made = await place.run([...create, prompt], { env: { ...env, GW_CONFIG_DIR: undefined } });
      expect(made.code, made.err).toBe(takesNoLedger ? 2 : 0);
      if (takesNoLedger) expect(made.err).toMatch(/\nhint: .*set GW_STATE_DIR to a directory/);
      if (keepsNoModes) expect(made.err).not.toContain('chmod');
      expect(creates(place.sandbox)).toHaveLength(takesNoLedger ? 0 : at + 1);
    }
    if (!takesNoLedger) {
      expect(await place.jobs(env.GW_STATE_DIR)).toHaveLength(2);
      // The FAT driver refuses to extend some files.
      for (const question of tags.includes('fusefat') ? [] : ['a fox', 'an owl']) {
        const { code, err } = await place.run(['chat', question, '--session', 'talk'], { env });
        expect(code, err).toBe(0);
      }
    }
    for (const value of ['2s', '3s']) {
      const set = await place.run(['config', 'set', 'interval', value], { env });
      const told = await place.run(['config', 'get', 'interval'], { env });
      if (keepsNoModes)
        expect([set.code, set.err]).toEqual([2, expect.stringContaining('set GW_CONFIG_DIR')]);
      else expect([set.code, told.out], set.err).toEqual([0, `${value}\n`]);
    }
  });
});
