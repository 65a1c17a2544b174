// The text of one progress row, in pieces with a tone each; pure functions, so that any width can be tested.

import { cutToWidth, displayWidth } from './display-width.ts';
import type { WholeProgress } from './io.ts';
import { type DownloadView, estimatedFraction, type TaskView } from './progress.ts';
import { bytesText, durationText } from './quantity-text.ts';
import type { Style, Tone } from './style.ts';

export interface Piece {
  readonly text: string;
  readonly tone?: Tone | undefined;
}

/** What drawing a row needs besides its own facts. */
export interface RowSetting {
  readonly columns: number;
  readonly spinner: string;
  /** A bar of `size` columns; without a fraction, it only shows that work is going on. */
  readonly bar: (fraction: number | undefined, size: number) => string;
}

const MAX_BAR = 30;
const MIN_BAR = 6;
/** Share of the row for the label: a task's ID and status fit into 80 columns. */
const MAX_LABEL_SHARE = 0.62;
/** This many facts are kept even if the smallest bar then has no room. */
const FACTS_BESIDE_BAR = 2;

/** The progress of a running task, 0 to below 1: the gateway's figure or an estimate; neither reaches 100 % early. */
export function taskFraction(view: TaskView, elapsedMs: number): number | undefined {
  if (view.percent !== undefined) return Math.min(view.percent, 99) / 100;
  return view.estimateMs === undefined ? undefined : estimatedFraction(elapsedMs, view.estimateMs);
}

/** `⠋ ID running ████░░░░ 45 % 1 min 20 s`, plus the estimated remaining time if the gateway gives no percentage. */
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

/** The status of a row that waits for its turn; hidden rows are counted by it. */
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
 * Fits label, bar and facts into the width: first the bar shrinks, then the third and later facts go, then the bar,
 * then the remaining facts from the end. A label that would take most of the row is cut.
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

/** A row as text in the terminal's colours. */
export function paintPieces(pieces: readonly Piece[], style: Style): string {
  return pieces
    .map(({ text, tone }) => (tone === undefined || text === '' ? text : style[tone](text)))
    .join('');
}
