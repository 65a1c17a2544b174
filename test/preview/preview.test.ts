import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { inflateSync } from 'node:zlib';
import encodeJpeg, { init as initJpeg } from '@jsquash/jpeg/encode.js';
import encodeWebp, { init as initWebp } from '@jsquash/webp/encode.js';
import { describe, expect, test } from 'vitest';
import { halfBlocks, type Pixels, shrunk } from '../../src/preview/half-blocks.ts';
import { depthOf, type Graphics, previewText, showPreview } from '../../src/preview/show-preview.ts';
import { makePng } from '../../src/sandbox/media-check.ts';
import { assetsDir, wasmDir } from '../helpers/assets-dir.ts';
import { newDir } from '../helpers/new-dir.ts';
import { pngHead } from '../media/fixtures.ts';

const none: Graphics = { kitty: false, iterm2: false, sixel: false };
const host = (env: Record<string, string> = {}, columns = 20, rows = 14) => ({
  env,
  assetsDir,
  stderr: { isTTY: true, columns, rows } as never,
});

/** One red row above one blue row. */
const twoRows: Pixels = {
  width: 2,
  height: 2,
  data: Uint8Array.from([255, 0, 0, 255, 255, 0, 0, 255, 0, 0, 255, 255, 0, 0, 255, 255]),
};

describe('half blocks', () => {
  test.each([
    ['true', '38;2;255;0;0;48;2;0;0;255'],
    ['256', '38;5;196;48;5;21'],
    ['16', '91;104'],
  ] as const)('in %s colours', (depth, style) => {
    expect(halfBlocks(twoRows, 10, 10, depth)).toBe(`\x1b[${style}m▀▀\x1b[0m\n`);
  });

  test('holes show the background of the terminal', () => {
    const data = Uint8Array.from([
      1, 2, 3, 0, 1, 2, 3, 255, 1, 2, 3, 255, 1, 2, 3, 0, 9, 9, 9, 0, 9, 9, 9, 0,
    ]);
    expect(halfBlocks({ width: 2, height: 3, data }, 9, 9, 'true')).toBe(
      '\x1b[38;2;1;2;3;49m▄▀\x1b[0m\n\x1b[39;49m  \x1b[0m\n',
    );
  });

  test('never wider or higher than the terminal, in the shape of the picture', () => {
    const large: Pixels = { width: 400, height: 100, data: new Uint8Array(160_000).fill(200) };
    const lines = halfBlocks(large, 40, 30, 'true').trimEnd().split('\n');
    expect([lines.length, lines[0]?.match(/▀/g)?.length]).toEqual([5, 40]);
    const tall: Pixels = { width: 100, height: 400, data: large.data };
    const rows = halfBlocks(tall, 40, 10, '256').trimEnd().split('\n');
    expect([rows.length, rows[0]?.match(/▀/g)?.length]).toEqual([10, 5]);
  });
});

test('a smaller picture has the mean of what it covers, and a hole lends no colour', () => {
  const data = Uint8Array.from([100, 0, 0, 255, 200, 0, 0, 255, 0, 255, 0, 0, 150, 0, 0, 255]);
  expect([...shrunk({ width: 2, height: 2, data }, 1, 1).data]).toEqual([150, 0, 0, 191]);
});

test.each([
  [{ COLORTERM: 'truecolor' }, 'true'],
  [{ TERM: 'xterm-256color' }, '256'],
  [{ TERM: 'xterm' }, '16'],
  [{ TERM: 'xterm', FORCE_COLOR: '3' }, 'true'],
])('colours of %o: %s', (env, depth) => {
  expect(depthOf(env)).toBe(depth);
});

