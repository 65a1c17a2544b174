import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A port of loopback that nobody listens at, below those that systems give to whoever asks for any: between this look and
 * its use no other program is handed it by chance.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(15_000, 32_000);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port was found in a hundred tries');
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
