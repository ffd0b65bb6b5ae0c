import { describe, expect, it } from 'vitest';
import { decodeG711, encodeG711 } from '../../../../src/audio/codecs/g711.js';
import { SocketLine } from '../../../../src/telephony/carriers/media-socket/socket-line.js';
import { TWILIO_MESSAGES } from '../../../../src/telephony/carriers/twilio/carrier.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import { transportContract } from '../../../../src/testing/contracts/transport-contract.js';
import { Person } from '../../../vendors/carriers/people.js';
import { socketPair } from '../../../vendors/carriers/socket-pair.js';
import { DoubleStream } from '../../../vendors/carriers/twilio/stream.js';

const FRAME = 160;

/** A line with Twilio's end of a media stream at its far side, each way taking 25 ms. */
async function openLine(says?: Uint8Array) {
  const clock = new VirtualClock();
  const person = new Person('+12025550101', { does: 'answer', ...(says && { says }) });
  const bad: string[] = [];
  const gone: boolean[] = [];
  let closed = 0;
  const line = new SocketLine({
    clock,
    carrier: 'twilio',
    dialect: TWILIO_MESSAGES,
    encoding: 'mulaw',
    sampleRateHz: 8_000,
    events: {
      onClosed: () => closed++,
      onTransfer: () => Promise.resolve({ ok: false, reason: 'unsupported' }),
      onDigits: () => Promise.resolve(),
      onStart: () => undefined,
      onGone: (isStopped) => gone.push(isStopped),
      onBad: (reason) => bad.push(reason),
    },
  });
  const facts = { accountSid: `AC${'0'.repeat(32)}`, callSid: `CA${'0'.repeat(32)}`, streamSid: `MZ${'0'.repeat(32)}` };
  const [near, far] = socketPair(clock, 25);
  line.attach(near);
  const stream = new DoubleStream(far, facts, person, () => undefined);
  const tick = (): void => {
    stream.tick();
    clock.schedule(clock.nowMs() + 20, tick);
  };
  await clock.runUntil(() => line.hasStream);
  return { clock, person, line, stream, bad, gone, closed: () => closed, tick };
}

/** A frame whose code tells which one it is. */
function frame(at: number): Int16Array {
  return decodeG711('mulaw', new Uint8Array(FRAME).fill(0x10 + at));
}

const coded = (samples: Int16Array): Int16Array => decodeG711('mulaw', encodeG711('mulaw', samples));

/** Which frames the far end has heard, by their codes. */
function heardBy(person: Person): number[] {
  return person.heard.map((one) => (one[FRAME / 2] ?? 0) - 0x10);
}

