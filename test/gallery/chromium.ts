import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { WebSocket } from 'undici';

// A page in a headless Chromium of the system, which is driven over its DevTools protocol.

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
  readonly sessionId?: string;
}

export interface BrowserPage {
  send(method: string, params?: object): Promise<Record<string, unknown>>;
  /** Evaluates an expression in the page, and awaits its promise. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits up to 20 s for an expression to become true. */
  until(expression: string): Promise<void>;
  /** Presses a key as a person does: `/`, `a`, `Enter`, `ArrowRight`. */
  press(key: string): Promise<void>;
  type(text: string): Promise<void>;
  open(url: string): Promise<void>;
  /** Every URL that was requested so far. */
  readonly asked: string[];
  /** Errors of the page, and requests that its content security policy blocked. */
  readonly complaints: string[];
  close(): Promise<void>;
}

const LONGEST_MS = 20_000;

/** Throws Chromium's own message if it cannot be started. */
export async function openChromium(size = { width: 1280, height: 800 }): Promise<BrowserPage> {
  const profile = mkdtempSync(path.join(tmpdir(), 'gw-chromium-'));
  const child = spawn(
    'chromium',
    [
      ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync', '--mute-audio'],
      ...['--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'],
    ],
    // Chromium runs without libfaketime: with shifted clocks, its processes would wait for each other.
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, LD_PRELOAD: '', HOME: profile } },
  );
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const close = async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return await drive(child.stderr, size, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function drive(
  stderr: NodeJS.ReadableStream,
  size: { readonly width: number; readonly height: number },
  close: () => Promise<void>,
): Promise<BrowserPage> {
  const address = await new Promise<string>((resolve, reject) => {
    let said = '';
    const tooLate = setTimeout(() => reject(new Error(`chromium did not start: ${said}`)), LONGEST_MS);
    stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const [, found] = /DevTools listening on (ws:\S+)/.exec(said) ?? [];
      if (found === undefined) return;
      clearTimeout(tooLate);
      resolve(found);
    });
    stderr.on('end', () => reject(new Error(`chromium ended: ${said}`)));
  });
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('no DevTools')));
  });
  const waiting = new Map<number, (message: Message) => void>();
  const asked: string[] = [];
  const complaints: string[] = [];
  let loaded: (() => void) | undefined;
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    const { params = {} } = message;
    if (message.method === 'Network.requestWillBeSent')
      asked.push((params.request as { readonly url: string }).url);
    if (message.method === 'Runtime.exceptionThrown' || message.method === 'Log.entryAdded')
      complaints.push(JSON.stringify(params));
    if (message.method === 'Page.loadEventFired') loaded?.();
  });
  let count = 0;
  let sessionId: string | undefined;
  const send = (method: string, params: object = {}): Promise<Record<string, unknown>> =>
    new Promise((resolve, reject) => {
      count += 1;
      const tooLate = setTimeout(() => reject(new Error(`no answer to ${method}`)), LONGEST_MS);
      waiting.set(count, ({ result, error }) => {
        clearTimeout(tooLate);
        if (error) reject(new Error(`${method}: ${error.message}`));
        else resolve(result ?? {});
      });
      socket.send(JSON.stringify({ id: count, method, params, ...(sessionId && { sessionId }) }));
    });
  const { targetInfos } = (await send('Target.getTargets')) as {
    readonly targetInfos: readonly { readonly targetId: string; readonly type: string }[];
  };
  const targetId = targetInfos.find(({ type }) => type === 'page')?.targetId;
  ({ sessionId } = (await send('Target.attachToTarget', { targetId, flatten: true })) as {
    sessionId: string;
  });
  for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await send(`${domain}.enable`);
  await send('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: 1, mobile: false });

  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = (await send('Runtime.evaluate', {
      ...{ expression, awaitPromise: true, returnByValue: true, userGesture: true },
    })) as { readonly result: { readonly value: T }; readonly exceptionDetails?: unknown };
    if (exceptionDetails) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  };
  const press = async (key: string) => {
    const text = key.length === 1 ? key : key === 'Enter' ? '\r' : undefined;
    await send('Input.dispatchKeyEvent', { type: 'keyDown', key, ...(text && { text }) });
    await send('Input.dispatchKeyEvent', { type: 'keyUp', key });
  };
  return {
    ...{ send, evaluate, press, asked, complaints },
    async until(expression) {
      const lastMs = Date.now() + LONGEST_MS;
      while (!(await evaluate<boolean>(`Boolean(${expression})`))) {
        if (Date.now() > lastMs) throw new Error(`never true: ${expression}`);
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    },
    async type(text) {
      for (const key of text) await press(key);
    },
    async open(url) {
      const isLoaded = new Promise<void>((resolve) => {
        loaded = resolve;
      });
      await send('Page.navigate', { url });
      await isLoaded;
    },
    async close() {
      socket.close();
      await close();
    },
  };
}
