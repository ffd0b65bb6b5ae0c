import { describe, expect, it } from 'vitest';
import { backgroundLine } from '../../../src/session/speech/background-loop.js';
import type { TransportMessage } from '../../../src/transports/transport.js';
import { MemoryTransport } from '../../../src/transports/memory.js';
import { play, recording, saidBy } from '../support.js';

const LOOP = Int16Array.from({ length: 1000 }, (_, at) => 100 + (at % 10));
const DEAF = {
  audio: () => undefined,
  digits: () => undefined,
  text: () => undefined,
  formResult: () => undefined,
  closed: () => undefined,
};

interface Heard {
  frames: (Int16Array | null)[];
  messages: TransportMessage[];
  faults: string[];
}

async function line(
  loop: Promise<Int16Array>,
  volume: number,
): Promise<Heard & { line: ReturnType<typeof backgroundLine> }> {
  const heard: Heard = { frames: [], messages: [], faults: [] };
  const memory = new MemoryTransport({
    onFrame: (frame) => heard.frames.push(frame),
    onMessage: (message) => heard.messages.push(message),
  });
  const under = backgroundLine(memory, { loop, volume, onFault: (reason) => heard.faults.push(reason) });
  under.start(DEAF);
  await Promise.resolve();
  await Promise.resolve();
  return { ...heard, line: under };
}

describe('a background', () => {
  it('goes round under silence and speech at its volume, without a gap', async () => {
    const { line: under, frames } = await line(Promise.resolve(LOOP), 2);
    for (let frame = 0; frame < 25; frame++) under.play(null); // it has come up
    under.play(new Int16Array(320).fill(5000));
    under.play(null);
    const all = frames.flatMap((frame) => [...(frame ?? [])]);
    expect(all).toHaveLength(27 * 320);
    const at = (sample: number): number => 2 * (100 + (sample % 10));
    expect(all.slice(25 * 320, 26 * 320)).toEqual(Array.from({ length: 320 }, (_, i) => 5000 + at(25 * 320 + i)));
    expect(all.slice(26 * 320)).toEqual(Array.from({ length: 320 }, (_, i) => at(26 * 320 + i)));
    expect(Math.abs(all[0] ?? 99)).toBeLessThan(2); // no jolt at its beginning
  });

  it('never clips, however loud both are', async () => {
    const { line: under, frames } = await line(Promise.resolve(new Int16Array(640).fill(30_000)), 2);
    for (let frame = 0; frame < 30; frame++) under.play(new Int16Array(320).fill(30_000));
    const last = frames.at(-1)?.[0] ?? 0;
    expect(last).toBeGreaterThan(30_000);
    expect(last).toBeLessThan(32_768);
  });

  it('leaves the line as it is until it comes, and where it does not come', async () => {
    const { line: under, frames, faults } = await line(Promise.reject(new Error('not found')), 1);
    const speech = new Int16Array(320).fill(3);
    under.play(null);
    under.play(speech);
    expect(frames).toEqual([null, speech]);
    expect(faults).toEqual(['not found']);
  });

  it('tells clients not to hold or drop it', async () => {
    const { line: under, messages } = await line(Promise.resolve(LOOP), 1);
    under.send({ type: 'pause' });
    under.send({ type: 'answering' });
    expect(messages).toEqual([{ type: 'pause', soundGoesOn: true }, { type: 'answering' }]);
  });
});

describe('a session with a background', () => {
  const user = recording(9000, [2000, 3000], [5000, 5600]);
  const lines = ['can you help me please', 'stop that now'];

  it('converses just as without: it is neither the user nor the agent', async () => {
    const plain = await play(user, { lines });
    const loop = Promise.resolve(new Int16Array(16_000).fill(500));
    const wrapped = await play(user, {
      lines,
      wrap: (transport) => backgroundLine(transport, { loop, volume: 1, onFault: (reason) => expect.fail(reason) }),
    });
    expect(wrapped.report).toEqual(plain.report); // the user's hanging up after the agent's silence included
    expect(saidBy(wrapped)).toEqual(saidBy(plain));
    // It is heard all the time, also while the agent is held.
    expect(wrapped.audio.subarray(16_000, 9 * 16_000).every((sample) => sample !== 0)).toBe(true);
    // Under the speech: the difference to the call without it is the background.
    const difference = wrapped.audio.map((sample, at) => sample - (plain.audio[at] ?? 0)).subarray(16_000, 8 * 16_000);
    expect(new Set(difference)).toEqual(new Set([500]));
  });
});
