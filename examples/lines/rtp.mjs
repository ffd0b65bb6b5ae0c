/** A voice agent behind signalling of your own: descriptions (SDP) or addresses go in and out, audio flows over RTP. */
import { rtpLine } from '@parley-voice/parley/lines';

/** @param dial rings somebody: `({ to, offer, address, port }, signal)`, resolves to { address, port, codec } or SDP */
export async function serveRtp(engine, agent, address, dial) {
  const line = await rtpLine({ engine, address, codecs: ['PCMU'], negotiate: dial });
  line.receive(async (call) => {
    const { finished } = await call.answer(agent);
    const { status } = await finished;
    console.log(`${call.from} called: ${status}`);
  });
  /** An offer comes in, the answer goes out. `signal` is aborted when the caller hangs up. */
  const answer = (offer, from, signal) => line.accept(offer, { from, signal });
  const call = (to) => line.place({ ...agent, to, from: 'reception' });
  return { line, answer, call };
}
