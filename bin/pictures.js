// Makes the pictures of the README: `npm run pictures`. A terminal session runs in tmux against the sandbox and is drawn
// as SVG; the gallery is rendered in a headless Chromium. They show nothing of this machine.
'use strict';
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { loadSource } = require('./load-source.js');

const root = path.join(__dirname, '..');
const target = path.join(root, '.github');
/** A path that reveals nothing of this machine and matches the README's examples. */
const home = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'gw-pictures-')), 'you');
const work = path.join(home, 'gw');
const columns = 100;
const rows = 24;

const bin = path.join(home, 'bin');
fs.mkdirSync(bin, { recursive: true });
fs.mkdirSync(work);
fs.writeFileSync(path.join(bin, 'gw'), `#!/bin/sh\nexec "${process.execPath}" "${root}/bin/gw.js" "$@"\n`, {
  mode: 0o755,
});
const { NODE_EXTRA_CA_CERTS: _, TMUX: _tmux, CI: _ci, ...inherited } = process.env;
const env = {
  ...inherited,
  HOME: home,
  PATH: `${bin}:${process.env.PATH}`,
  TERM: 'xterm-256color',
  LANG: 'C.UTF-8',
};
const socket = path.join(home, 'tmux');
const tmux = (...argv) => execFileSync('tmux', ['-S', socket, ...argv], { env, encoding: 'utf8' });
const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** The content of the screen, with colours. */
const screen = () =>
  tmux('capture-pane', '-p', '-e', '-t', 'gw').replaceAll(path.dirname(home), '/home').trimEnd();

function until(shows) {
  for (let tries = 0; tries < 600; tries += 1) {
    if (shows(screen())) return;
    pause(100);
  }
  throw new Error(`the terminal never showed it:\n${screen()}`);
}

/** Types a command and waits for the prompt after it. */
function type(line) {
  tmux('send-keys', '-t', 'gw', '-l', line);
  tmux('send-keys', '-t', 'gw', 'Enter');
  pause(500);
  until((text) => /\$\s*$/.test(text.replace(/\x1b\[[\d;]*m/g, '')));
}

const palette = ['#3b3f46', '#e06c75', '#98c379', '#d9b36c', '#6aa5f0', '#c58ae0', '#5fbac4', '#d7d9dd'];
const escaped = (text) => text.replace(/[&<>]/g, (found) => `&#${found.charCodeAt(0)};`);

/** Text with SGR colours, as an SVG. */
function svgOf(text) {
  const lines = text.split('\n');
  const [width, height, letter] = [columns * 8.43 + 32, lines.length * 19 + 32, 14];
  const drawn = lines.map((line, at) => {
    let state = { color: '#d7d9dd', weight: '', faint: false };
    const spans = line.split(/(\x1b\[[\d;]*m)/).flatMap((piece) => {
      const [, codes] = /^\x1b\[([\d;]*)m$/.exec(piece) ?? [];
      if (codes === undefined) {
        if (piece === '') return [];
        const look = `fill="${state.color}"${state.weight}${state.faint ? ' opacity="0.6"' : ''}`;
        return [`<tspan ${look}>${escaped(piece)}</tspan>`];
      }
      for (const code of (codes || '0').split(';').map(Number)) {
        if (code === 0) state = { color: '#d7d9dd', weight: '', faint: false };
        else if (code === 1) state = { ...state, weight: ' font-weight="bold"' };
        else if (code === 2) state = { ...state, faint: true };
        else if (code === 39) state = { ...state, color: '#d7d9dd' };
        else if (code >= 30 && code <= 37) state = { ...state, color: palette[code - 30] };
        else if (code >= 90 && code <= 97) state = { ...state, color: palette[code - 90] };
      }
      return [];
    });
    return `<text x="16" y="${30 + at * 19}" xml:space="preserve">${spans.join('')}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${letter}">
<title>gw in a terminal</title>
<rect width="100%" height="100%" rx="8" fill="#16181c"/>
${drawn.join('\n')}
</svg>
`;
}

function terminal() {
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-s',
    'gw',
    '-x',
    String(columns),
    '-y',
    String(rows),
    '-c',
    work,
    'env',
    'PS1=$ ',
    'sh',
  );
  try {
    until((text) => text.includes('$'));
    type('gw video alpha create --sandbox "a paper boat on a calm sea at dawn" --wait -o boat.mp4');
    type('gw video beta create --sandbox "a fox in the snow" --duration 3 --wait -o fox.mp4');
    type('gw again last --sandbox -p "the fox at night" --wait -o night.mp4');
    type('gw jobs list');
    fs.writeFileSync(path.join(target, 'terminal.svg'), svgOf(screen()));
  } finally {
    tmux('kill-server');
  }
}

async function gallery() {
  const gw = (...argv) => {
    const { status, stderr } = spawnSync(path.join(bin, 'gw'), [...argv, '--sandbox'], {
      cwd: work,
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
  };
  const pictures = [
    'a lighthouse in fog',
    'a map of an island',
    'a stamp with a fox',
    'rain on a tin roof',
    'a night train',
  ];
  for (const [at, prompt] of pictures.entries())
    gw(
      'image',
      'create',
      prompt,
      '--size',
      ['1024x1024', '1536x1024'][at % 2],
      '-o',
      `${prompt.replaceAll(' ', '-')}.png`,
    );
  gw('gallery');
  const { openChromium, pictureOf } = await loadSource('test/gallery/chromium.ts', { external: ['undici'] });
  const page = await openChromium({ width: 1200, height: 760 });
  try {
    await page.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: 'dark' }],
    });
    await page.open(pathToFileURL(path.join(work, 'gallery.html')).href);
    await page.until('[...document.images].every((each) => each.complete)');
    await page.until("[...document.querySelectorAll('video')].every((each) => each.readyState >= 2)");
    await page.evaluate('Promise.all([...document.images].map((each) => each.decode())).then(() => 0)');
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 500)))');
    fs.writeFileSync(path.join(target, 'gallery.png'), await pictureOf(page));
  } finally {
    await page.close();
  }
}

async function main() {
  try {
    terminal();
    await gallery();
  } finally {
    fs.rmSync(path.dirname(home), { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
