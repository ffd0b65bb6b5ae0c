import { describe, expect, it } from 'vitest';
import type { Denoiser } from '../../../src/audio/dsp/denoiser.js';
import type { ConversationEvent } from '../../../src/conversation/events.js';
import { Hearing } from '../../../src/session/hearing/hearing.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { recording } from '../support.js';

/** Lets everything through 300 samples late, turned upside down so that it can be recognised. */
function lagging(): Denoiser & { closed: boolean } {
  let kept = new Int16Array(0);
  return {
    closed: false,
    delaySamples: 300,
    process(samples) {
      const all = Int16Array.from([...kept, ...samples.map((value) => -value)]);
      kept = all.slice(Math.max(0, all.length - 300));
      return all.subarray(0, Math.max(0, all.length - 300));
    },
    close() {
      this.closed = true;
    },
  };
}

interface Heard {
  stt: number[];
  vad: number[];
  times: number[];
  closed: boolean;
}

function hear(vad: boolean, stt: boolean): Heard {
  const denoiser = lagging();
  const heard: Heard = { stt: [], vad: [], times: [], closed: false };
  const detector = energyVad().createDetector();
  let nowMs = 0;
  const hearing = new Hearing(
    {
      nowMs: () => nowMs,
      emit: (event: ConversationEvent) => {
        if (event.type === 'speech.started') heard.times.push(event.startMs);
        if (event.type === 'speech.stopped') heard.times.push(event.endMs);
      },
    },
    {
      inputRateHz: 16_000,
      vad: {
        windowSamples: detector.windowSamples,
        process: (samples, onWindow) => {
          heard.vad.push(...samples);
          detector.process(samples, onWindow);
        },
        reset: () => detector.reset(),
        close: () => detector.close(),
      },
      vadThreshold: 0.5,
      stt: {
        push: (samples, start) => {
          expect(start).toBe(heard.stt.length);
          heard.stt.push(...samples);
        },
        speechStarted: () => undefined,
        speechStopped: () => undefined,
      },
      denoising: { denoiser, vad, stt },
    },
  );
  for (let at = 0; at < LINE.length; at += 320) {
    nowMs = (at + 320) / 16;
    hearing.audio(LINE.subarray(at, at + 320));
  }
  hearing.close();
  return { ...heard, closed: denoiser.closed };
}

const LINE = recording(2000, [500, 1200]);
const CLEAN = [...LINE].map((value) => -value).slice(0, -300);
const AS_IT_IS = [...LINE];

describe('ears with a denoiser', () => {
  it.each<[string, vad: boolean, stt: boolean]>([
    ['the recogniser', false, true],
    ['the VAD', true, false],
    ['both', true, true],
  ])('give what it makes to %s, at the places where it was spoken', (_, vad, stt) => {
    const heard = hear(vad, stt);
    // (-0 of an Int16Array is 0.)
    expect(heard.vad.map((value) => value + 0)).toEqual((vad ? CLEAN : AS_IT_IS).map((value) => value + 0));
    expect(heard.stt.map((value) => value + 0)).toEqual((stt ? CLEAN : AS_IT_IS).map((value) => value + 0));
    expect(heard.closed).toBe(true);
    // Its lag is nobody's lateness.
    expect(heard.times).toEqual(hear(false, true).times);
    expect(heard.times).toHaveLength(2);
    expect(Math.abs((heard.times[0] ?? 0) - 500)).toBeLessThan(40);
  });
});
