import { describe, expect, it } from 'vitest';
import { delay } from '../../../src/base/clock.js';
import { DEFAULT_CONVERSATION } from '../../../src/agent/flow/conversation-config.js';
import { ParleyError } from '../../../src/base/errors.js';
import type { LlmProvider, LlmRequest } from '../../../src/providers/llm/llm.js';
import { promptedStt } from '../../../src/testing/doubles/prompted-stt.js';
import { play, recording } from '../support.js';

const RATE_HZ = 24_000;
/** A word's audio, and how much later than that the next is sent: faster than it is heard. */
const WORD_MS = 300;
const STEP_MS = 40;

interface Own {
  /** What was heard of each answer that was cut, ms. */
  cuts: number[];
  llm: LlmProvider;
}

/** A model that speaks itself: a tone for each word. */
function ownVoice(answer: (request: LlmRequest) => string, { firstMs = 300, breaksAfter = Infinity } = {}): Own {
  const cuts: number[] = [];
  const cut = (heardMs: number): void => void cuts.push(heardMs);
  const llm: LlmProvider = {
    name: 'own',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async *complete(request) {
      const { clock, signal } = request;
      await delay(clock, firstMs, signal);
      for (const [index, word] of (answer(request).match(/\S+\s*/g) ?? []).entries()) {
        if (index >= breaksAfter) throw new ParleyError('PROVIDER_FAILED', { provider: 'own', reason: 'it broke off' });
        const samples = new Int16Array((WORD_MS * RATE_HZ) / 1000).fill(5000);
        yield { type: 'voice', text: word, audio: { samples, sampleRateHz: RATE_HZ }, isLast: false, cut };
        await delay(clock, STEP_MS, signal);
      }
      yield { type: 'voice', text: '', audio: null, isLast: true, cut };
    },
  };
  return { cuts, llm };
}

const HEARS = { modelHears: true };
const stt = (...lines: string[]) => promptedStt({ lines, finalMs: 400 });
const ANSWER = 'We open at noon and close at eleven at night.';

describe('a session whose model speaks itself', () => {
  it('plays one answer without a gap, whole, and has it in the report', async () => {
    const { llm, cuts } = ownVoice(() => ANSWER);
    const asked = recording(12_000, [2000, 3000]);
    const { report, events } = await play(asked, { llm, stt: stt('when are you open please'), conversation: HEARS });
    expect(report.messages.map(({ content }) => content)).toEqual(['Hello there.', 'when are you open please', ANSWER]);
    expect(report.playout.underruns).toBe(0);
    expect(events).toContainEqual({ type: 'agent', text: ANSWER });
    const [turn] = report.turns;
    expect(turn).toMatchObject({ said: ANSWER, speculative: true, ttsFirstMs: 0 });
    expect(cuts).toEqual([]);
    // The words come 400 ms after the speech, the voice 300 ms after the pause was seen.
    expect(turn?.responseMs).toBeLessThan(560);
  });

  it('tells the model to the millisecond what was heard of an answer that was interrupted', async () => {
    const { llm, cuts } = ownVoice(({ messages }) => (messages.length > 4 ? 'Fine.' : ANSWER));
    const said = stt('when are you open please', 'no wait a moment');
    const both = recording(14_000, [2000, 3000], [4500, 5600]);
    const { report } = await play(both, { llm, stt: said, conversation: HEARS });
    const [cut = 0] = cuts;
    const startMs = report.turns[0]?.audioStartMs ?? 0;
    // Held at the VAD's onset, within a frame.
    expect(Math.abs(startMs + cut - 4500)).toBeLessThan(120);
    expect(ANSWER.startsWith(report.messages[2]?.content ?? '-')).toBe(true);
    expect(report.messages[2]?.content.length).toBeLessThan(ANSWER.length);
    expect(report.turns[0]?.interrupted).toBe(true);
  });

  it('says nothing of an answer that was contradicted, and keeps one that was ready long before the turn was over', async () => {
    const { llm, cuts } = ownVoice(() => 'Yes.', { firstMs: 20 });
    const endpointing = { ...DEFAULT_CONVERSATION.endpointing, responseDelayMs: 1500 };
    const { report, pending } = await play(recording(12_000, [2000, 3000], [3600, 4800]), {
      llm,
      stt: stt('a table for', 'four please'),
      conversation: { ...HEARS, endpointing },
    });
    expect(report.messages.map(({ content }) => content)).toEqual(['Hello there.', 'a table for four please', 'Yes.']);
    expect(report.speculation).toMatchObject({ confirmed: 1 });
    expect([cuts, pending]).toEqual([[], 0]);
  });

  it('plays what there is of an answer that breaks off', async () => {
    const { llm } = ownVoice(() => ANSWER, { breaksAfter: 3 });
    const { report } = await play(recording(10_000, [2000, 3000]), {
      llm,
      stt: stt('when are you open please'),
      conversation: HEARS,
    });
    expect(report.messages.at(-1)?.content).toBe('We open at');
    expect(report.faults['llm.failed']).toBe(1);
  });
});
