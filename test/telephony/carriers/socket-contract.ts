import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../../src/agent/flow/conversation-config.js';
import { Ticker } from '../../../src/base/ticker.js';
import { Session } from '../../../src/session/session.js';
import type { CarrierCall } from '../../../src/telephony/carriers/carrier.js';
import { carrierContract } from '../../../src/testing/contracts/carrier-contract.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../../src/testing/doubles/tone-tts.js';
import { tone } from '../../vendors/carriers/people.js';
import { CALLER, NUMBERS, OWN, type SocketRig, STRANGER } from './socket-rig.js';

/** The contract of carriers, on one with a media socket. */
export function describeContract(name: string, open: () => SocketRig): void {
  describe(`the contract of a carrier, on ${name}`, () => {
    const checks = carrierContract(() => {
      const { carrier, double, until, dispose } = open();
      const person = () => double.people.get(NUMBERS.person);
      return Promise.resolve({
        carrier,
        own: OWN,
        ...NUMBERS,
        until,
        dispose,
        callIn: () => void double.callIn(STRANGER, OWN, CALLER),
        keysHeard: () => person()?.keys ?? '',
        loudnessHeard: () => person()?.loudness ?? 0,
      });
    });
    for (const { name: what, run } of checks) it(what, run);
  });

  it(`on ${name}, a caller, the agent and a person who is called are a conference, and each can be held`, async () => {
    const rig = open();
    const { clock, carrier, double, until } = rig;
    const ticker = new Ticker(clock);
    const voice = tone(20);
    const calls: CarrierCall[] = [];
    carrier.receiveCalls((call) => calls.push(call));
    const loudness = { caller: 0, person: 0 };
    const ear = (who: 'caller' | 'person') => (samples: Int16Array) => {
      loudness[who] = Math.max(loudness[who], ...samples);
    };
    double.callIn(STRANGER, OWN, { does: 'answer', speaks: () => voice, hears: ear('caller') });
    await until(() => calls.length > 0);
    const [call] = calls;
    call?.answer();
    await until(() => call?.state === 'answered');
    const session = new Session({
      id: 's1',
      transport: call!.line,
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      llm: functionLlm(() => ''),
      model: 'test',
      tts: toneTts(),
      clock,
      ticker,
      conversation: DEFAULT_CONVERSATION,
    });
    void session.run();
    await session.mute('agent');
    const other = carrier.placeCall({ from: OWN, to: NUMBERS.person, ringTimeoutMs: 30_000 });
    await until(() => other.state === 'answered');
    const joined = await session.join(other.line, { name: 'Ada', mode: 'barge_in' });
    const habits = { does: 'answer', speaks: () => voice, hears: ear('person') };
    Object.assign(double.people.get(NUMBERS.person)!, { habits });
    /** What both hear in the next second. */
    const heard = async (): Promise<{ caller: boolean; person: boolean }> => {
      await clock.advanceBy(500); // what was said before is on its way
      Object.assign(loudness, { caller: 0, person: 0 });
      await clock.advanceBy(1_000);
      return { caller: loudness.caller > 500, person: loudness.person > 500 };
    };
    expect(await heard()).toEqual({ caller: true, person: true });
    await session.hold({ music: false });
    expect(await heard()).toEqual({ caller: false, person: false });
    await session.unhold();
    await joined.hold({ music: false });
    expect(await heard()).toEqual({ caller: false, person: false });
    await joined.hold({ music: true });
    expect(await heard()).toEqual({ caller: false, person: true });
    await joined.unhold();
    await joined.setMode('listen');
    expect(await heard()).toEqual({ caller: false, person: true });
    await session.mute('agent', false);
    await joined.setMode('take_over');
    expect(await heard()).toEqual({ caller: true, person: true });
    rig.farCall(other).hangUp();
    await until(() => session.participants.length === 0);
    expect(await joined.left).toBe('lost');
    loudness.caller = 0;
    await until(() => loudness.caller > 500); // the agent says that it is there
    void session.close();
    await rig.dispose();
    expect(double.violations).toEqual([]);
  });
}
