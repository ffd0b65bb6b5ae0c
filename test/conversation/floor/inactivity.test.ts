import { describe, expect, it } from 'vitest';
import { Stage, type StageConfig } from '../../../src/stage/stage.js';
import { listening, timesOf, traces } from '../listening.js';

const HELLO = 'Hello there.';
const HELLO_ENDS_MS = 80 + HELLO.length * 60;

function greeted(config: StageConfig): Stage {
  return new Stage({ config: { opening: { firstMessage: HELLO }, ...config } });
}

describe('idle_time', () => {
  const inactivity = { idleMs: 6000, message: 'Are you still with me?' };

  it('has the agent ask, and ask again after the same time', () => {
    const stage = greeted({ inactivity }).playTo(25_000);
    const asked = stage.timeline.utterances.filter(({ kind }) => kind === 'prompt');
    expect(asked[0]?.askedMs).toBe(HELLO_ENDS_MS - 20 + 6000);
    expect(asked).toHaveLength(3);
    expect((asked[1]?.askedMs ?? 0) - (asked[0]?.played[0]?.to ?? 0)).toBe(6000 - 20);
  });

  it('counts from the end of what the agent says, not into it', () => {
    const long = 'This is a very long greeting. '.repeat(10);
    const stage = greeted({ inactivity, opening: { firstMessage: long } });
    stage.playTo(long.length * 60 + 5000);
    expect(stage.timeline.utterances).toHaveLength(1);
  });

  it('is not over while the user speaks, types digits or waits for an answer', () => {
    const stage = greeted({ inactivity });
    stage.user.says('I would like a table', { from: 5500, to: 13_000 });
    stage.model.says('Yes.', { afterMs: 7000 });
    for (let key = 0; key < 8; key++) stage.user.presses('1', { at: 24_000 + key * 1500 });
    stage.playTo(36_000);
    expect(stage.timeline.utterances.filter(({ kind }) => kind === 'prompt')).toEqual([]);
  });

  it('does not begin anew with every noise', () => {
    const stage = greeted({ inactivity });
    for (let atMs = 1500; atMs < 20_000; atMs += 3000) stage.user.noise({ from: atMs, to: atMs + 200 });
    stage.playTo(20_000);
    expect(stage.timeline.utterances.some(({ kind }) => kind === 'prompt')).toBe(true);
  });

  it('takes a "yes" over its question for the answer', () => {
    const stage = greeted({ inactivity });
    const atMs = stage.playUntilAgentSays('Are you still');
    stage.user.says('yes', { from: atMs + 300, to: atMs + 600 });
    stage.playTo(atMs + 5000);
    expect(stage.timeline.turns.map(({ text }) => text)).toEqual(['yes']);
  });

  it('uses a question of its own where none is configured, and is off by default', () => {
    greeted({ inactivity: { idleMs: 6000, message: null }, language: 'de-DE' })
      .playTo(10_000)
      .expectAgent('Sind Sie noch da?')
      .isHeardWhole();
    expect(greeted({}).playTo(600_000).timeline.utterances).toHaveLength(1);
  });
});

describe('max_idle', () => {
  const limits = { maxIdleMs: 20_000, message: 'I am hanging up now.' };

  it('ends the session, with its message', () => {
    const stage = greeted({ limits });
    expect(stage.playToEnd()).toBe('timeout');
    expect(traces(stage).slice(-3)).toEqual(['limit', 'ending', 'ended']);
    stage
      .expectAgent('I am hanging up')
      .startsAt(HELLO_ENDS_MS + 20_000, 100)
      .isHeardWhole();
  });

  it('is not put off by asking whether the user is there', () => {
    const stage = greeted({ limits, inactivity: { idleMs: 6000, message: 'Hello?' } });
    stage.playToEnd();
    stage.expectAgent('I am hanging up').startsAt(HELLO_ENDS_MS + 20_000, 100);
    expect(stage.timeline.utterances.filter(({ kind }) => kind === 'prompt').length).toBeGreaterThanOrEqual(2);
  });

  it('comes before a question that is due at the same moment', () => {
    const stage = greeted({ limits, inactivity: { idleMs: 20_000, message: 'Hello?' } });
    stage.playToEnd();
    stage.expectAgent('Hello?').isNeverSaid();
  });

  it('is put off by the user, and by an answer to them', () => {
    const stage = greeted({ limits });
    stage.user.says('One moment please.', { from: 15_000, to: 16_000 });
    stage.playTo(34_000);
    expect(stage.conversation.state.line).toBe('open');
    stage.playToEnd();
    stage.expectAgent('I am hanging up').startsAt(37_000, 2000);
  });
});

describe('max_duration', () => {
  it('ends the session whatever is going on', () => {
    const stage = listening({ limits: { maxDurationMs: 5000, message: 'Time is up.' } });
    stage.model.says('This is a long answer that goes on for quite some time, on and on.');
    stage.user.says('Tell me something.', { from: 1000, to: 2500 });
    expect(stage.playToEnd()).toBe('timeout');
    stage.expectAgent('Time is up.').startsAt(5080, 20).isHeardWhole();
    expect(timesOf(stage, 'line.close')).toHaveLength(1);
  });

  it('is said in stock words where there is no message', () => {
    const stage = listening({ limits: { maxDurationMs: 5000 } });
    stage.playToEnd();
    stage.expectAgent('We have to stop here').isHeardWhole();
  });

  it('holds even when the agent is held', () => {
    const stage = listening({ limits: { maxDurationMs: 5000, message: 'Time is up.' } });
    stage.model.stalls();
    stage.user.says('Tell me something.', { from: 1000, to: 2500 });
    stage.user.noiseWithoutEnd({ from: 4000 });
    stage.playToEnd();
    stage.expectAgent('Time is up.').isHeardWhole();
  });
});
