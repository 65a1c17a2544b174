// A gateway of family A that runs a limited number of tasks at once, for the benches of slots.
import { createServer } from 'node:http';
import path from 'node:path';

/**
 * Opens the gateway. Its tasks last `lastMs` and `slots` of them run at once; it takes `aMinute` requests a minute, and serves
 * `clip` as every output. `seen` has its tasks by their ID with the time of their create, and counts of its requests.
 */
export async function openGateway({ lastMs, slots, aMinute = Number.POSITIVE_INFINITY, clip = '' }) {
  const seen = { tasks: new Map(), byPrompt: new Map(), tooManyTasks: 0, tooManyRequests: 0, looks: 0 };
  const recent = [];
  const server = createServer((request, reply) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const nowMs = performance.now();
      if (request.url.startsWith('/clip'))
        return reply.writeHead(200, { 'content-type': 'video/mp4' }).end(clip);
      while (recent.length > 0 && recent[0] < nowMs - 60_000) recent.shift();
      reply.setHeader('content-type', 'application/json');
      if (recent.length >= aMinute) {
        seen.tooManyRequests += 1;
        return reply.writeHead(429, { 'retry-after': '1' }).end('{"error":{"message":"too many requests"}}');
      }
      recent.push(nowMs);
      if (request.method === 'POST') {
        const running = [...seen.tasks.values()].filter((startMs) => nowMs < startMs + lastMs).length;
        if (running >= slots) {
          seen.tooManyTasks += 1;
          return reply.writeHead(429).end('{"error":{"message":"too many tasks at once"}}');
        }
        const prompt = JSON.parse(Buffer.concat(chunks).toString()).content[0].text;
        seen.byPrompt.set(prompt, (seen.byPrompt.get(prompt) ?? 0) + 1);
        const id = `vt-20261121001503-${String(seen.tasks.size).padStart(20, '0')}`;
        seen.tasks.set(id, nowMs);
        return reply.end(JSON.stringify({ id, task_id: id, object: 'video', model: 'm', status: 'queued' }));
      }
      seen.looks += 1;
      const id = path.basename(request.url);
      const isDone = nowMs >= (seen.tasks.get(id) ?? 0) + lastMs;
      const content = { video_url: `${base}/clip.mp4` };
      reply.end(
        JSON.stringify({
          id,
          model: 'm',
          status: isDone ? 'succeeded' : 'running',
          ...(isDone && { content }),
        }),
      );
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${server.address().port}`;
  return { base, seen, close: () => server.close() };
}

/** The share of the slots that the tasks used, from the first create to the end of the last task. */
export function usedSlots({ tasks }, { lastMs, slots }) {
  const starts = [...tasks.values()];
  return (starts.length * lastMs) / (slots * (Math.max(...starts) + lastMs - Math.min(...starts)));
}
