import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest';
import { GALLERY_MARK, type GalleryItem, galleryPage } from '../../src/gallery/page.ts';
import { ledgerOf, savedJob, succeededJob } from '../commands/jobs-seed.ts';
import { clipsDir, test, World } from '../helpers/gw.ts';
import { tinyPng } from '../jobs/save/tiny-media.ts';
import { type BrowserPage, openChromium } from './chromium.ts';

// Tests of `gw gallery`: the files that it writes, and the page in a browser.

/** A job whose output is in the working directory. */
const output = (world: World, id: string, changes: Parameters<typeof savedJob>[3] = {}) =>
  savedJob(world, id, 1000, changes);
const itemsOf = (world: World, name = 'gallery.html'): GalleryItem[] => {
  const page = readFileSync(path.join(world.cwd, name), 'utf8');
  return JSON.parse(/id="items">(.*)<\/script>/.exec(page)?.[1] ?? '');
};

describe('what is written', () => {
  test('is one page with the outputs that are on disk, linked from where it lies', async ({ world }) => {
    const { err } = await world.ok(['gallery', '-o', 'none.html']);
    expect(err).toBe('no output is on disk: the page is empty\n');
    output(world, 'cgt-fox');
    savedJob(world, 'cgt-gone', 2000);
    rmSync(`${world.cwd}/cgt-gone.mp4`);
    const run = await world.gw(['gallery', '-o', 'pages/']);
    expect([run.code, run.out]).toEqual([0, `${path.join(world.cwd, 'pages/gallery.html')}\n`]);
    expect(run.err).toBe('1 of 2 outputs are not on disk as saved: left out\n');
    expect(itemsOf(world, 'pages/gallery.html')).toEqual([
      {
        ...{ id: 'cgt-fox', family: 'alpha', model: 'alpha-video-2-5-260628', prompt: 'a fox in the snow' },
        ...{ settings: 'resolution 720p, duration 5', cost: '', amount: 0, type: 'video/mp4' },
        ...{ createdAtMs: world.clock.ms - 1000, file: 'cgt-fox.mp4', href: '../cgt-fox.mp4' },
        command: 'gw again cgt-fox',
        next: "gw video alpha create 'what happens next' --first-frame job:cgt-fox --wait --profile default",
        ...{ from: [], into: [] },
      },
    ]);
  });

  test('links what was made from what both ways, and has a command for each that runs', {
    tags: ['ffmpeg'],
  }, async ({ world }) => {
    const env = { PATH: process.env.PATH ?? '' };
    const gw = async (...argv: string[]) => {
      world.clock.ms += 1000;
      const run = await world.ok(argv, { env });
      return run.out;
    };
    await gw('image', 'create', 'a fox', '--n', '2', '-o', 'fox-{index}.png');
    const from = ['--first-frame', 'job:last#image.2', '--wait', '-o'];
    await gw('video', 'gamma', 'create', 'it', '--resolution', '768P', '--duration', '4', ...from, 'c.mp4');
    const on = ['--first-frame', 'job:last', '--wait', '-o'];
    await gw('video', 'beta', 'create', 'it', '--mode', 'o1', ...on, 'b.mp4');
    await gw('video', 'alpha', 'create', 'it', '-m', '2.0', '--return-last-frame', ...on, 'a.mp4');
    await gw('gallery');
    const items = itemsOf(world);
    const names = (related: GalleryItem['from']) => related.map(({ name }) => name);
    const told = items.map(({ file, from, into }) => [names(from), file, names(into)]);
    expect(told.sort()).toEqual([
      [[], 'fox-1.png', []],
      [[], 'fox-2.png', ['c.mp4']],
      [['b.mp4'], 'a-last-frame.png', []],
      [['b.mp4'], 'a.mp4', []],
      [['c.mp4'], 'b.mp4', ['a.mp4']],
      [['fox-2.png'], 'c.mp4', ['b.mp4']],
    ]);
    for (const { id, file, next } of items) {
      const argv = execFileSync('sh', ['-c', `gw() { printf '%s\\n' "$@"; }; ${next}`]).toString();
      const part = /fox-(.)/.exec(file)?.[1];
      const shot = part === '1' ? 'image' : part ? 'image.2' : 'last_frame';
      expect(await gw(...argv.trim().split('\n'), '--dry-run')).toContain(`job:${id}#${shot} sha256:`);
    }
  });

  test('is chosen by --since, --family, --batch, --profile and --sandbox, and told with --json', async () => {
    const world = await World.open();
    output(world, 'cgt-a');
    output(world, 'cgt-b', { family: 'gamma', endpoint: 'gamma.create', profile: 'other' });
    output(world, 'cgt-c', { once: { key: 'day/c', attempt: 1, fields: {} } });
    const ids = async (...argv: string[]) => {
      const run = await world.ok(['gallery', '--json', ...argv]);
      const items = itemsOf(world).map(({ id }) => id);
      expect(JSON.parse(run.out)).toEqual({
        path: path.join(world.cwd, 'gallery.html'),
        outputs: items.length,
      });
      return items.sort();
    };
    expect(await ids()).toEqual(['cgt-a', 'cgt-b', 'cgt-c']);
    expect(await ids('--family', 'gamma')).toEqual(['cgt-b']);
    expect(await ids('--batch', 'day')).toEqual(['cgt-c']);
    expect(await ids('--since', '2027-01-01')).toEqual([]);
    expect(await ids('--sandbox')).toEqual([]);
    const listed = await world.gw(['jobs', 'list', '--batch', 'day', '-q']);
    expect(listed.out).toBe('cgt-c\n');
  });

  test('says what each cost, and that the sandbox costs nothing', async ({ world }) => {
    writeFileSync(
      path.join(world.cwd, 'p.json'),
      JSON.stringify({ 'alpha-video-2-5-260628': { per_second: 0.1, currency: 'CNY' } }),
    );
    await world.ok(['config', 'set', 'prices', 'p.json']);
    output(world, 'cgt-a');
    output(world, 'cgt-s', { gateway: 'sandbox:', profile: 'sandbox' });
    await world.ok(['gallery']);
    const costs = itemsOf(world).map(({ id, cost, amount }) => [id, cost, amount]);
    expect(costs.sort()).toEqual([
      ['cgt-a', '0.5 CNY by your price file', 0.5],
      ['cgt-s', 'sandbox', 0],
    ]);
  });

  test('is dated by the local calendar', async ({ world }) => {
    const zone = process.env.TZ;
    onTestFinished(() => {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    });
    const days = new Set<string | undefined>();
    for (process.env.TZ of ['Pacific/Kiritimati', 'Pacific/Niue']) {
      await world.ok(['gallery']);
      const page = readFileSync(path.join(world.cwd, 'gallery.html'), 'utf8');
      days.add(/Written by gw \S+ on ([\d-]+)/.exec(page)?.[1]);
    }
    expect(days.size).toBe(2);
  });

  test('replaces a page that gw wrote, and never another file', async ({ world }) => {
    output(world, 'cgt-a');
    for (let time = 0; time < 2; time += 1) await world.ok(['gallery']);
    const mine = path.join(world.cwd, 'mine.html');
    writeFileSync(mine, `<p>mine</p>${' '.repeat(600)}${GALLERY_MARK}`);
    symlinkSync(path.join(world.cwd, 'gallery.html'), path.join(world.cwd, 'link.html'));
    for (const [name, kind] of [
      ['mine.html', 'not a gallery that gw wrote'],
      ['link.html', 'a symbolic link'],
      ['cgt-a.mp4', 'not a gallery that gw wrote'],
    ] as const) {
      const run = await world.gw(['gallery', '-o', name]);
      expect([run.code, run.err]).toEqual([
        2,
        `error: ${path.join(world.cwd, name)}: is there already, and is ${kind}\n` +
          'hint: give the page another name with -o\n',
      ]);
    }
    expect(readFileSync(mine, 'utf8')).toContain('<p>mine</p>');
    expect(Object.keys(world.files()).filter((name) => name.startsWith('.'))).toEqual([]);
    expect((await world.gw(['gallery', '-o', '-'])).err).toBe(
      'error: --out -: a gallery links to files beside it\nhint: name a file\n',
    );
    writeFileSync(path.join(world.cwd, 'file'), '');
    expect((await world.gw(['gallery', '-o', 'file/x.html'])).err).toContain(
      'the page cannot be written there: a ',
    );
  });

  test('holds no link, key or data, and a policy that names its own script and style and forbids all else', () => {
    const page = galleryPage([], 'Written by gw 1 on 2026-11-20');
    expect(page).not.toMatch(/https?:/);
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1]?.split('; ') ?? [];
    const hash = (tag: string) => {
      const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page)?.[1] ?? '';
      return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    };
    expect(policy).toEqual([
      "default-src 'none'",
      "img-src 'self' file:",
      "media-src 'self' file:",
      `style-src ${hash('style')}`,
      `script-src ${hash('script')}`,
      "base-uri 'none'",
      "form-action 'none'",
    ]);
    expect(page.slice(0, 512)).toContain(GALLERY_MARK);
  });
});

