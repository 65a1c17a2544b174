import { createHash } from 'node:crypto';

// The page of `gw gallery`: one file that contains everything except the outputs and loads nothing from the network.
// Texts of users and models are embedded as JSON and only ever inserted as text.

/** An output on the page. */
export interface GalleryItem {
  /** The ID of its job. */
  readonly id: string;
  readonly family: string;
  readonly model: string | null;
  readonly prompt: string | null;
  /** The settings: `duration 5, resolution 720p`. */
  readonly settings: string;
  /** The cost as text, and as a number for sorting. */
  readonly cost: string;
  readonly amount: number;
  /** Unix milliseconds. */
  readonly createdAtMs: number;
  readonly file: string;
  /** The URL relative to the page. */
  readonly href: string;
  /** MIME type. */
  readonly type: string;
  /** The command that makes it again. */
  readonly command: string;
  /** The command for a shot that continues it; null if there is none. */
  readonly next: string | null;
  /** The outputs that it was made from, and those made from it. */
  readonly from: readonly Related[];
  readonly into: readonly Related[];
}

/** A related output; without `href` its file is gone. */
export interface Related {
  readonly name: string;
  readonly href: string | null;
}

/** A marker near the start of every page made by gw: such a page may be replaced. */
export const GALLERY_MARK = '<meta name="generator" content="gw gallery">';

