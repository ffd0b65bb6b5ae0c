/** A Fastify application with parley under /parley, beside WebSockets of its own. */
import websocket from '@fastify/websocket';
import { parley, type SettingsFile } from '@parley-voice/parley/daemon';
import Fastify from 'fastify';
import { baker, lookUpOrder } from './agent.js';

export async function start(settings: SettingsFile) {
  const app = Fastify();
  await app.register(websocket);
  await app.register(parley, { prefix: '/parley', settings, agents: [baker], tools: [lookUpOrder] });

  app.get('/hello', () => 'Hello from the application.');
  app.get('/socket', { websocket: true }, (client) => client.send('Hello from the application.'));

  await app.ready();
  return { server: app.server, close: () => app.close() };
}
