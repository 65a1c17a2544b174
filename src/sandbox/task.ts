/** What a finished task offers for download, in the gateway's words. */
export interface TaskOutputPlan {
  readonly durationS: number;
  readonly ratio: string;
  readonly resolution: string;
  readonly format: 'mp4' | 'mov';
  readonly audio: boolean;
  readonly lastFrame: boolean;
}

/** Which limits a task and its create request count against ("Limits": standard 2.0 4K has its own). */
export type Pool = 'standard' | '4k';
export const pools = ['standard', '4k'] as const satisfies readonly Pool[];

/** An accepted task. Everything that will happen to it is decided when it is accepted. Times are Unix milliseconds. */
export interface SandboxTask {
  readonly id: string;
  readonly family: string;
  readonly model: string;
  readonly pool: Pool;
  readonly createdAtMs: number;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  /** Present: the task ends `failed` with this. */
  readonly failure?: { readonly code: string; readonly message: string };
  readonly output: TaskOutputPlan;
  readonly seed: number;
  /** Number of searches of a web search task. */
  readonly webSearches?: number;
}

export type SandboxStatus = 'queued' | 'running' | 'succeeded' | 'failed';

/** Where a task stands at `nowMs`, and since when. */
export function statusAt(
  task: SandboxTask,
  nowMs: number,
): { readonly status: SandboxStatus; readonly sinceMs: number } {
  if (nowMs < task.startsAtMs) return { status: 'queued', sinceMs: task.createdAtMs };
  if (nowMs < task.endsAtMs) return { status: 'running', sinceMs: task.startsAtMs };
  return { status: task.failure ? 'failed' : 'succeeded', sinceMs: task.endsAtMs };
}
