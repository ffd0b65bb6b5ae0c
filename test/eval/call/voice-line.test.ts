import { describe, expect, it } from 'vitest';
import { levelOf } from '../../../src/audio/dsp/level.js';
import { Random } from '../../../src/base/random.js';
import { Ticker } from '../../../src/base/ticker.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { lineCodecs, VoiceLine } from '../../../src/eval/call/voice-line.js';
import { atCallerLevel, joinedSpeech } from '../../../src/eval/call/caller-voices.js';
import type { LineConditions } from '../../../src/eval/suite/suite-schema.js';

const RATE_HZ = 16_000;

function tone(ms: number, amplitude = 8000): Int16Array {
  return Int16Array.from({ length: (RATE_HZ * ms) / 1000 }, (_, i) => Math.round(amplitude * Math.sin(i * 0.3)));
}

async function lineWith(conditions: LineConditions) {
  const clock = new VirtualClock();
  const codecs = await lineCodecs(conditions.codec);
  const heard: Int16Array[] = [];
  const speaks: [boolean, number][] = [];
  const digits: string[] = [];
  const line = new VoiceLine(
    { ticker: new Ticker(clock), random: new Random(1), conditions, codecs, noise: null, records: true },
    {
      onMessage: () => undefined,
      onDigits: () => undefined,
      onTransfer: () => Promise.resolve({ ok: true }),
      onAgentSpeaks: (isSpeaking, agoMs) => speaks.push([isSpeaking, clock.nowMs() - agoMs]),
    },
  );
  line.start({
    audio: (samples) => heard.push(samples.slice()),
    digits: (keys) => digits.push(keys),
    text: () => undefined,
    formResult: () => undefined,
    closed: () => undefined,
  });
  line.connect();
  return { clock, line, heard, speaks, digits, codecs };
}

const loud = (frames: readonly Int16Array[]): number => frames.filter((frame) => levelOf(frame).rmsDbfs > -40).length;

describe('a line for speech', () => {
  it.each(['mulaw', 'alaw', 'g722', 'opus', 'pcm'] as const)('carries the voice by %s', async (codec) => {
    const { clock, line, heard, codecs } = await lineWith({ codec });
    expect(line.inputRateHz).toBe(codec.endsWith('law') ? 8000 : 16_000);
    const saying = line.say({ text: 'x', audio: { samples: tone(400), sampleRateHz: RATE_HZ } });
    await clock.advanceBy(1000);
    await saying;
    expect(loud(heard)).toBeGreaterThanOrEqual(19);
    expect(loud(heard)).toBeLessThanOrEqual(24);
    codecs.close();
  });

  it('loses packets and conceals them, the same ones for the same seed', async () => {
    const [first, second] = await Promise.all([lineWith({ loss: 0.3 }), lineWith({ loss: 0.3 })]);
    for (const { line, clock } of [first, second]) {
      void line.say({ text: 'x', audio: { samples: tone(2000), sampleRateHz: RATE_HZ } });
      await clock.advanceBy(2500);
    }
    expect(first.heard).toEqual(second.heard);
    const whole = await lineWith({});
    void whole.line.say({ text: 'x', audio: { samples: tone(2000), sampleRateHz: RATE_HZ } });
    await whole.clock.advanceBy(2500);
    expect(first.heard).not.toEqual(whole.heard);
  });

  it('adds noise at a level below speech', async () => {
    const { clock, heard } = await lineWith({ codec: 'pcm', noise: { snr_db: 15, kind: 'white' } });
    await clock.advanceBy(4000);
    const all = Int16Array.from(heard.slice(10).flatMap((frame) => [...frame]));
    expect(levelOf(all).rmsDbfs).toBeGreaterThan(-36);
    expect(levelOf(all).rmsDbfs).toBeLessThan(-34);
  });

  it('returns the agent’s voice as echo, and says when the agent speaks', async () => {
    const { clock, line, heard, speaks } = await lineWith({ codec: 'pcm', echo: { level_db: -10 } });
    for (let frame = 0; frame < 25; frame++) line.play(tone(20));
    await clock.advanceBy(2000);
    expect(loud(heard)).toBeGreaterThan(20);
    expect(speaks.map(([isSpeaking]) => isSpeaking)).toEqual([true, false]);
    expect((speaks[1]?.[1] ?? 0) - (speaks[0]?.[1] ?? 0)).toBe(500);
  });

  it('does not take a background for the agent’s voice', async () => {
    const { clock, line, speaks } = await lineWith({ codec: 'pcm' });
    for (let frame = 0; frame < 25; frame++) line.play(tone(20), true);
    await clock.advanceBy(1000);
    expect(speaks).toEqual([]);
  });

  it('presses keys at their pace', async () => {
    const { clock, line, digits } = await lineWith({});
    const pressing = line.press('1w2');
    await clock.advanceBy(300);
    expect(digits).toEqual(['1']);
    await clock.advanceBy(2000);
    await pressing;
    expect(digits).toEqual(['1', '2']);
  });

  it('plays out what was said before the agent hung up, then ends what the caller says', async () => {
    const { clock, line, speaks } = await lineWith({ codec: 'pcm' });
    let said = false;
    void line.say({ text: 'x', audio: { samples: tone(60_000), sampleRateHz: RATE_HZ } }).then(() => (said = true));
    for (let frame = 0; frame < 10; frame++) line.play(tone(20));
    await line.close();
    await clock.advanceBy(1000);
    expect(speaks.map(([isSpeaking]) => isSpeaking)).toEqual([true, false]);
    expect(said).toBe(true);
    line.hangUp();
    line.hangUp();
  });
});

describe('a caller’s speech', () => {
  it('has one level, whatever the voice', () => {
    const levels = [200, 20_000].map(
      (amplitude) => levelOf(atCallerLevel({ samples: tone(500, amplitude), sampleRateHz: RATE_HZ }).samples).rmsDbfs,
    );
    for (const level of levels) expect(level).toBeCloseTo(-20, 0);
    const mumbled = atCallerLevel({ samples: tone(500), sampleRateHz: RATE_HZ }, true);
    expect(levelOf(mumbled.samples).rmsDbfs).toBeCloseTo(-30, 0);
    expect(atCallerLevel({ samples: new Int16Array(100), sampleRateHz: RATE_HZ }).samples).toHaveLength(100);
  });

  it('begins with its first sound and ends with its last', () => {
    const samples = new Int16Array(RATE_HZ);
    samples.set(tone(200), RATE_HZ / 2);
    expect(atCallerLevel({ samples, sampleRateHz: RATE_HZ }).samples.length / RATE_HZ).toBeCloseTo(0.2, 1);
  });

  it('has silence between its parts', () => {
    const piece = { samples: tone(100), sampleRateHz: RATE_HZ };
    expect(joinedSpeech([piece, piece], 300).samples).toHaveLength(RATE_HZ / 2);
  });
});
