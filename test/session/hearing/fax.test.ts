import { describe, expect, it } from 'vitest';
import type { ConversationEvent } from '../../../src/conversation/events.js';
import { Hearing } from '../../../src/session/hearing/hearing.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { answerTone } from '../../../src/testing/doubles/fax-signals.js';

const RATE = 8000;

/** What is reported of a fax machine that answers after so much silence, and when. */
function hear(silenceMs: number, hearsFax = true): { event: ConversationEvent; atMs: number }[] {
  const reported: { event: ConversationEvent; atMs: number }[] = [];
  let nowMs = 0;
  const hearing = new Hearing(
    {
      nowMs: () => nowMs,
      emit: (event) => {
        if (event.type === 'fax') reported.push({ event, atMs: nowMs });
      },
    },
    {
      inputRateHz: RATE,
      hearsFax,
      vad: energyVad().createDetector(),
      vadThreshold: 0.5,
      stt: { push: () => undefined, speechStarted: () => undefined, speechStopped: () => undefined },
    },
  );
  const tone = answerTone(6000, RATE, { reversals: true });
  const silence = new Int16Array(RATE / 50);
  for (; nowMs < silenceMs; nowMs += 20) hearing.audio(silence);
  for (let at = 0; at < tone.length; at += RATE / 50, nowMs += 20) hearing.audio(tone.subarray(at, at + RATE / 50));
  hearing.close();
  return reported;
}

describe('a fax machine', () => {
  it('is reported once, by its answering tone', () => {
    const reported = hear(400);
    expect(reported).toMatchObject([{ event: { type: 'fax', sign: 'answer' } }]);
    expect(reported[0]?.atMs).toBeLessThan(400 + 1300);
  });

  it('is reported as soon after a long silence, which the detectors skip', () => {
    const reported = hear(20_000);
    expect(reported).toMatchObject([{ event: { type: 'fax', sign: 'answer' } }]);
    expect(reported[0]?.atMs).toBeLessThan(20_000 + 1300);
  });

  it('is not looked for where there can be none', () => {
    expect(hear(400, false)).toEqual([]);
  });

  it('is looked for in the first minute only', () => {
    expect(hear(61_000)).toEqual([]);
  });
});

describe('special information tones', () => {
  it.each([
    [true, [{ type: 'sit', end: 'failed' }]],
    [false, []],
  ])('are reported once, where an announcement may answer: %s', (hearsAnnouncements, expected) => {
    const reported: ConversationEvent[] = [];
    const hearing = new Hearing(
      {
        nowMs: () => 0,
        emit: (event) => {
          if (event.type === 'sit') reported.push(event);
        },
      },
      {
        inputRateHz: RATE,
        hearsAnnouncements,
        vadThreshold: 0.5,
        vad: energyVad().createDetector(),
        stt: { push: () => undefined, speechStarted: () => undefined, speechStopped: () => undefined },
      },
    );
    hearing.audio(new Int16Array(RATE));
    for (let time = 0; time < 2; time++) {
      for (const hz of [950, 1400, 1800]) {
        hearing.audio(
          Int16Array.from({ length: 0.33 * RATE }, (_, at) => 6000 * Math.sin((2 * Math.PI * hz * at) / RATE)),
        );
      }
      hearing.audio(new Int16Array(RATE));
    }
    hearing.close();
    expect(reported).toEqual(expected);
  });
});
