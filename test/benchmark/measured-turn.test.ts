import { describe, expect, it } from 'vitest';
import { type SessionTimes, measureTurns } from '../../src/benchmark/measured-turn.js';
import type { TurnMetrics } from '../../src/session/record/session-metrics.js';

const turn = (metrics: Partial<TurnMetrics>): TurnMetrics => ({
  turn: 1,
  heard: 'a table please',
  said: 'Yes.',
  speechEndMs: 2060,
  endOfTurnMs: 300,
  llmFirstMs: 100,
  firstSentenceMs: 150,
  ttsFirstMs: 80,
  responseMs: 530,
  audioStartMs: 2590,
  interrupted: false,
  speculative: false,
  ...metrics,
});
const SPOKEN = [
  { startMs: 1000, endMs: 2000, text: 'a table please' },
  { startMs: 6000, endMs: 7000, text: 'for four' },
];
const QUIET: SessionTimes = { finalsMs: [], soundsMs: [], toolsMs: [] };

describe('measureTurns', () => {
  it('counts from the end of the label to the frame at the line, in stages that add up', () => {
    const heard = { finalsMs: [2250], soundsMs: [300, 2600], toolsMs: [] };
    const [first, second] = measureTurns('book', SPOKEN, [turn({})], heard);
    expect(first).toEqual({
      recording: 'book',
      index: 0,
      outcome: 'answered',
      tool: false,
      speculative: false,
      responseMs: 600,
      stages: { endOfTurn: 360, sttFinal: 250, llm: 100, sentence: 50, tts: 80, playout: 10 },
    });
    expect(second).toMatchObject({ index: 1, outcome: 'unanswered', responseMs: null });
  });

  it('tells an answer that came too soon from one to the turn before', () => {
    const soon = [turn({ audioStartMs: 1500 })];
    expect(measureTurns('book', SPOKEN, soon, { ...QUIET, soundsMs: [1500] })[0]).toMatchObject({ outcome: 'cut off' });
    const before = [turn({ audioStartMs: 900 })];
    expect(measureTurns('book', SPOKEN, before, { ...QUIET, soundsMs: [900] })[0]?.outcome).toBe('unanswered');
    // The agent speaks unasked.
    const unasked = [turn({ heard: null, audioStartMs: 1500 })];
    expect(measureTurns('book', SPOKEN, unasked, QUIET)[0]?.outcome).toBe('unanswered');
  });

  it('knows turns in which a tool was called, and answers that were begun early', () => {
    const early = [turn({ speculative: true, llmFirstMs: 0, firstSentenceMs: 0, ttsFirstMs: 0 })];
    const [first] = measureTurns('book', SPOKEN, early, { ...QUIET, soundsMs: [2595], toolsMs: [2400] });
    expect(first).toMatchObject({
      tool: true,
      speculative: true,
      stages: { llm: 0, sentence: 0, tts: 0, playout: 235 },
    });
  });
});
