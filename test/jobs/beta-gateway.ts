import * as http from 'node:http';
import { listening } from '../helpers/listening.ts';

/** A reply with this status. A 429 has a Retry-After of 300 s. */
type Status = 302 | 401 | 402 | 409 | 425 | 429;

/** The result of one create. */
export interface CreateFate {
  /** When the task exists: at once, after a delay, or never. */
  readonly commit: 'now' | 'never' | { readonly afterMs: number };
  /** How the reply ends. */
  readonly reply:
    | 'whole'
    | 'reset'
    | 'cut'
    | 'cut-behind-another'
    | 'empty'
    | '502'
    | 'garbage'
    | 'wordy'
    | 'refused'
    | 'refused-422'
    | Status;
}

export interface BetaGateway {
  readonly url: string;
  /** External IDs of the creates, in the order of their arrival. */
  readonly creates: (string | undefined)[];
  readonly lookUps: string[];
  /** Task IDs by external ID, for the tasks that exist now. */
  tasks(): Map<string, string>;
  /** Faults of the next look-ups, in order; a 429 has a Retry-After of 75 s. */
  readonly lookUpFaults: ('401' | '429' | '503' | 'reset' | 'garbage' | 'no-list' | '202')[];
  /** Adds a task that no create made; returns its ID. */
  add(externalId: string, madeAtMs: number): string;
  /** Whether a create that will be refused is refused before its external ID is checked. */
  refusesFirst: boolean;
  /** The answer to a create whose external ID is taken. */
  duplicates: 'error' | 'first' | 'lost' | 'conflict';
}

/** A family B gateway whose creates end as the test says. External IDs are unique in it, as documented. */
export async function openBetaGateway(
  nowMs: () => number,
  fates: readonly CreateFate[],
): Promise<BetaGateway> {
  const creates: (string | undefined)[] = [];
  const lookUps: string[] = [];
  const committed: { readonly id: string; readonly externalId: string | undefined; readonly atMs: number }[] =
    [];
  const there = () => committed.filter(({ atMs }) => atMs <= nowMs());
  const recordOf = ({ id, externalId, atMs }: (typeof committed)[number]) => ({
    id,
    status: 'submitted',
    external_id: externalId,
    create_time: atMs,
    update_time: atMs,
  });

  const create = (body: { options?: { external_task_id?: string } }, response: http.ServerResponse) => {
    const fate = fates[creates.length] ?? { commit: 'now', reply: 'whole' };
    const externalId = body.options?.external_task_id;
    creates.push(externalId);
    // A task that is not shown yet already occupies its external ID.
    const isRefused = typeof fate.reply === 'number' || fate.reply.startsWith('refused');
    const taken =
      gateway.refusesFirst && isRefused
        ? undefined
        : committed.find((task) => externalId && task.externalId === externalId);
    if (taken && gateway.duplicates === 'error') {
      return send(response, 200, { code: 1303, message: 'external_task_id already exists', request_id: 'r' });
    }
    if (taken && gateway.duplicates === 'conflict')
      return send(response, 409, { error: { message: 'conflict' } });
    if (taken && gateway.duplicates === 'lost') return response.socket?.resetAndDestroy();
    if (taken) return send(response, 200, { code: 0, message: 'ok', request_id: 'r', data: recordOf(taken) });
    const task = {
      id: `bt-${committed.length + 1}`,
      externalId,
      atMs: typeof fate.commit === 'object' ? nowMs() + fate.commit.afterMs : nowMs(),
    };
    if (fate.commit !== 'never') committed.push(task);
    const reply = JSON.stringify({ code: 0, message: 'ok', request_id: 'r', data: recordOf(task) });
    switch (fate.reply) {
      case 'whole':
        return response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
      case 'reset':
        return response.socket?.resetAndDestroy();
      case 'cut':
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': reply.length });
        return response.write(reply.slice(0, 20), () => response.socket?.destroy());
      case 'cut-behind-another': {
        const [another] = committed;
        const told = JSON.stringify({ code: 0, last: another && recordOf(another), data: recordOf(task) });
        return response.writeHead(200, { 'content-type': 'application/json' }).end(told.slice(0, -1));
      }
      case 'empty':
        return response.writeHead(200, { 'content-type': 'application/json' }).end();
      case '502':
        return send(response, 502, { error: { message: 'bad gateway' } });
      case 'garbage':
        return response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      case 'wordy':
        return send(response, 200, { error: { message: 'the queue is full' } });
      case 'refused':
        return send(response, 200, { code: 1102, message: 'the balance is not enough', request_id: 'r' });
      case 'refused-422':
        return send(response, 422, { code: 1301, message: 'the prompt was flagged', request_id: 'r' });
      default:
        if (fate.reply === 429) response.setHeader('retry-after', '300');
        return send(response, fate.reply, { error: { message: 'no; you may try again' } });
    }
  };

  const find = (url: URL, response: http.ServerResponse) => {
    const wanted = url.searchParams.get('external_task_ids');
    if (wanted !== null) lookUps.push(wanted);
    const fault = wanted === null ? undefined : gateway.lookUpFaults.shift();
    if (fault === '429') {
      response.setHeader('retry-after', '75');
      return send(response, 429, { error: { message: 'slow down' } });
    }
    if (fault === '401') return send(response, 401, { error: { message: 'no such key' } });
    if (fault === '503') return send(response, 503, { error: { message: 'busy' } });
    if (fault === 'reset') return response.socket?.resetAndDestroy();
    if (fault === 'garbage') return response.writeHead(200).end('{}');
    if (fault === 'no-list') return send(response, 200, { code: 7, message: 'no', request_id: 'r' });
    if (fault === '202') return send(response, 202, { code: 0, message: 'ok', request_id: 'r', data: [] });
    const ids = url.searchParams.get('task_ids')?.split(',') ?? [];
    const data = there()
      .filter((task) =>
        wanted === null ? ids.includes(task.id) : wanted.split(',').includes(task.externalId ?? ''),
      )
      .map(recordOf);
    return send(response, 200, { code: 0, message: 'ok', request_id: 'r', data });
  };

  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    response.on('error', () => {});
    response.setHeader('date', new Date(nowMs()).toUTCString());
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://here');
      if (request.method === 'POST') create(JSON.parse(Buffer.concat(chunks).toString()), response);
      else find(url, response);
    });
  });
  const { url } = await listening(server);
  const gateway: BetaGateway = {
    url,
    creates,
    lookUps,
    lookUpFaults: [],
    refusesFirst: false,
    duplicates: 'error',
    add(externalId, atMs) {
      const id = `old-${committed.length + 1}`;
      committed.push({ id, externalId, atMs });
      return id;
    },
    tasks: () => new Map(there().map(({ externalId, id }) => [externalId ?? '', id])),
  };
  return gateway;
}

function send(response: http.ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
