import { expect, it } from 'vitest';
import { ParleyError } from '../../../src/base/errors.js';
import { parseMessage } from '../../../src/telephony/sip/parse.js';
import { messageBytes } from '../../../src/telephony/sip/message.js';
import { fuzzRuns, Mutator, tryAll } from '../../mutator.js';
import { connected, HOPS } from './support.js';

const TOKENS = [
  '\r\n',
  '\r\n\r\n',
  '\r\n ',
  '\n',
  ':',
  ';',
  '"',
  '\\',
  '<',
  '>',
  ',',
  '=',
  '%',
  '%00',
  '@',
  '[',
  ']',
  '?',
  '*',
  'sip:',
  'sips:',
  'tel:',
  'SIP/2.0',
  'INVITE ',
  'ACK ',
  'Via: ',
  'To: ',
  'Content-Length: ',
  'CSeq: ',
  'branch=',
  'z9hG4bK',
  'tag=',
  '4294967296',
  '-1',
  '0',
  '99999999999999999999',
  '\0',
  '\u00ff',
  ' ',
  '\t',
  'lr',
  'maddr=',
];
/** So many, then some time passes. */
const ROUND = 2_000;

/** A phone in a call with another. What comes is of its other side, or of nobody. */
it('whatever comes as SIP is answered, dropped or counted', { timeout: 3_600_000 }, async () => {
  const { wire, ann, annLeg } = await connected();
  const seeds = wire.log.map(({ message }) => Uint8Array.from(messageBytes(message)));
  // What it answers is not looked at.
  wire.send = () => undefined;
  const mutator = new Mutator(seeds, TOKENS);
  const runs = fuzzRuns(200_000);
  for (let done = 0; done < runs; done += ROUND) {
    tryAll(mutator, Math.min(ROUND, runs - done), (bytes) => {
      try {
        ann.agent.receive(Uint8Array.from(bytes), HOPS.bob);
        parseMessage(bytes, false);
      } catch (error) {
        if (!(error instanceof ParleyError)) throw error;
      }
    });
    // Nobody answers calls that come of it.
    for (const call of ann.calls.splice(0)) {
      call.listen({ onEnded: () => undefined, onKeys: () => undefined });
      call.reject(486);
    }
    wire.log.length = 0;
    await wire.clock.advanceBy(20_000);
  }
  expect(Object.keys(ann.agent.counts).length).toBeGreaterThan(5);
  annLeg.bye();
  await wire.clock.advanceBy(300_000);
  // Nothing of it is left.
  expect([ann.agent.transactions, ann.agent.dialogs]).toEqual([0, 0]);
});
