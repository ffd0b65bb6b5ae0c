/** A voice agent on a SIP trunk or PBX: it takes the calls to its numbers, and calls people. */
import { sipLine } from '@parley-voice/parley/lines';

/** @param trunk { servers: ['sip:sip.example.com'], user, password, register: true, numbers: ['+12025550199'] } */
export async function serveSip(engine, agent, trunk) {
  const line = await sipLine({ engine, ...trunk, onError: (error) => console.error(error.message) });
  line.receive(async (call) => {
    if (call.from === 'anonymous') return call.reject('declined');
    const { finished } = await call.answer(agent);
    const { status } = await finished;
    return console.log(`${call.from} called: ${status}`);
  });
  const call = (to) => line.place({ ...agent, from: trunk.numbers[0], to });
  return { line, call };
}
