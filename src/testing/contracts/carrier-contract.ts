import assert from 'node:assert/strict';
import { DtmfDetector } from '../../audio/tones/dtmf.js';
import { frameSamples } from '../../audio/frame.js';
import type { CallState, Carrier, CarrierCall } from '../../telephony/carriers/carrier.js';
import type { TransportSink } from '../../transports/transport.js';
import type { ContractCheck } from './transport-contract.js';

/** A carrier under test, and numbers on its network with a known behaviour. */
export interface ContractNetwork {
  carrier: Carrier;
  /** A number of the carrier. */
  own: string;
  /** Answers, speaks, presses the keys 1 and 2, and stays on the line. */
  person: string;
  /** Answers, and hangs up within seconds. */
  leaver: string;
  busy: string;
  /** Rings forever. */
  absent: string;
  rejecting: string;
  /** Does not exist. */
  nobody: string;
  /** Starts a call to `own`. */
  callIn(): void;
  /** Keys that `person` received in the current call. */
  keysHeard(): string;
  /** Level of the sound that `person` received; 0 = silence. */
  loudnessHeard(): number;
  /** Lets time pass until `condition` holds; rejects if it never does. */
  until(condition: () => boolean): Promise<void>;
  dispose(): Promise<void>;
}

/**
 * The contract of `Carrier` as checks for any test runner. Check the lines of its calls with `transportContract`.
 *
 * @param open creates a network for one check
 */
export function carrierContract(open: () => Promise<ContractNetwork>): ContractCheck[] {
  return CHECKS.map(({ name, check }) => ({
    name,
    run: async () => {
      const network = await open();
      try {
        await check(network);
      } finally {
        await network.dispose();
      }
    },
  }));
}

/** Records the input of a line: audio, and keys as events or tones. */
class Ear implements TransportSink {
  keys = '';
  /** Count of pieces of audio that were not silent. */
  sounding = 0;
  isClosed = false;
  readonly #tones: DtmfDetector;

  constructor(sampleRateHz: number) {
    this.#tones = new DtmfDetector(sampleRateHz);
  }

