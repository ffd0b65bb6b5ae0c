/** A voice agent with a Plivo number: people call it, and it calls people. */
import { createServer } from 'node:http';
import { plivoLine } from '@parley-voice/parley/lines';

/** @param account { authId, authToken, publicUrl, numbers } */
export async function servePlivo(engine, agent, account, port) {
  const line = await plivoLine({ engine, ...account });
  line.receive(async (call) => {
    const { finished } = await call.answer(agent);
    const { status } = await finished;
    console.log(`${call.from} called: ${status}`);
  });
  const server = createServer((request, response) => line.handle(request, response) || response.writeHead(404).end());
  server.on('upgrade', (request, socket, head) => line.upgrade(request, socket, head) || socket.destroy());
  server.listen(port);
  // Tells Plivo where calls to these numbers go.
  for (const number of account.numbers) await line.carrier.directNumber(number, AbortSignal.timeout(10_000));
  const call = (to) => line.place({ ...agent, from: account.numbers[0], to });
  return { line, server, call };
}
