import assert from 'node:assert/strict';
import { frameSamples } from '../../audio/frame.js';
import type { Transport, TransportSink } from '../../transports/transport.js';

/** One line under test: the transport, and the user's end of the line. */
export interface ContractLine {
  transport: Transport;
  /** Audio that the far end has received, at the transport's output rate; may omit silence between frames. */
  heard(): Int16Array;
  /** Samples after the line's codec, in either direction. Omit it for a lossless line. */
  asHeard?(samples: Int16Array): Int16Array;
  /** The far end hangs up. */
  hangUp(): void | Promise<void>;
  /** Resolves when everything in transit has arrived. */
  settle(): Promise<void>;
  /** Frees the line's resources. */
  dispose(): Promise<void>;
  /** The far end sends. Omit channels that the transport does not have. */
  sendAudio?(samples: Int16Array): void;
  sendDigits?(digits: string): void;
  sendText?(text: string): void;
}

export interface ContractCheck {
  name: string;
  /** Rejects with an AssertionError if the transport violates the contract. */
  run: () => Promise<void>;
}

/**
 * The contract of `Transport` as checks for any test runner:
 *
 *     const checks = await transportContract(openLine);
 *     for (const { name, run } of checks) it(name, run);
 *
 * @param open creates a line that is not started; called once per check, and once to find out what the line can send
 */
export async function transportContract(open: () => Promise<ContractLine>): Promise<ContractCheck[]> {
  const sample = await open();
  await sample.dispose();
  return CHECKS.filter(({ needs }) => needs === undefined || sample[needs] !== undefined).map(({ name, check }) => ({
    name,
    run: async () => {
      const line = await open();
      try {
        await check(line, new Sink());
      } finally {
        await line.dispose();
      }
    },
  }));
}

interface Check {
  name: string;
  needs?: 'sendAudio' | 'sendDigits' | 'sendText';
  check: (line: ContractLine, sink: Sink) => Promise<void>;
}

/** Records everything that a transport delivers. */
class Sink implements TransportSink {
  readonly received: number[] = [];
  readonly typed: string[] = [];
  keys = '';
  timesClosed = 0;

  audio(samples: Int16Array): void {
    this.received.push(...samples);
  }

  digits(digits: string): void {
    this.keys += digits;
  }

  text(text: string): void {
    this.typed.push(text);
  }

  formResult(): void {
    // The checks send no forms.
  }

  closed(): void {
    this.timesClosed++;
  }
}

function assertClosedOnce({ timesClosed }: Sink): void {
  const times = `TransportSink.closed is called ${String(timesClosed)} times`;
  assert.equal(timesClosed, 1, `${times}: the end of a line must be reported once, also after \`close\``);
}

const CHECKS: readonly Check[] = [
  {
    name: 'has rates at which 20 ms are a whole number of samples',
    async check({ transport }) {
      for (const rateHz of [transport.inputRateHz, transport.outputRateHz]) {
        assert.ok(rateHz >= 8000 && rateHz <= 48_000, `${String(rateHz)} Hz`);
        assert.ok(Number.isInteger(frameSamples(rateHz)), `${String(rateHz)} Hz`);
      }
    },
  },
  {
    name: 'delivers all audio in order, in pieces of any length',
    needs: 'sendAudio',
    async check(line, sink) {
      line.transport.start(sink);
      const sent = noise(3001, 1);
      for (let at = 0, length = 1; at < sent.length; at += length, length = (length * 7) % 331) {
        line.sendAudio?.(sent.subarray(at, at + length));
      }
      await line.settle();
      assert.deepEqual(sink.received, [...asHeard(line, sent)]);
    },
  },
  {
    name: 'keeps audio that arrives before the start',
    needs: 'sendAudio',
    async check(line, sink) {
      const sent = noise(640, 2);
      line.sendAudio?.(sent);
      await line.settle();
      line.transport.start(sink);
      await line.settle();
      assert.deepEqual(sink.received, [...asHeard(line, sent)]);
    },
  },
  {
    name: 'delivers keys',
    needs: 'sendDigits',
    async check(line, sink) {
      line.transport.start(sink);
      line.sendDigits?.('12*#');
      await line.settle();
      assert.equal(sink.keys, '12*#', 'the line delivers other keys than were pressed');
    },
  },
  {
    name: 'delivers typed messages',
    needs: 'sendText',
    async check(line, sink) {
      line.transport.start(sink);
      line.sendText?.('Grüß Gott 👋');
      await line.settle();
      assert.deepEqual(sink.typed, ['Grüß Gott 👋']);
    },
  },
  {
    name: "delivers the agent's frames to the far end in order, without losing a sample",
    async check(line, sink) {
      const { transport } = line;
      transport.start(sink);
      const frames = [3, 4, 5].map((seed) => noise(frameSamples(transport.outputRateHz), seed));
      transport.play(null);
      for (const frame of frames) transport.play(frame);
      transport.play(null);
      await line.settle();
      assert.deepEqual(
        sounding(line.heard()),
        frames.flatMap((frame) => sounding(asHeard(line, frame))),
      );
    },
  },
  {
    name: 'delivers audio that was played before the close',
    async check(line, sink) {
      line.transport.start(sink);
      const frame = noise(frameSamples(line.transport.outputRateHz), 6);
      line.transport.play(frame);
      await line.transport.close();
      await line.settle();
      assert.deepEqual(sounding(line.heard()), sounding(asHeard(line, frame)));
    },
  },
  {
    name: 'reports a hang-up once, and delivers nothing after it',
    async check(line, sink) {
      line.transport.start(sink);
      await line.hangUp();
      await line.settle();
      assertClosedOnce(sink);
      const before = sink.received.length;
      line.sendAudio?.(noise(320, 7));
      line.sendText?.('too late');
      await line.settle();
      assert.equal(sink.received.length, before, 'the line delivers audio after its end');
      assert.deepEqual(sink.typed, []);
      await line.transport.close();
      assertClosedOnce(sink);
    },
  },
  {
    name: 'reports a hang-up before the start',
    async check(line, sink) {
      await line.hangUp();
      await line.settle();
      line.transport.start(sink);
      await line.settle();
      assertClosedOnce(sink);
    },
  },
  {
    name: 'closes once, even if close is called repeatedly',
    async check(line, sink) {
      line.transport.start(sink);
      await Promise.all([line.transport.close(), line.transport.close()]);
      await line.transport.close();
      assertClosedOnce(sink);
    },
  },
  {
    name: 'accepts frames and messages at any time',
    async check(line, sink) {
      const { transport } = line;
      const playAll = (): void => {
        transport.play(null);
        transport.play(new Int16Array(frameSamples(transport.outputRateHz)));
        transport.send({ type: 'ready', sessionId: 'contract' });
        transport.send({ type: 'clear' });
        transport.send({ type: 'ended', status: 'user-ended' });
      };
      transport.start(sink);
      playAll();
      await line.hangUp();
      playAll();
      await line.settle();
      playAll();
      await transport.close();
      playAll();
    },
  },
];

/** Loud noise without zero samples; the same seed gives the same noise. */
function noise(length: number, seed: number): Int16Array {
  let state = seed;
  return Int16Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (state % 20_000) - 10_000 || 1;
  });
}

function asHeard(line: ContractLine, samples: Int16Array): Int16Array {
  return line.asHeard?.(samples) ?? samples;
}

function sounding(samples: Int16Array): number[] {
  return [...samples].filter((sample) => sample !== 0);
}
