import { parentPort, workerData } from 'node:worker_threads';
import type { Task } from './media/in-worker.ts';

// The thread for readers of hostile files: a separate bundle, which gw ends when its time is up.

async function run(task: Task): Promise<void> {
  const post = (result?: unknown) => parentPort?.postMessage(result);
  if (task.do === 'draw') {
    const { drawPicture } = await import('./preview/draw-picture.ts');
    post();
    return post(await drawPicture(task));
  }
  const { readTrackFacts } = await import('./media/track-facts.ts');
  post();
  await readTrackFacts(task.content, post);
}

export const running = run(workerData as Task);
