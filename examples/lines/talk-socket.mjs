/** A voice agent for browsers and apps over a WebSocket: docs/talk-socket.md has the protocol. */
import { createServer } from 'node:http';
import { talkSocketLine } from '@parley-voice/parley/lines';

export async function serveTalk(engine, agent, port) {
  const line = await talkSocketLine({ engine, path: '/talk' });
  line.receive(async (call) => {
    const { answered, finished } = await call.answer(agent);
    const session = await answered;
    session?.on('user', ({ text }) => console.log(`${call.from} says: ${text}`));
    const { status } = await finished;
    console.log(`${call.from} is gone: ${status}`);
  });
  const server = createServer((_request, response) => response.writeHead(404).end());
  server.on('upgrade', (request, socket, head) => line.upgrade(request, socket, head) || socket.destroy());
  server.listen(port);
  return { line, server };
}