describe('the line over a media socket', async () => {
  const checks = await transportContract(async () => {
    const rig = await openLine();
    const { line, stream, person, clock } = rig;
    rig.tick();
    return {
      transport: line,
      heard: () => Int16Array.from(person.heard.flatMap((one) => [...decodeG711('mulaw', one)])),
      asHeard: coded,
      hangUp: () => line.gone(),
      settle: () => clock.advanceBy(500),
      dispose: () => Promise.resolve(line.gone()),
      sendDigits: (digits) => stream.digits(digits),
    };
  });
  for (const { name, run } of checks) it(name, run);

  it('knows by the marks how much of what was said has not been heard', async () => {
    const { line, clock, tick } = await openLine();
    tick();
    for (let at = 0; at < 50; at++) {
      line.play(frame(at % 20));
      await clock.advanceBy(20);
    }
    // 25 ms each way, and up to a tick at the far end.
    expect(line.unheardMs()).toBeGreaterThanOrEqual(50);
    expect(line.unheardMs()).toBeLessThanOrEqual(100);
    line.play(null);
    await clock.advanceBy(300);
    expect(line.unheardMs()).toBe(0);
  });

  it('falls silent at once when the agent pauses, and goes on at the very frame', async () => {
    const { line, clock, tick, stream, person } = await openLine();
    for (let at = 0; at < 10; at++) {
      line.play(frame(at));
      await clock.advanceBy(20);
    }
    // The far end plays late: 200 ms wait there.
    tick();
    for (let at = 10; at < 30; at++) {
      line.play(frame(at));
      await clock.advanceBy(20);
    }
    expect(stream.bufferedMs).toBeGreaterThan(150);
    line.send({ type: 'pause' });
    await clock.advanceBy(25);
    expect(stream.bufferedMs).toBe(0);
    const heardBefore = heardBy(person).length;
    await clock.advanceBy(400);
    expect(heardBy(person).length).toBe(heardBefore);
    line.send({ type: 'unpause' });
    for (let at = 30; at < 40; at++) {
      line.play(frame(at));
      await clock.advanceBy(20);
    }
    line.play(null);
    await clock.advanceBy(500);
    const heard = heardBy(person);
    expect(heard.at(-1)).toBe(39);
    // Nothing is missing, and what was heard twice is less than the network's way back.
    expect(new Set(heard).size).toBe(40);
    expect(heard.length - 40).toBeLessThanOrEqual(4);
  });

  it('takes back what has not been heard when the user interrupts', async () => {
    const { line, clock, stream, person, tick } = await openLine();
    for (let at = 0; at < 40; at++) line.play(frame(at));
    await clock.advanceBy(30);
    tick();
    await clock.advanceBy(100);
    line.send({ type: 'clear' });
    await clock.advanceBy(200);
    expect(stream.clears).toBe(1);
    expect(heardBy(person).length).toBeLessThan(10);
    expect(line.unheardMs()).toBe(0);
    line.play(frame(50));
    await clock.advanceBy(100);
    expect(heardBy(person).at(-1)).toBe(50);
  });

  it('counts what it sends as not heard while marks are waited for, and as heard where they never come', async () => {
    const { line, clock, stream, tick } = await openLine();
    tick();
    const say = async (frames: number): Promise<void> => {
      for (let at = 0; at < frames; at++) {
        line.play(frame(at));
        await clock.advanceBy(20);
      }
    };
    await say(50);
    expect(line.unheardMs()).toBeLessThanOrEqual(200);
    stream.keepsMarks = true;
    await say(50);
    expect(line.unheardMs()).toBeGreaterThan(850);
    await say(200);
    expect(line.unheardMs()).toBeLessThanOrEqual(3_100);
    for (let at = 0; at < 200; at++) {
      line.play(null);
      await clock.advanceBy(20);
    }
    expect(line.unheardMs()).toBe(0);
    line.send({ type: 'clear' });
    await clock.advanceBy(100);
    expect(stream.clears).toBe(0);
  });

  it('sends no clear where nothing is under way', async () => {
    const { line, clock, stream, tick } = await openLine();
    tick();
    line.play(frame(1));
    line.play(null);
    await clock.advanceBy(300);
    line.send({ type: 'pause' });
    line.send({ type: 'clear' });
    await clock.advanceBy(100);
    expect(stream.clears).toBe(0);
  });

  it('closes when its last words have been heard', async () => {
    const { line, clock, person, tick, closed } = await openLine();
    tick();
    for (let at = 0; at < 25; at++) line.play(frame(at));
    void line.close();
    expect(closed()).toBe(0);
    await clock.runUntil(() => closed() === 1, clock.nowMs() + 2_000);
    expect(heardBy(person)).toHaveLength(25);
  });

  it('closes though no mark comes back', async () => {
    const { line, clock, closed } = await openLine();
    line.play(frame(0));
    void line.close();
    await clock.runUntil(() => closed() === 1, clock.nowMs() + 1_000);
    expect(closed()).toBe(1);
  });

  it('puts silence where the carrier left sound out, and counts it', async () => {
    const { line, clock, stream } = await openLine();
    let samples = 0;
    line.start({
      audio: (some) => (samples += some.length),
      digits: () => undefined,
      text: () => undefined,
      formResult: () => undefined,
      closed: () => undefined,
    });
    const payload = Buffer.alloc(FRAME, 0xff).toString('base64');
    const media = (timestamp: number): void =>
      stream.raw(
        JSON.stringify({ event: 'media', media: { track: 'inbound', timestamp: String(timestamp), payload } }),
      );
    for (const timestamp of [0, 20, 40, 140, 160]) media(timestamp);
    await clock.advanceBy(100);
    expect(samples).toBe(5 * FRAME + 4 * FRAME);
    expect(line.counts.missingMs).toBe(80);
    expect(line.lineStats()).toMatchObject({ received: 5, lost: 4 });
  });
});