describe('on a terminal', () => {
  const png = makePng(40, 20, (row) => row.fill(120));

  test('without graphics: half blocks', async () => {
    const text = await previewText(await png, {
      host: host({ TERM: 'xterm-256color' }),
      hasColor: true,
      supports: none,
    });
    expect(text?.split('\n')[0]).toBe(`\x1b[38;5;243;48;5;243m${'▀'.repeat(20)}\x1b[0m`);
    expect(text?.split('\n')).toHaveLength(6);
  });

  test('kitty gets the packed pixels in pieces', async () => {
    const supports = { ...none, kitty: true, sixel: true };
    const text = (await previewText(await png, { host: host(), hasColor: true, supports })) ?? '';
    expect(text).toMatch(/^\x1b_Ga=T,q=2,f=32,o=z,s=40,v=20,c=4,r=1,m=0;[A-Za-z0-9+/=]+\x1b\\\n$/);
    const packed = /;([A-Za-z0-9+/=]+)\x1b/.exec(text)?.[1] ?? '';
    expect(inflateSync(Buffer.from(packed, 'base64'))).toHaveLength(40 * 20 * 4);
  });

  test('iTerm2 gets the file', async () => {
    const supports = { ...none, iterm2: true };
    const text = await previewText(await png, { host: host(), hasColor: false, supports });
    expect(text).toBe(
      `\x1b]1337;File=inline=1;size=${(await png).length};width=4;height=1;preserveAspectRatio=1:${Buffer.from(await png).toString('base64')}\x07\n`,
    );
  });

  test('sixel', async () => {
    const text = await previewText(await png, {
      host: host(),
      hasColor: true,
      supports: { ...none, sixel: true },
    });
    expect(text).toMatch(/^\x1bP0;1;?0?q"1;1;40;20[^\x1b]+\x1b\\\n$/);
  });

  test.each([{ TMUX: '/tmp/tmux-0/default,1,0' }, { TERM: 'screen-256color' }])(
    'inside %o graphics would not pass: half blocks',
    async (env) => {
      const supports = { ...none, kitty: true };
      expect(await previewText(await png, { host: host(env), hasColor: true, supports })).toContain('▀');
    },
  );

  test.each([
    ['JPEG', async (picture: Pixels) => encodeJpeg(picture as never, { quality: 100 })],
    ['WebP', async (picture: Pixels) => encodeWebp(picture as never, { quality: 100 })],
  ])('%s is drawn as well', async (name, encode) => {
    const wasm = (file: string) => ({
      wasmBinary: readFileSync(path.join(wasmDir, file)),
      locateFile: () => file,
    });
    if (name === 'JPEG') await initJpeg(wasm('mozjpeg_enc.wasm'));
    else await initWebp(wasm('webp_enc_simd.wasm'));
    const content = new Uint8Array(
      await encode({ width: 40, height: 20, data: new Uint8Array(3200).fill(255) }),
    );
    const terminal = { host: host({ COLORTERM: 'truecolor' }), hasColor: true, supports: none };
    expect(await previewText(content, terminal)).toContain('\x1b[38;2;255;255;255;48;2;255;255;255m▀');
  });

  test('without colours and graphics nothing is drawn', async () => {
    expect(await previewText(await png, { host: host(), hasColor: false, supports: none })).toBeUndefined();
  });
});

describe('what cannot be drawn is said in a clause', () => {
  const shown = (file: string, isTTY = true) => {
    let written = '';
    const stderr = {
      isTTY,
      columns: 80,
      rows: 24,
      write(text: string, done: () => void) {
        written += text;
        done();
      },
    };
    const terminal = { host: { ...host(), stderr: stderr as never }, hasColor: true, supports: none };
    return showPreview(file, terminal).then((said) => ({ said, written }));
  };
  test('no image', async () => {
    expect(await shown(import.meta.filename)).toEqual({
      said: 'plain text cannot be drawn here',
      written: '',
    });
  });
  test('a picture of few bytes and far too many pixels', async () => {
    const file = path.join(newDir(), 'large.png');
    writeFileSync(file, pngHead(20_000, 20_000));
    expect(await shown(file)).toEqual({
      said: 'it is 20000x20000 px; at most 64 megapixels are drawn',
      written: '',
    });
    rmSync(path.dirname(file), { recursive: true });
  });
  test('no file', async () => {
    expect((await shown('/nowhere/x.png')).said).toContain('ENOENT');
  });
  test('stderr that is no terminal gets nothing', async () => {
    expect(await shown(import.meta.filename, false)).toEqual({ said: undefined, written: '' });
  });
});