describe('in a browser', { tags: ['chromium'] }, () => {
  const hostile = [
    '</script><script>window.taken = 1</script>',
    '<img src=x onerror="window.taken = 1"> <!-- <script>',
    '"><svg onload=window.taken=1> \u2028 \u202e {{7*7}}',
    'javascript:window.taken=1',
  ];
  let world: World;
  let page: BrowserPage;
  let url: string;
  const strangers: string[] = [];
  const server = createServer((request, response) => {
    strangers.push(request.url ?? '');
    response.end();
  });

  beforeAll(async () => {
    world = await World.open();
    const ledger = ledgerOf(world);
    const names = ['plain.mp4', 'a "quoted" #1 %41 ?.png', '<b>.png', 'javascript:alert(1).png'];
    for (const [at, prompt] of ['a red fox', ...hostile, 'a boat, GLAD'].entries()) {
      const id = `cgt-${at}`;
      const key = succeededJob(world, id, at * 60_000, {
        prompt,
        ...(at === 5 && { family: 'gamma', endpoint: 'gamma.create', model: 'gamma-H3' }),
      });
      const file = path.join(world.cwd, names[at] ?? `${id}.png`);
      writeFileSync(file, at === 0 ? readFileSync(path.join(clipsDir, '768p-9x16.mp4')) : tinyPng);
      const type = at === 0 ? 'video/mp4' : 'image/png';
      const saved = { path: file, bytes: readFileSync(file).length, sha256: 'ab', type };
      ledger.append(key, { event: 'saved', role: 'video', ...saved });
    }
    await world.ok(['gallery']);
    url = pathToFileURL(path.join(world.cwd, 'gallery.html')).href;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    page = await openChromium();
    await page.open(url);
  });
  afterAll(async () => {
    await page.close();
    server.close();
    await world.close();
  });

  const prompts = () =>
    page.evaluate<string[]>(
      "[...document.querySelectorAll('.card .prompt')].map((each) => each.textContent)",
    );
  const copied = () => page.evaluate<string[]>('window.copied');
  const watchCopies = () =>
    page.evaluate(
      'window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }; 0',
    );

  test('shows every output by picture or first frame, prompts as they are, and asks for nothing but the files', async () => {
    const shown = hostile.map((each) => each.replace('\u202e', '\\u202e'));
    expect(await prompts()).toEqual(['a red fox', ...shown, 'a boat, GLAD']);
    await page.until('[...document.images].every((each) => each.complete && each.naturalWidth > 0)');
    await page.until("document.querySelector('video').readyState >= 2");
    expect(await page.evaluate("document.querySelector('video').videoHeight")).toBeGreaterThan(0);
    expect(await page.evaluate('window.taken ?? null')).toBe(null);
    expect(await page.evaluate("document.querySelectorAll('#grid script, #grid svg, #grid b').length")).toBe(
      0,
    );
    const away = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const attempt of [
      `fetch('${away}/fetch').then(() => 'sent', () => 'refused')`,
      `new Promise((done) => { const image = new Image(); image.onload = () => done('sent'); image.onerror = () => done('refused'); image.src = '${away}/image'; })`,
      `new Promise((done) => { const script = document.createElement('script'); script.onload = () => done('sent'); script.onerror = () => done('refused'); script.src = '${away}/script'; document.head.append(script); })`,
    ]) {
      expect(await page.evaluate(attempt)).toBe('refused');
    }
    expect(
      await page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<p onclick=\"window.taken = 1\" id=x></p>'); x.click(); window.taken ?? null",
      ),
    ).toBe(null);
    expect(strangers).toEqual([]);
    expect(page.asked.filter((each) => !each.startsWith('file:') && !each.startsWith(away))).toEqual([]);
    for (const each of page.asked.filter((one) => one.startsWith('file:')))
      expect(each.startsWith(url.slice(0, url.lastIndexOf('/')))).toBe(true);
  });

  test('searches, filters and sorts', async () => {
    await page.open(url);
    await page.press('/');
    await page.type('glad BOAT');
    await page.until("document.querySelectorAll('.card').length === 1");
    expect(await prompts()).toEqual(['a boat, GLAD']);
    expect(await page.evaluate("document.getElementById('count').textContent")).toBe('1 of 6 outputs');
    await page.type(' nothing');
    await page.until("!document.getElementById('none').hidden");
    await page.press('Escape');
    expect(await prompts()).toHaveLength(6);
    const choose = (id: string, value: string) =>
      page.evaluate(
        `(() => { const it = document.getElementById('${id}'); it.value = '${value}'; it.dispatchEvent(new Event('change')); return 0; })()`,
      );
    await choose('family', 'gamma');
    expect(await prompts()).toEqual(['a boat, GLAD']);
    await choose('family', '');
    await choose('model', 'gamma-H3');
    expect(await prompts()).toEqual(['a boat, GLAD']);
    await choose('model', '');
    await choose('sort', 'oldest');
    expect((await prompts())[0]).toBe('a boat, GLAD');
  });

  test('copies the prompt and the command, by button and by key', async () => {
    await page.open(url);
    await watchCopies();
    const labels = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.card')[1].querySelectorAll('button')].map((each) => each.textContent)",
    );
    expect(labels).toEqual(['Copy prompt', 'Copy command', 'Copy next shot']);
    await page.evaluate(
      "for (const each of document.querySelectorAll('.card')[1].querySelectorAll('button')) each.click(); 0",
    );
    await page.until('window.copied.length === 3');
    const next = expect.stringContaining('--first-frame job:cgt-1 ');
    expect(await copied()).toEqual([hostile[0], 'gw again cgt-1', next]);
    await page.press('Home');
    await page.press('ArrowRight');
    await page.press('ArrowRight');
    await page.press('ArrowLeft');
    await page.press('ArrowRight');
    await page.press('p');
    await page.press('c');
    await page.until('window.copied.length === 5');
    expect((await copied()).slice(3)).toEqual([hostile[1], 'gw again cgt-2']);
    await page.press('End');
    expect(
      await page.evaluate("[...document.querySelectorAll('.card')].indexOf(document.activeElement)"),
    ).toBe(5);
    await page.evaluate(
      "window.clicked = ''; document.addEventListener('click', (event) => { window.clicked = event.target.href; event.preventDefault(); }); 0",
    );
    await page.press('Enter');
    expect(await page.evaluate('window.clicked')).toMatch(/cgt-5\.png$/);
  });

  test('is dark or light as the desktop is, and as one chooses', async () => {
    await page.open(url);
    const back = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const seen: Record<string, string> = {};
    for (const value of ['light', 'dark']) {
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
      seen[value] = await back();
    }
    expect(seen.dark).not.toBe(seen.light);
    await page.press('d');
    expect(await back()).toBe(seen.light);
    await page.press('d');
    expect(await back()).toBe(seen.dark);
  });

  test('with 2,000 outputs draws what is looked at, and finds one among them', async () => {
    const items = Array.from(
      { length: 2000 },
      (_, at): GalleryItem => ({
        ...{
          id: `cgt-${at}`,
          family: 'alpha',
          model: 'alpha-video-2-5-260628',
          prompt: `a fox, number ${at}`,
        },
        ...{ settings: 'duration 5', cost: '', amount: 0, createdAtMs: at, file: `${at}.png` },
        ...{ href: 'plain.mp4', type: 'video/mp4', command: `gw again cgt-${at}` },
        ...{ next: null, from: [], into: [] },
      }),
    );
    const file = path.join(world.cwd, 'many.html');
    writeFileSync(file, galleryPage(items, ''));
    await page.open(pathToFileURL(file).href);
    expect(await page.evaluate("document.getElementById('count').textContent")).toBe('2000 outputs');
    expect(await page.evaluate("document.querySelectorAll('.card').length")).toBeLessThanOrEqual(300);
    // Videos outside the view must be unloaded.
    expect(await page.evaluate("document.querySelectorAll('video[src]').length")).toBeLessThanOrEqual(60);
    await page.press('/');
    await page.type('number 1234');
    await page.until("document.querySelectorAll('.card').length === 1");
    expect(await prompts()).toEqual(['a fox, number 1234']);
    await page.press('Escape');
    await page.press('End');
    await page.until("document.querySelectorAll('.card').length === 2000");
    expect(await page.evaluate('document.activeElement.querySelector(".prompt").textContent')).toBe(
      'a fox, number 0',
    );
  });
});
