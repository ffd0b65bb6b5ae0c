/** A voice agent for WebRTC clients, such as browsers: POST /offer takes an offer and gives the answer, both as SDP. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { webRtcLine } from '@parley-voice/parley/lines';

export async function serveWebRtc(engine, agent, port, addresses = []) {
  const line = await webRtcLine({ engine, addresses });
  line.receive(async (call) => {
    const { answered, finished } = await call.answer(agent);
    const session = await answered;
    session?.on('user', ({ text: words }) => console.log(`${call.from} says: ${words}`));
    const { status } = await finished;
    console.log(`${call.from} is gone: ${status}`);
  });
  const server = createServer((request, response) => {
    text(request)
      .then((offer) => line.accept(offer, { from: request.socket.remoteAddress }))
      .then((answer) => response.writeHead(200, { 'content-type': 'application/sdp' }).end(answer))
      .catch((error) => response.writeHead(error.httpStatus ?? 500).end(error.message));
  });
  server.listen(port);
  return { line, server };
}
