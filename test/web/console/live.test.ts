import { describe, expect, it } from 'vitest';
import { turnTimesOf, watchedEvent } from '../../../src/web/console/calls/watched-event.js';
import { Ribbon } from '../../../src/web/console/live/ribbon.js';

describe('the ribbon of a conversation', () => {
  it('follows the phases, and tells a pause from an interruption', () => {
    const ribbon = new Ribbon();
    expect(ribbon.state).toBeNull();
    ribbon.onPhase('connecting', 0);
    ribbon.onPhase('listening', 10);
    ribbon.onPhase('speaking', 20);
    ribbon.onPhase('interrupted', 30);
    expect(ribbon.state).toBe('held');
    ribbon.onPhase('speaking', 40);
    ribbon.onPhase('interrupted', 50);
    ribbon.onInterrupted(60);
    ribbon.onPhase('idle', 70);
    expect(ribbon.state).toBeNull();
    expect(ribbon.pieces.map(({ state, fromMs, toMs }) => [state, fromMs, toMs])).toEqual([
      ['connecting', 0, 10],
      ['listening', 10, 20],
      ['speaking', 20, 30],
      ['held', 30, 40],
      ['speaking', 40, 50],
      ['held', 50, 60],
      ['interrupted', 60, 70],
    ]);
    ribbon.onInterrupted(80);
    expect(ribbon.state).toBeNull();
  });

  it('keeps two minutes', () => {
    const ribbon = new Ribbon();
    ribbon.onPhase('listening', 0);
    ribbon.onPhase('speaking', 1000);
    for (let ms = 0; ms <= 300_000; ms += 1000) ribbon.onLevels(0.1, 0.2, ms);
    expect(ribbon.samples).toHaveLength(121);
    expect(ribbon.pieces.map(({ state }) => state)).toEqual(['speaking']);
  });
});

describe('events of a call that is watched', () => {
  it('are those that the page knows, and no broken ones', () => {
    expect(watchedEvent({ event: 'tool', id: '1', data: '{"name":"x","ok":true,"took_ms":3}' })).toEqual({
      type: 'tool',
      name: 'x',
      ok: true,
      took_ms: 3,
    });
    expect(watchedEvent({ event: 'new', id: '1', data: '{}' })).toBeNull();
    expect(watchedEvent({ event: 'status', id: '1', data: '{' })).toBeNull();
  });

  it('have the times of the talk socket', () => {
    const times = { turn: 2, utterance_latency: 1, end_of_turn: 2, llm_first: 3, first_sentence: 4, tts_first: null };
    expect(turnTimesOf(times)).toEqual({
      turn: 2,
      response_ms: 1,
      end_of_turn_ms: 2,
      llm_first_ms: 3,
      first_sentence_ms: 4,
      tts_first_ms: null,
    });
  });
});
