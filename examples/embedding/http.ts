/** An application of node:http with parley under /parley. */
import { createServer } from 'node:http';
import { Daemon, type SettingsFile } from '@parley-voice/parley/daemon';
import { baker, lookUpOrder } from './agent.js';

export async function start(settings: SettingsFile) {
  const daemon = await Daemon.open({
    settings: { basePath: '/parley', ...settings },
    agents: [baker],
    tools: [lookUpOrder],
  });

  const server = createServer((request, response) => {
    if (request.url === '/hello') response.end('Hello from the application.');
    else daemon.handler(request, response);
  });
  server.on('upgrade', (request, socket, head) => {
    if (!daemon.upgrade(request, socket, head)) socket.destroy();
  });

  const close = async (): Promise<void> => {
    await daemon.close();
    server.close();
    server.closeIdleConnections();
  };
  return { server, close };
}