  audio(samples: Int16Array): void {
    for (const { digit } of this.#tones.push(samples)) this.keys += digit;
    if (samples.some((sample) => Math.abs(sample) > 500)) this.sounding++;
  }

  digits(digits: string): void {
    this.keys += digits;
  }

  text(): void {
    // Phone calls carry no text.
  }

  formResult(): void {
    // Phone calls have no forms.
  }

  closed(): void {
    assert.ok(!this.isClosed, 'the line closed twice');
    this.isClosed = true;
  }
}

const signal = (): AbortSignal => AbortSignal.timeout(10_000);

function place(network: ContractNetwork, to: string, ringTimeoutMs = 30_000) {
  const call = network.carrier.placeCall({ from: network.own, to, ringTimeoutMs });
  return watched(call);
}

function watched(call: CarrierCall) {
  const states: CallState[] = [call.state];
  const ear = new Ear(call.line.inputRateHz);
  call.onState((state) => states.push(state));
  call.line.start(ear);
  return { call, states, ear };
}

/** Waits for work while the network's time passes. */
async function outcomeOf<T>(network: ContractNetwork, under: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = (): void => void (isSettled = true);
  under.then(settled, settled);
  await network.until(() => isSettled);
  return under;
}

async function endsWith(
  network: ContractNetwork,
  { call, states, ear }: ReturnType<typeof place>,
  cause: string,
): Promise<void> {
  await network.until(() => call.state === 'ended');
  assert.equal(call.end?.cause, cause, call.end?.reason);
  assert.equal(states.filter((state) => state === 'ended').length, 1);
  assert.equal(states.at(-1), 'ended');
  assert.ok(ear.isClosed, 'the line closes with its call');
  const record = call.record();
  assert.deepEqual(record.end, call.end);
  assert.ok(record.endedMs !== null && record.endedMs >= record.initiatedMs);
  call.hangUp(); // has no effect
  assert.equal(call.end?.cause, cause);
}

interface Check {
  name: string;
  check: (network: ContractNetwork) => Promise<void>;
}

const CHECKS: readonly Check[] = [
  {
    name: 'offers numbers, sells each once and takes them back',
    async check(network) {
      const { carrier } = network;
      const offers = await carrier.searchNumbers({ country: 'US', limit: 3 }, signal());
      assert.ok(offers.length > 0 && offers.length <= 3);
      const number = offers[0]?.number ?? '';
      assert.match(number, /^\+1\d{10}$/);
      await outcomeOf(network, carrier.buyNumber(number, signal()));
      assert.ok((await carrier.ownedNumbers(signal())).includes(number));
      await assert.rejects(carrier.buyNumber(number, signal()), { code: 'NUMBER_UNAVAILABLE' });
      await outcomeOf(network, carrier.releaseNumber(number, signal()));
      assert.ok(!(await carrier.ownedNumbers(signal())).includes(number));
      await assert.rejects(carrier.releaseNumber(number, signal()), { code: 'NUMBER_NOT_OWNED' });
    },
  },
  {
    name: 'has no offers for an unknown country',
    async check({ carrier }) {
      assert.deepEqual(await carrier.searchNumbers({ country: 'ZZ' }, signal()), []);
    },
  },
  {
    name: 'refuses to call an invalid number',
    async check({ carrier, own }) {
      for (const to of ['', '911', 'the office', '+', '+0123456789', '+1202555010112345678']) {
        assert.throws(() => carrier.placeCall({ from: own, to, ringTimeoutMs: 1000 }), { code: 'NUMBER_INVALID' });
      }
    },
  },
  {
    name: 'reports the states of a call, and who hung up',
    async check(network) {
      const placed = place(network, network.person);
      assert.equal(placed.call.state, 'initiated');
      await network.until(() => placed.call.state === 'answered');
      placed.call.hangUp();
      await endsWith(network, placed, 'hangup');
      assert.deepEqual(placed.states, ['initiated', 'ringing', 'answered', 'ended']);
      assert.equal(placed.call.end?.by, 'agent');
      const { direction, from, to, ringingMs, answeredMs } = placed.call.record();
      assert.deepEqual([direction, from, to], ['outbound', network.own, network.person]);
      assert.ok(ringingMs !== null && answeredMs !== null && answeredMs >= ringingMs);
    },
  },
  {
    name: 'carries sound and keys both ways',
    async check(network) {
      const { call, ear } = place(network, network.person);
      await network.until(() => call.state === 'answered');
      const loud = new Int16Array(frameSamples(call.line.outputRateHz)).map((_, i) => (i % 8 < 4 ? 8000 : -8000));
      for (let frame = 0; frame < 10; frame++) call.line.play(loud);
      await network.until(() => ear.sounding > 5 && ear.keys.includes('12') && network.loudnessHeard() > 1000);
      if (call.line.sendDigits === undefined) return; // sessions send tones on such a line
      let sent = false;
      void call.line.sendDigits('4*#', signal()).then(() => (sent = true));
      await network.until(() => sent && network.keysHeard() === '4*#');
      const { digitsSent, digitsReceived } = call.record();
      assert.deepEqual([digitsSent, digitsReceived], ['4*#', '12']);
    },
  },
  {
    name: 'closing the line ends the call',
    async check(network) {
      const placed = place(network, network.person);
      await network.until(() => placed.call.state === 'answered');
      void placed.call.line.close();
      await endsWith(network, placed, 'hangup');
      assert.equal(placed.call.end?.by, 'agent');
    },
  },
  {
    name: 'reports that the far end hangs up',
    async check(network) {
      const placed = place(network, network.leaver);
      await endsWith(network, placed, 'hangup');
      assert.equal(placed.call.end?.by, 'remote');
    },
  },
  ...(
    [
      ['busy', 'busy'],
      ['rejecting', 'rejected'],
      ['nobody', 'failed'],
    ] as const
  ).map(([who, cause]) => ({
    name: `reports ${cause}`,
    async check(network: ContractNetwork) {
      const placed = place(network, network[who]);
      await endsWith(network, placed, cause);
      assert.ok(!placed.states.includes('answered'));
      assert.notEqual(placed.call.end?.reason, '');
    },
  })),
  {
    name: 'gives up after the ring timeout',
    async check(network) {
      const placed = place(network, network.absent, 3000);
      await endsWith(network, placed, 'no-answer');
      const { ringingMs, endedMs } = placed.call.record();
      assert.ok((endedMs ?? 0) - (ringingMs ?? 0) >= 2900);
    },
  },
  {
    name: 'cancels a call that is hung up while it rings',
    async check(network) {
      const placed = place(network, network.absent);
      await network.until(() => placed.call.state === 'ringing');
      placed.call.hangUp();
      await endsWith(network, placed, 'canceled');
    },
  },
  {
    name: 'delivers incoming calls, which can be answered',
    async check(network) {
      const calls: CarrierCall[] = [];
      network.carrier.receiveCalls((call) => calls.push(call));
      network.callIn();
      await network.until(() => calls.length === 1);
      const [call] = calls;
      assert.ok(call !== undefined);
      assert.deepEqual([call.direction, call.to, call.state], ['inbound', network.own, 'ringing']);
      const answered = watched(call);
      call.answer();
      await network.until(() => answered.ear.sounding > 5);
      call.hangUp();
      await endsWith(network, answered, 'hangup');
    },
  },
  {
    name: 'rejects an incoming call that is hung up before its answer, and one whose listener throws',
    async check(network) {
      const calls: CarrierCall[] = [];
      const stop = network.carrier.receiveCalls((call) => calls.push(call));
      network.callIn();
      await network.until(() => calls.length === 1);
      calls[0]?.hangUp();
      await network.until(() => calls[0]?.state === 'ended');
      assert.equal(calls[0]?.end?.cause, 'rejected');
      stop();
      network.carrier.receiveCalls((call) => {
        calls.push(call);
        throw new Error('not today');
      });
      network.callIn();
      await network.until(() => calls[1]?.state === 'ended');
      assert.equal(calls[1]?.record().answeredMs, null);
    },
  },
  {
    name: 'transfers blindly: a busy target returns to the call, success ends it',
    async check(network) {
      const placed = place(network, network.person);
      const { call } = placed;
      await network.until(() => call.state === 'answered');
      if (call.line.transfer === undefined) return;
      let outcome: unknown;
      void call.line.transfer(network.busy, signal()).then((result) => (outcome = result));
      await network.until(() => outcome !== undefined);
      assert.deepEqual(outcome, { ok: false, reason: 'busy' });
      assert.equal(call.state, 'answered');
      outcome = undefined;
      void call.line.transfer(network.leaver, signal()).then((result) => (outcome = result));
      await network.until(() => outcome !== undefined);
      assert.deepEqual(outcome, { ok: true });
      void call.line.close();
      await endsWith(network, placed, 'transferred');
      assert.deepEqual(call.record().transfer, { target: network.leaver, outcome: { ok: true } });
    },
  },
  {
    name: 'connects two calls for an attended transfer',
    async check(network) {
      const placed = place(network, network.person);
      await network.until(() => placed.call.state === 'answered');
      if (placed.call.connectTo === undefined) return;
      const asked = place(network, network.leaver);
      await network.until(() => asked.call.state === 'answered');
      assert.deepEqual(await outcomeOf(network, placed.call.connectTo(asked.call, signal())), { ok: true });
      void placed.call.line.close();
      await endsWith(network, placed, 'transferred');
      await endsWith(network, asked, 'transferred');
    },
  },
  {
    name: 'a listener that throws does not stop the others',
    async check(network) {
      const call = network.carrier.placeCall({ from: network.own, to: network.person, ringTimeoutMs: 10_000 });
      call.onState(() => {
        throw new Error('broken listener');
      });
      const heard: CallState[] = [];
      call.onState((state) => heard.push(state));
      await network.until(() => heard.includes('answered'));
      call.hangUp();
      await network.until(() => heard.includes('ended'));
    },
  },
  {
    name: 'ends all calls when it is closed, and places none afterwards',
    async check(network) {
      const placed = place(network, network.person);
      await network.until(() => placed.call.state === 'answered');
      await network.carrier.close();
      await network.carrier.close();
      await network.until(() => placed.call.state === 'ended');
      assert.throws(() => place(network, network.person), { code: 'CARRIER_CLOSED' });
    },
  },
];
