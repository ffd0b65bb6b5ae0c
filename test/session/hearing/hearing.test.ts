import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { msToSamples } from '../../../src/audio/frame.js';
import { resample } from '../../../src/audio/dsp/resample.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import type { ConversationEvent } from '../../../src/conversation/events.js';
import { packageFile } from '../../../src/package-files.js';
import type { VadProvider } from '../../../src/providers/vad/vad.js';
import { vadProvider } from '../../../src/providers/vad/registry.js';
import { Hearing } from '../../../src/session/hearing/hearing.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { readFixtureLabels } from '../../../src/testing/labels/labels.js';

interface Heard {
  events: ConversationEvent[];
  /** What the recogniser was given, from the first sample on. */
  given: Int16Array;
  edges: string[];
  ends: number[];
}

/** Plays audio as a line would: `pieceMs` at a time, each piece when its last sample has been spoken. */
function hear(samples: Int16Array, rateHz: number, vad: VadProvider, pieceMs = 20, threshold = 0.5): Heard {
  const events: ConversationEvent[] = [];
  const edges: string[] = [];
  const ends: number[] = [];
  const pieces: Int16Array[] = [];
  let position = 0;
  let nowMs = 0;
  const hearing = new Hearing(
    { nowMs: () => nowMs, emit: (event) => events.push(event) },
    {
      inputRateHz: rateHz,
      vad: vad.createDetector(),
      vadThreshold: threshold,
      stt: {
        push: (audio, start) => {
          expect(start).toBe(position);
          position += audio.length;
          pieces.push(audio.slice());
        },
        speechStarted: (sample) => edges.push(`start ${String(sample <= position)}`),
        speechStopped: (sample) => {
          edges.push('stop');
          ends.push(sample);
        },
      },
    },
  );
  const piece = Math.max(1, msToSamples(pieceMs, rateHz));
  for (let at = 0; at < samples.length; at += piece) {
    const part = samples.subarray(at, at + piece);
    nowMs = ((at + part.length) * 1000) / rateHz;
    hearing.audio(part);
  }
  hearing.audio(new Int16Array(0));
  hearing.close();
  const given = new Int16Array(position);
  let at = 0;
  for (const part of pieces) {
    given.set(part, at);
    at += part.length;
  }
  return { events, given, edges, ends };
}

function speechTimes(events: readonly ConversationEvent[]): (readonly [string, number])[] {
  return events.flatMap((event): (readonly [string, number])[] => {
    if (event.type === 'speech.started') return [['start', event.startMs]];
    if (event.type === 'speech.stopped') return [['stop', event.endMs]];
    return [];
  });
}

function digitsOf(events: readonly ConversationEvent[]): string {
  return events.map((event) => (event.type === 'digits' ? event.digits : '')).join('');
}

/** A second of silence, a second of sound, a second of silence. */
function second(rateHz: number): Int16Array {
  const samples = new Int16Array(3 * rateHz);
  for (let at = rateHz; at < 2 * rateHz; at++)
    samples[at] = Math.round(6000 * Math.sin((at * 2 * Math.PI * 300) / rateHz));
  return samples;
}

describe('hearing at any rate', () => {
  it.each([8000, 16_000, 44_100, 48_000])('puts the edges of speech where they are: %i Hz', (rateHz) => {
    const { events, edges, given } = hear(second(rateHz), rateHz, energyVad());
    const times = speechTimes(events);
    expect(times.map(([edge]) => edge)).toEqual(['start', 'stop']);
    expect(Math.abs((times[0]?.[1] ?? 0) - 1000)).toBeLessThanOrEqual(25);
    expect(Math.abs((times[1]?.[1] ?? 0) - 2000)).toBeLessThanOrEqual(25);
    expect(edges).toEqual(['start true', 'stop']);
    expect(Math.abs(given.length - 48_000)).toBeLessThanOrEqual(1);
  });

  it.each([0.0625, 1, 7.3, 20, 33, 250, 1000])('hears the same in pieces of %d ms', (pieceMs) => {
    const whole = hear(second(16_000), 16_000, energyVad());
    const cut = hear(second(16_000), 16_000, energyVad(), pieceMs);
    expect(cut.given).toEqual(whole.given);
    // Known later where more comes at once, but at the same place in the audio.
    expect(cut.ends).toEqual(whole.ends);
    expect(speechTimes(cut.events).map(([, ms]) => Math.round(ms))).toEqual(
      speechTimes(whole.events).map(([, ms]) => Math.round(ms)),
    );
  });
});

describe('keys in the audio', () => {
  beforeAll(async () => {
    await Promise.all([vadProvider('silero').warmUp(), vadProvider('webrtc').warmUp()]);
  });

  const fixture = (name: string): { samples: Int16Array; rateHz: number; keyed: string; speech: number } => {
    const path = packageFile(`fixtures/audio/${name}`).pathname;
    const wav = decodeWav(readFileSync(`${path}.wav`));
    const labels = readFixtureLabels(`${path}.json`);
    const keyed = (labels.digits ?? []).filter(({ how }) => how === 'keyed').map(({ digit }) => digit);
    return { samples: wav.samples, rateHz: wav.sampleRateHz, keyed: keyed.join(''), speech: labels.speech.length };
  };

  for (const vad of ['silero', 'webrtc'] as const) {
    // The WebRTC VAD takes noise for speech, keys or none.
    const noisy = vad === 'silero' ? ['noise-20db'] : [];
    it.each(['all-40-40', 'all-100-100', 'all-250-200', 'all-16k', 'held', 'repeated', 'twist4', ...noisy])(
      `are digits and no speech: ${vad}, %s`,
      (name) => {
        const { samples, rateHz, keyed } = fixture(`dtmf/${name}`);
        const { events } = hear(samples, rateHz, vadProvider(vad));
        expect(digitsOf(events)).toBe(keyed);
        expect(speechTimes(events)).toEqual([]);
      },
    );

    it(`leave the words before and after them alone: ${vad}`, () => {
      const before = fixture('dtmf/after-speech');
      const words = fixture('clean/no-slt');
      const after = resample(words.samples, words.rateHz, before.rateHz);
      const both = new Int16Array(before.samples.length + after.length);
      both.set(before.samples);
      both.set(after, before.samples.length);
      const { events, given } = hear(both, before.rateHz, vadProvider(vad));
      expect(digitsOf(events)).toBe('4711#');
      const starts = speechTimes(events).filter(([edge]) => edge === 'start');
      expect(starts.map(([, ms]) => ms < 1000 || ms > 3685)).toEqual(starts.map(() => true));
      expect(starts.some(([, ms]) => ms < 1000)).toBe(true);
      expect(starts.some(([, ms]) => ms > 3685)).toBe(true);
      // The words reach the recogniser untouched, the keys hardly at all.
      const loud = (fromMs: number, toMs: number): number =>
        given.subarray(fromMs * 16, toMs * 16).reduce((sum, sample) => sum + Math.abs(sample), 0);
      expect(loud(310, 975)).toBeGreaterThan(100_000);
      expect(loud(1635, 1675)).toBe(0);
    });
  }

  it('finds no key in speech', () => {
    for (const name of [
      'clean/table-slt',
      'clean/table-kal16',
      'clean/table-rms',
      'digits/card-slt',
      'digits/all-kal16',
    ]) {
      const { samples, rateHz } = fixture(name);
      expect(digitsOf(hear(samples, rateHz, energyVad()).events)).toBe('');
    }
  });
});
