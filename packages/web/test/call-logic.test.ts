import { describe, expect, it } from 'vitest';
import { AgentVoice } from '../src/agent-voice.js';
import { closingWords, endingWords } from '../src/endings.js';
import { type CallState, type CallStep, nextState } from '../src/state.js';

describe('states of a call', () => {
  const run = (...steps: CallStep[]): CallState => steps.reduce<CallState>(nextState, 'connecting');

  it.each<[CallState, CallStep[]]>([
    ['connecting', []],
    ['listening', ['ready']],
    ['speaking', ['ready', 'playing']],
    ['listening', ['ready', 'playing', 'quiet']],
    ['listening', ['ready', 'hears']],
    ['thinking', ['ready', 'hears', 'heard']],
    ['listening', ['ready', 'heard', 'hears']],
    ['speaking', ['ready', 'heard', 'playing']],
    ['interrupted', ['ready', 'playing', 'pause']],
    ['interrupted', ['ready', 'playing', 'pause', 'quiet']],
    ['speaking', ['ready', 'playing', 'pause', 'quiet', 'unpause']],
    ['interrupted', ['ready', 'playing', 'pause', 'quiet', 'clear', 'hears']],
    ['thinking', ['ready', 'playing', 'pause', 'clear', 'heard']],
    ['thinking', ['ready', 'heard', 'pause', 'unpause']],
    ['thinking', ['ready', 'answering']],
    ['speaking', ['ready', 'playing', 'answering']],
    ['ended', ['ready', 'playing', 'end']],
    ['connecting', ['playing', 'heard']],
    ['ended', ['ready', 'end', 'ready']],
    ['reconnecting', ['ready', 'playing', 'broken', 'heard', 'quiet']],
    ['listening', ['ready', 'broken', 'ready']],
  ])('%s after %j', (state, steps) => {
    expect(run(...steps)).toBe(state);
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
