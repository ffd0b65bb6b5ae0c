import { SimulatedNetwork, type SimulatedNetworkOptions } from '../../../src/telephony/carriers/simulated/network.js';
import type { SimulatedNumber } from '../../../src/telephony/carriers/simulated/script.js';
import { SoundLibrary } from '../../../src/telephony/carriers/simulated/sounds.js';
import type { CallReport } from '../../../src/telephony/calls/agent-call.js';
import type { CallStatus } from '../../../src/telephony/calls/call-status.js';
import { Switchboard } from '../../../src/telephony/calls/switchboard.js';
import type { CallAgent } from '../../../src/telephony/calls/call-agent.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Engine } from '../../../src/engine/engine.js';
import type { SessionEvent } from '../../../src/session/session-options.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../../src/testing/doubles/tone-tts.js';
import { toneVoice } from '../carriers/simulated/support.js';

export const OWN = '+12025550199';

/** A switchboard on a simulated network in virtual time, with doubles for recogniser, model and voice. */
export class PhoneRig {
  readonly clock: VirtualClock;
  readonly engine: Engine;
  readonly errors: unknown[] = [];
  readonly network: SimulatedNetwork;
  readonly switchboard: Switchboard;

  constructor(
    numbers: readonly SimulatedNumber[],
    options: Partial<SimulatedNetworkOptions> = {},
    clock = new VirtualClock(),
  ) {
    this.clock = clock;
    this.engine = new Engine({ clock });
    const onError = (error: unknown): void => void this.errors.push(error);
    this.network = new SimulatedNetwork({
      clock,
      ticker: this.engine.ticker,
      numbers,
      sounds: new SoundLibrary(toneVoice, new URL('file:///')),
      owned: [OWN],
      onError,
      ...options,
    });
    this.switchboard = new Switchboard({ engine: this.engine, carrier: this.network, onError });
  }

  /** An agent of doubles; `lines` are what the recogniser hears, one for each stretch of speech. */
  agent(lines: readonly string[], config: CallAgent['agent'] = {}): Call {
    const statuses: CallStatus[] = [];
    const events: SessionEvent[] = [];
    return {
      statuses,
      events,
      agent: { prompt: 'You call people.', first_message: 'Hello, this is the desk.', ...config },
      vad: energyVad(),
      stt: promptedStt({ lines }),
      llm: functionLlm(({ messages }) => {
        const last = messages.at(-1);
        const said = last?.content ?? '';
        const [, name, args] = /^use (\w+) (.*)$/.exec(last?.role === 'user' ? said : '') ?? [];
        return name === undefined ? `I heard ${said}` : { calls: [{ name, arguments: args ?? '{}' }] };
      }),
      tts: toneTts(),
      onStatus: (status) => statuses.push(status),
      observe: (event) => events.push(event),
    };
  }

  async finished(call: { finished: Promise<CallReport> }, withinMs = 600_000): Promise<CallReport> {
    let report: CallReport | undefined;
    void call.finished.then((done) => (report = done));
    await this.clock.runUntil(() => report !== undefined, withinMs);
    if (report === undefined) throw new Error('the call did not end');
    return report;
  }

  async close(): Promise<void> {
    await this.switchboard.close();
    await this.network.close();
    await this.engine.close();
  }
}

export interface Call extends CallAgent {
  statuses: CallStatus[];
  events: SessionEvent[];
}

/** Moved by the test, but to those that ask it is no virtual time: it does not wait for work to be done. */
export class ManualClock extends VirtualClock {
  override readonly virtual = false as unknown as true;

  override settle<T>(work: Promise<T>): Promise<T> {
    return work;
  }
}
