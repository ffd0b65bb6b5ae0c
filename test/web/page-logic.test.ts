import { describe, expect, it } from 'vitest';
import { AgentVoice } from '../../src/web/page/agent-voice.js';
import { closingWords, endingWords } from '../../src/web/page/endings.js';
import { nextPhase, type Phase, type PhaseEvent } from '../../src/web/page/phase.js';
import { duration, median, stagesOf } from '../../src/web/page/times.js';

describe('phases of a call', () => {
  const run = (...events: PhaseEvent[]): Phase => events.reduce<Phase>(nextPhase, 'idle');

  it.each<[Phase, PhaseEvent[]]>([
    ['connecting', ['call']],
    ['listening', ['call', 'ready']],
    ['speaking', ['call', 'ready', 'playing']],
    ['listening', ['call', 'ready', 'playing', 'quiet']],
    ['listening', ['call', 'ready', 'hears']],
    ['thinking', ['call', 'ready', 'hears', 'heard']],
    ['listening', ['call', 'ready', 'heard', 'hears']],
    ['speaking', ['call', 'ready', 'heard', 'playing']],
    ['interrupted', ['call', 'ready', 'playing', 'pause']],
    ['interrupted', ['call', 'ready', 'playing', 'pause', 'quiet']],
    ['speaking', ['call', 'ready', 'playing', 'pause', 'quiet', 'unpause']],
    ['interrupted', ['call', 'ready', 'playing', 'pause', 'quiet', 'clear', 'hears']],
    ['thinking', ['call', 'ready', 'playing', 'pause', 'clear', 'heard']],
    ['thinking', ['call', 'ready', 'heard', 'pause', 'unpause']],
    ['thinking', ['call', 'ready', 'answering']],
    ['speaking', ['call', 'ready', 'playing', 'answering']],
    ['idle', ['call', 'ready', 'playing', 'end']],
    ['connecting', ['call', 'playing', 'heard']],
    ['idle', ['ready', 'playing', 'pause']],
  ])('%s after %j', (phase, events) => {
    expect(run(...events)).toBe(phase);
  });
});

describe("the agent's voice", () => {
  const at = (ms: number, playing = true) => ({ playing, playedSamples: ms * 16 });

  it('is heard while its answer is played, and not while only the background is', () => {
    const voice = new AgentVoice();
    expect(voice.follow(at(0))).toBeNull(); // the background
    voice.begins();
    expect(voice.follow(at(100))).toBe('playing');
    expect(voice.follow(at(130))).toBeNull();
    voice.ends({ playedSamples: 130 * 16, bufferedMs: 60 });
    expect(voice.follow(at(160))).toBeNull();
    expect(voice.follow(at(190))).toBe('quiet');
    expect(voice.follow(at(220))).toBeNull();
    voice.begins();
    expect(voice.follow(at(250))).toBe('playing');
    voice.isCut();
    expect(voice.follow(at(280))).toBe('quiet');
  });

  it('goes and comes with the loudspeaker where there is no background', () => {
    const voice = new AgentVoice();
    voice.begins();
    expect(voice.follow(at(0, false))).toBeNull();
    expect(voice.follow(at(20))).toBe('playing');
    expect(voice.follow(at(40, false))).toBe('quiet');
    expect(voice.follow(at(60))).toBe('playing');
    voice.ends({ playedSamples: 60 * 16, bufferedMs: 40 });
    voice.begins(); // the next answer, before that one is over
    expect(voice.follow(at(200))).toBeNull();
  });
});

describe('response times', () => {
  const times = {
    turn: 1,
    response_ms: 600,
    end_of_turn_ms: 400,
    llm_first_ms: 50,
    first_sentence_ms: 90,
    tts_first_ms: 80,
  };

  it('splits the response time into stages that add up to it', () => {
    const stages = stagesOf(times);
    expect(stages).toEqual([
      { name: 'pause', ms: 400 },
      { name: 'answer', ms: 90 },
      { name: 'voice', ms: 80 },
      { name: 'line', ms: 30 },
    ]);
  });

  it.each([
    [{ ...times, end_of_turn_ms: null, first_sentence_ms: null, tts_first_ms: null }],
    [{ ...times, end_of_turn_ms: 900 }],
    [{ ...times, first_sentence_ms: -20 }],
  ])('adds up whatever is missing or odd: %j', (odd) => {
    expect(stagesOf(odd).reduce((sum, { ms }) => sum + ms, 0)).toBe(600);
  });

  it('has no stages where there was no answer', () => {
    expect(stagesOf({ ...times, response_ms: null })).toEqual([]);
  });

  it('takes the median', () => {
    expect(median([])).toBeNull();
    expect(median([5])).toBe(5);
    expect(median([9, 1, 5])).toBe(5);
    expect(median([1, 3, 9, 5])).toBe(4);
  });

  it('writes durations as people read them', () => {
    expect([0, 84.4, 999.4, 999.5, 1234].map(duration)).toEqual(['0 ms', '84 ms', '999 ms', '1.00 s', '1.23 s']);
  });
});

describe('the end of a call, in words', () => {
  it.each([
    [{ opened: false, code: 1006, reason: '' }, null, 'did not open a line'],
    [
      { opened: true, code: 1013, reason: 'All 9 sessions are in use' },
      'All 9 sessions are in use',
      'All lines are busy',
    ],
    [{ opened: true, code: 1008, reason: 'This agent' }, 'This agent is disabled and takes no calls', 'is disabled'],
    [{ opened: true, code: 1008, reason: 'the first message did not come in time' }, null, 'did not come in time'],
    [{ opened: true, code: 1006, reason: '' }, null, 'The connection to the server was lost.'],
  ])('%j after %j: %s', (closing, problem, words) => {
    expect(closingWords(closing, problem)).toContain(words);
  });

  it('is described by its status, known or not', () => {
    expect(endingWords('agent-ended')).toBe('The agent hung up');
    expect(endingWords('voicemail-hangup')).toBe('Call ended: voicemail-hangup');
    expect(endingWords(null)).toBe('The call was cut off');
  });
});