/** Makes the HTML of the page; `made` is printed in its footer. */
export function galleryPage(items: readonly GalleryItem[], made: string): string {
  // Within a script, these characters could end it or start a comment.
  const json = JSON.stringify(items).replace(/[<>&\u2028\u2029]/g, (found) => {
    const code = found.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`;
  });
  const policy = [
    "default-src 'none'",
    "img-src 'self' file:",
    "media-src 'self' file:",
    `style-src '${hashOf(style)}'`,
    `script-src '${hashOf(script)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${GALLERY_MARK}
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gw gallery</title>
<style>${style}</style>
</head>
<body>
${markup}
<footer>${made.replace(/[<>&"]/g, '')}</footer>
<script type="application/json" id="items">${json}</script>
<script>${script}</script>
</body>
</html>
`;
}

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;

const markup = `<header>
<h1>gw gallery</h1>
<input id="search" type="search" placeholder="Search prompts, models, files  ( / )" aria-label="Search">
<select id="family" aria-label="Family"><option value="">all families</option></select>
<select id="model" aria-label="Model"><option value="">all models</option></select>
<select id="sort" aria-label="Sort">
<option value="newest">newest first</option><option value="oldest">oldest first</option>
<option value="dearest">dearest first</option><option value="prompt">by prompt</option>
</select>
<button id="theme" type="button">Dark or light</button>
<span id="count" role="status"></span>
</header>
<main id="grid"></main>
<p id="none" hidden>Nothing here is like that.</p>
<div id="more"></div>
<p id="said" role="status"></p>
<p id="keys">Keys: / search, arrows move, Enter opens, p copies the prompt, c copies the command, d dark or light.</p>`;

const style = `
:root { color-scheme: light dark; --back: #f6f6f4; --card: #fff; --text: #1c1d1f; --faint: #62656a; --line: #d9dadc; --mark: #2457c5; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --back: #141517; --card: #1e2023; --text: #ececea; --faint: #9b9fa6; --line: #34373c; --mark: #86aaff; } }
:root[data-theme=dark] { color-scheme: dark; --back: #141517; --card: #1e2023; --text: #ececea; --faint: #9b9fa6; --line: #34373c; --mark: #86aaff; }
:root[data-theme=light] { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
header { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 8px; align-items: center; padding: 10px 16px; background: var(--back); border-bottom: 1px solid var(--line); }
h1 { font-size: 17px; margin: 0 8px 0 0; }
input, select, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 5px 9px; }
button { cursor: pointer; }
#search { flex: 1 1 260px; min-width: 160px; }
#count, footer, #keys, .facts, .file { color: var(--faint); }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 14px; padding: 16px; }
.card { display: flex; flex-direction: column; background: var(--card); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; content-visibility: auto; contain-intrinsic-size: auto 360px; }
.card:focus { outline: 3px solid var(--mark); outline-offset: 1px; }
.shot { display: block; position: relative; aspect-ratio: 16 / 10; background: #000; }
.shot > * { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; }
.words { padding: 10px 12px; display: flex; flex-direction: column; gap: 4px; flex: 1; overflow-wrap: anywhere; }
.words p { margin: 0; }
.prompt { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; overflow: hidden; white-space: pre-line; }
.card:focus .prompt, .card:focus-within .prompt { -webkit-line-clamp: 40; }
.facts, .file { font-size: 13px; }
.does { display: flex; gap: 6px; margin-top: auto; padding-top: 6px; }
.does button { font-size: 13px; padding: 3px 8px; }
#said { position: fixed; bottom: 12px; left: 50%; transform: translateX(-50%); margin: 0; padding: 6px 14px; border-radius: 6px; background: var(--text); color: var(--back); }
#said:empty { display: none; }
#keys, footer, #none { padding: 0 16px 12px; margin: 0; font-size: 13px; }
`;

const script = String.raw`'use strict';
const items = JSON.parse(document.getElementById('items').textContent);
const [search, family, model, sort, theme, grid, more, count, said, none] =
  ['search', 'family', 'model', 'sort', 'theme', 'grid', 'more', 'count', 'said', 'none'].map((id) => document.getElementById(id));
/** Cards are created as the user scrolls, because thousands at once would take seconds. */
const STEP = 60;
let wanted = [];
const made = new Map();

for (const [select, key] of [[family, 'family'], [model, 'model']]) {
  const values = [...new Set(items.map((item) => item[key]).filter(Boolean))].sort();
  for (const value of values) select.append(new Option(value, value));
}
const texts = new Map(items.map((item) => [item,
  [item.prompt, item.model, item.family, item.settings, item.file, item.id].join('\n').toLowerCase()]));
// Created once, because creating one costs more than a card.
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const words = new Intl.Collator();
const orders = {
  newest: (a, b) => b.createdAtMs - a.createdAtMs,
  oldest: (a, b) => a.createdAtMs - b.createdAtMs,
  dearest: (a, b) => b.amount - a.amount,
  prompt: (a, b) => words.compare(a.prompt ?? '', b.prompt ?? ''),
};

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  // Bidirectional controls are shown as escapes, because they could disguise a text; copied text is unchanged.
  if (text !== undefined) made.textContent = text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (found) => '\\u' + found.charCodeAt(0).toString(16).padStart(4, '0'));
  return made;
}

/** A clip is loaded when it comes into view, and unloaded when it leaves. */
const inView = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (isIntersecting) { if (!target.src) target.src = target.dataset.src; }
    else if (target.src) { target.removeAttribute('src'); target.load(); }
  }
}, { rootMargin: '300px' });

function picture({ href, type, file }) {
  if (type.startsWith('image/')) {
    const image = element('img');
    image.loading = 'lazy';
    image.decoding = 'async';
    image.alt = file;
    image.src = href;
    return image;
  }
  const clip = element(type.startsWith('audio/') ? 'audio' : 'video');
  clip.preload = 'metadata';
  clip.muted = clip.loop = clip.playsInline = true;
  if (type.startsWith('audio/')) clip.controls = true;
  // This shows the first frame instead of a black picture.
  clip.dataset.src = href + '#t=0.001';
  clip.addEventListener('mouseenter', () => clip.play().catch(() => {}));
  clip.addEventListener('mouseleave', () => clip.pause());
  inView.observe(clip);
  return clip;
}

function related(title, list, words) {
  if (list.length === 0) return;
  const line = element('p', 'facts', title);
  for (const { name, href } of list) {
    const link = element(href === null ? 'span' : 'a', '', name);
    if (href !== null) Object.assign(link, { href, target: '_blank', rel: 'noopener noreferrer' });
    line.append(' ', link);
  }
  words.append(line);
}

function cardOf(item) {
  const card = element('article', 'card');
  card.tabIndex = -1;
  const link = element('a', 'shot');
  link.href = item.href;
  link.target = '_blank';
  link.rel = 'noopener noreferrer';
  link.tabIndex = -1;
  link.append(picture(item));
  const words = element('div', 'words');
  const date = dates.format(item.createdAtMs);
  const facts = [item.model ?? item.family, item.settings, item.cost, date].filter(Boolean).join(' · ');
  words.append(element('p', 'prompt', item.prompt ?? 'no prompt is kept'), element('p', 'facts', facts), element('p', 'file', item.file));
  const does = element('div', 'does');
  const button = (name, text) => {
    const made = element('button', '', name);
    made.type = 'button';
    made.disabled = text === null;
    made.addEventListener('click', () => copy(text, name));
    does.append(made);
  };
  button('Copy prompt', item.prompt);
  button('Copy command', item.command);
  if (item.next !== null) button('Copy next shot', item.next);
  related('made from', item.from, words);
  related('went on as', item.into, words);
  words.append(does);
  card.append(link, words);
  return card;
}

function drawMore() {
  const next = wanted.slice(grid.childElementCount, grid.childElementCount + STEP);
  for (const item of next) {
    if (!made.has(item)) made.set(item, cardOf(item));
    grid.append(made.get(item));
  }
  const [first] = grid.children;
  if (first && !grid.querySelector('[tabindex="0"]')) first.tabIndex = 0;
}

function choose() {
  const wantedWords = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  wanted = items
    .filter((item) => (!family.value || item.family === family.value) && (!model.value || item.model === model.value) &&
      wantedWords.every((word) => texts.get(item).includes(word)))
    .sort(orders[sort.value] ?? orders.newest);
  grid.replaceChildren();
  drawMore();
  count.textContent = wanted.length === items.length ? items.length + ' outputs' : wanted.length + ' of ' + items.length + ' outputs';
  none.hidden = wanted.length > 0;
}

async function copy(text, name) {
  if (text === null) return say('there is no prompt to copy');
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
  say(name.replace('Copy', 'Copied the'));
}

let quiet;
function say(text) {
  said.textContent = text;
  clearTimeout(quiet);
  quiet = setTimeout(() => { said.textContent = ''; }, 1500);
}

function goTo(at) {
  const to = Math.max(0, Math.min(at, wanted.length - 1));
  while (to >= grid.childElementCount && grid.childElementCount < wanted.length) drawMore();
  const card = grid.children[to];
  if (!card) return;
  grid.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
  card.tabIndex = 0;
  card.focus();
  card.scrollIntoView({ block: 'nearest' });
}

function changeTheme() {
  const isDark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = isDark ? 'light' : 'dark';
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, target } = event;
  if (target === search) {
    if (key === 'Escape') { search.value = ''; choose(); search.blur(); }
    else if (key === 'ArrowDown' || key === 'Enter') { event.preventDefault(); goTo(0); }
    return;
  }
  if (target instanceof HTMLSelectElement) return;
  const cards = [...grid.children];
  const at = cards.findIndex((card) => card.contains(target));
  const columns = getComputedStyle(grid).gridTemplateColumns.split(' ').length;
  const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
  const item = wanted[at];
  if (key === '/') search.focus();
  else if (key === 'd') changeTheme();
  else if (key === 'Home') goTo(0);
  else if (key === 'End') goTo(wanted.length - 1);
  else if (key in moves) goTo(at < 0 ? 0 : at + moves[key]);
  else if (item && key === 'p') copy(item.prompt, 'Copy prompt');
  else if (item && key === 'c') copy(item.command, 'Copy command');
  else if (item && key === 'Enter' && target === cards[at]) cards[at].querySelector('a').click();
  else return;
  event.preventDefault();
});
let due;
search.addEventListener('input', () => { cancelAnimationFrame(due); due = requestAnimationFrame(choose); });
for (const select of [family, model, sort]) select.addEventListener('change', choose);
theme.addEventListener('click', changeTheme);
new IntersectionObserver((seen) => { if (seen.some(({ isIntersecting }) => isIntersecting)) drawMore(); }, { rootMargin: '600px' }).observe(more);
choose();
`;
