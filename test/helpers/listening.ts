import type { AddressInfo, Server } from 'node:net';
import { closing } from './closing.ts';

/** Makes a server listen on a free port; closes it and its connections when the test ends. */
export async function listening(
  server: Server & { readonly closeAllConnections?: () => void },
  host = '127.0.0.1',
) {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      if (server.closeAllConnections) server.closeAllConnections();
      else resolve();
    });
  return closing({ url: `http://127.0.0.1:${port}`, port, close });
}
