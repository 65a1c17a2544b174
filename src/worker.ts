import { parentPort, workerData } from 'node:worker_threads';
import type { Task } from './media/in-worker.ts';

// The thread for what reads hostile files: a part of the build of its own, ended from outside when its time is up.

async function run(task: Task): Promise<void> {
  const post = (result: unknown) => parentPort?.postMessage(result);
  if (task.do === 'tracks') {
    const { readTrackFacts } = await import('./media/track-facts.ts');
    await readTrackFacts(task.content, post);
  } else {
    const { drawPicture } = await import('./preview/draw-picture.ts');
    post(await drawPicture(task));
  }
}

export const running = run(workerData as Task);
