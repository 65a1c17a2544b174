import { taskState } from '../gateway/task.ts';
import { oneLine } from './escape.ts';
import type { DownloadProgress, TaskProgress, WholeProgress } from './io.ts';

/** One task as the boards see it: every text safe, every number in range. */
export interface TaskView {
  readonly id: string;
  readonly status: string;
  readonly state: 'running' | 'succeeded' | 'failed';
  readonly elapsedMs: number;
  /** 0-100. */
  readonly percent: number | undefined;
  readonly estimateMs: number | undefined;
}

export interface DownloadView {
  readonly name: string;
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  readonly isDone: boolean;
  /** It has not begun, because others come first. */
  readonly isWaiting: boolean;
}

/** Where progress is shown: bars or lines. `key` tells rows apart; a row that was dropped is forgotten. */
export interface ProgressBoard {
  task(key: string, view: TaskView): void;
  download(key: string, view: DownloadView): void;
  whole(key: string, update: WholeProgress): void;
  drop(key: string): void;
  /** Forgets all rows and leaves the screen clean. */
  clear(): void;
}

const MAX_NAME = 120;

/** Makes an update safe to draw: secrets hidden, texts on one line, numbers in range. */
export function taskView(update: TaskProgress, hide: (text: string) => string): TaskView {
  return {
    id: oneLine(hide(update.id), MAX_NAME),
    status: oneLine(hide(update.status), MAX_NAME),
    state: update.state ?? taskState(update.status).state,
    elapsedMs: positive(update.elapsedMs) ?? 0,
    percent: update.percent === undefined ? undefined : within(update.percent, 100),
    estimateMs: positive(update.estimateMs),
  };
}

/** As `taskView`, for a download; it is done when it says so or when all bytes are there. */
export function downloadView(update: DownloadProgress, hide: (text: string) => string): DownloadView {
  const bytes = positive(update.bytes) ?? 0;
  const totalBytes = positive(update.totalBytes);
  return {
    name: oneLine(hide(update.name), MAX_NAME),
    bytes,
    totalBytes,
    isDone: update.done ?? (totalBytes !== undefined && bytes >= totalBytes),
    isWaiting: update.isWaiting === true,
  };
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && Number.isFinite(value) && value > 0 ? value : undefined;
}

function within(value: number, max: number): number | undefined {
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), max) : undefined;
}
