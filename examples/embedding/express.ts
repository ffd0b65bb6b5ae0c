/** An Express application with parley under /parley, beside a WebSocket of its own. */
import { Daemon, type SettingsFile } from '@parley-voice/parley/daemon';
import express from 'express';
import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { baker, lookUpOrder } from './agent.js';

export async function start(settings: SettingsFile) {
  const daemon = await Daemon.open({
    settings: { basePath: '/parley', ...settings },
    agents: [baker],
    tools: [lookUpOrder],
  });

  const app = express();
  app.use(daemon.handler); // before parsers of bodies: the daemon reads bodies itself
  app.use(express.json());
  app.get('/hello', (_request, response) => {
    response.send('Hello from the application.');
  });

  const server = createServer(app);
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    if (daemon.upgrade(request, socket, head)) return;
    sockets.handleUpgrade(request, socket, head, (client) => client.send('Hello from the application.'));
  });

  const close = async (): Promise<void> => {
    await daemon.close();
    for (const client of sockets.clients) client.terminate();
    server.close();
    server.closeIdleConnections();
  };
  return { server, close };
}
