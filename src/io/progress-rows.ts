// How one row of bars reads, as pieces of text with a tone each; pure, so that any width can be tested.

import { cutToWidth, displayWidth } from './display-width.ts';
import type { WholeProgress } from './io.ts';
import { type DownloadView, estimatedFraction, type TaskView } from './progress.ts';
import { bytesText, durationText } from './quantity-text.ts';
import type { Style, Tone } from './style.ts';

export interface Piece {
  readonly text: string;
  readonly tone?: Tone | undefined;
}

/** What a row needs besides its own facts. */
export interface RowSetting {
  readonly columns: number;
  readonly spinner: string;
  /** A bar of `size` columns; without a fraction, one that only shows that something moves. */
  readonly bar: (fraction: number | undefined, size: number) => string;
}

const MAX_BAR = 30;
const MIN_BAR = 6;
/** Room for a task's ID and its status on 80 columns. */
const MAX_LABEL_SHARE = 0.62;
/** So many facts stay where a bar of the least size would have no room otherwise. */
const FACTS_BESIDE_BAR = 2;

/** How far a running task is, 0 to below 1: the gateway's figure, else the estimate; neither says 100 % too early. */
export function taskFraction(view: TaskView, elapsedMs: number): number | undefined {
  if (view.percent !== undefined) return Math.min(view.percent, 99) / 100;
  return view.estimateMs === undefined ? undefined : estimatedFraction(elapsedMs, view.estimateMs);
}

/** `⠋ ID running ████░░░░ 45 % 1 min 20 s`, and what an estimate leaves where the gateway has no figure of its own. */
export function taskRow(view: TaskView, elapsedMs: number, setting: RowSetting): Piece[] {
  const fraction = taskFraction(view, elapsedMs);
  const isEstimate = view.percent === undefined && fraction !== undefined;
  const percent = fraction === undefined ? [] : [`${isEstimate ? '~' : ''}${Math.floor(fraction * 100)} %`];
  const leftMs = isEstimate ? (view.estimateMs ?? 0) - elapsedMs : 0;
  const left = leftMs > 0 ? [`about ${durationText(leftMs)} left`] : [];
  return row(`${view.id} ${view.status}`, fraction, [...percent, durationText(elapsedMs), ...left], setting);
}

/** `⠋ clip.mp4 ████░░░░ 1.2 MB of 3.4 MB 35 % 400 kB/s 6 s left`. */
export function downloadRow(
  view: DownloadView,
  pace: { readonly bytesPerSecond: number | undefined; readonly remainingMs: number | undefined },
  setting: RowSetting,
): Piece[] {
  const { name, bytes, totalBytes } = view;
  const fraction = totalBytes === undefined ? undefined : Math.min(1, bytes / totalBytes);
  const parts = [
    totalBytes === undefined ? bytesText(bytes) : `${bytesText(bytes)} of ${bytesText(totalBytes)}`,
  ];
  if (fraction !== undefined) parts.push(`${Math.floor(fraction * 100)} %`);
  if (pace.bytesPerSecond !== undefined) parts.push(`${bytesText(pace.bytesPerSecond)}/s`);
  if (pace.remainingMs !== undefined)
    parts.push(`${durationText(Math.ceil(pace.remainingMs / 1000) * 1000)} left`);
  return row(name, fraction, parts, setting);
}

/** What stands on a row that waits for its turn, and what such rows are counted by. */
export const WAITING = 'waiting to be saved';

/** `⠋ clip.mp4 waiting to be saved ██░░`. */
export const waitingRow = ({ name }: DownloadView, setting: RowSetting): Piece[] =>
  row(`${name} ${WAITING}`, undefined, [], setting);

/** `⠋ 3 of 10 done, 1 failed ████░░░░ 30 %`. */
export function wholeRow({ done, failed, total, leftMs }: WholeProgress, setting: RowSetting): Piece[] {
  const fraction = total > 0 ? Math.min(1, done / total) : undefined;
  const label = `${done} of ${total} done${failed > 0 ? `, ${failed} failed` : ''}`;
  const left = leftMs === undefined ? [] : [`${durationText(leftMs)} left`];
  const percent = fraction === undefined ? [] : [`${Math.floor(fraction * 100)} %`];
  return row(label, fraction, [...percent, ...left], setting);
}

/**
 * Label, bar and facts in the width there is: the bar gets smaller first, then the facts from the third on go, then the
 * bar, then the facts from the end; the label is cut where it would take most of the row.
 */
function row(
  label: string,
  fraction: number | undefined,
  facts: readonly string[],
  setting: RowSetting,
): Piece[] {
  const { columns, spinner } = setting;
  const lead = `${spinner} `;
  const kept = [...facts];
  const tailWidth = () => kept.reduce((sum, fact) => sum + 2 + displayWidth(fact), 0);
  const shortLabel = cutToWidth(label, Math.max(8, Math.floor(columns * MAX_LABEL_SHARE)));
  const free = () => columns - displayWidth(lead) - displayWidth(shortLabel) - tailWidth();
  while (kept.length > FACTS_BESIDE_BAR && free() < MIN_BAR + 2) kept.pop();
  while (kept.length > 1 && free() < 0) kept.pop();
  const barSize = Math.min(MAX_BAR, free() - 2);
  const bar = barSize >= MIN_BAR ? `  ${setting.bar(fraction, barSize)}` : '';
  const tail = kept.map((fact) => `  ${fact}`).join('');
  return fitPieces(
    [
      { text: lead, tone: 'active' },
      { text: shortLabel },
      { text: bar, tone: 'active' },
      { text: tail, tone: 'faint' },
    ],
    columns,
  );
}

export function fitPieces(pieces: readonly Piece[], columns: number): Piece[] {
  let free = columns;
  return pieces.map(({ text, tone }) => {
    const cut = cutToWidth(text, Math.max(0, free));
    free -= displayWidth(cut);
    return { text: cut, tone };
  });
}

/** A row as text in the terminal's style. */
export function paintPieces(pieces: readonly Piece[], style: Style): string {
  return pieces
    .map(({ text, tone }) => (tone === undefined || text === '' ? text : style[tone](text)))
    .join('');
}
