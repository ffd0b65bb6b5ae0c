import { describe, expect, it } from 'vitest';
import type { Stage, StageConfig } from '../../src/stage/stage.js';
import { listening, timesOf, traces } from './listening.js';

/** Words are known only some time after the speech, as of a model that hears and speaks itself. */
const LATE = { interim: false, finalMs: 450 } as const;
const ASKED = { from: 1000, to: 2200, ...LATE };
const QUESTION = 'I would like to book a table for four tomorrow.';

function stageOf(config: StageConfig = {}): Stage {
  const stage = listening({ modelHears: true, ...config });
  stage.model.speaksItself();
  return stage;
}

describe('a model that hears the user itself', () => {
  it('is asked at the pause, before there are words, and heard when the turn is over', () => {
    const stage = stageOf();
    stage.model.says('For what time? I have two tables.', { afterMs: 150 });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(10_000);
    expect(stage.model.requests).toMatchObject([{ atMs: 2290, speculative: true, cancelledMs: null }]);
    expect(stage.model.requests[0]?.messages).toEqual([{ role: 'user', content: '' }]);
    // The words are there after 450 ms, and tell that the turn is over.
    stage.expectAgent('For what time?').startsAt(2720, 40).isHeardWhole();
    expect(stage.messages).toEqual([
      { role: 'user', content: QUESTION },
      { role: 'assistant', content: 'For what time? I have two tables.' },
    ]);
  });

  it('is not asked anew for words that come to the same speech later', () => {
    const stage = stageOf();
    stage.model.says('For what time?', { afterMs: 600 });
    stage.user.noise({ from: 1000, to: 2200 });
    const words = ['I would', QUESTION];
    for (const [at, text] of words.entries()) {
      stage.send({ type: 'transcript', segment: 0, text, isFinal: false, understood: true }, { at: 2750 + at * 50 });
    }
    stage.send({ type: 'transcript', segment: 0, text: QUESTION, isFinal: true, understood: true }, { at: 2900 });
    stage.playTo(10_000);
    expect(stage.model.contradicted).toEqual([]);
    stage.expectAgent('For what time?').startsAt(2980, 20);
  });

  it('answers speech without a transcript, however short', () => {
    const stage = stageOf();
    stage.model.says('Good.', { afterMs: 150 });
    stage.user.noise({ from: 1000, to: 1400 });
    stage.playTo(10_000);
    stage.expectAgent('Good.').startsAt(2680, 20);
    expect(stage.messages[0]).toEqual({ role: 'user', content: '[inaudible]' });
  });

  it('is asked again with the words if it failed without them, and the agent apologises only then', () => {
    const stage = stageOf();
    stage.model.fails({ afterMs: 800 }).says('For what time?', { afterMs: 100 });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(10_000);
    expect(stage.model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['', QUESTION]);
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual(['For what time?']);
  });

  it('does not answer noise of which the recogniser says that it is nothing', () => {
    const stage = stageOf();
    stage.user.says('', { from: 1000, to: 1400, ...LATE });
    stage.playTo(10_000);
    expect(stage.messages).toEqual([]);
    expect(timesOf(stage, 'speak')).toEqual([]);
  });

  it('is taken back where the user goes on', () => {
    const stage = stageOf();
    stage.model.says('For four, then.', { afterMs: 150 });
    stage.user.says('a table for', { from: 1000, to: 1700, ...LATE });
    stage.user.says('four tomorrow please', { from: 2100, to: 3200, ...LATE });
    stage.playTo(10_000);
    expect(stage.model.contradicted.length).toBeGreaterThan(0);
    expect(timesOf(stage, 'user.said')).toHaveLength(1);
    stage.expectAgent('For four, then.').startsAt(3720, 60);
    expect(stage.messages[0]?.content).toBe('a table for four tomorrow please');
  });

  it('is asked anew where something is typed meanwhile', () => {
    const stage = stageOf();
    stage.model.says('All four.', { afterMs: 100 });
    stage.user.noise({ from: 1000, to: 1700 });
    stage.user.types('tomorrow', { at: 1900 });
    stage.playTo(10_000);
    expect(stage.model.contradicted).toHaveLength(1);
    expect(stage.model.requests[0]?.messages).toEqual([{ role: 'user', content: 'tomorrow' }]);
  });

  it('is not asked twice where what was begun early is turned off', () => {
    const stage = stageOf({ speculation: { enabled: false } });
    stage.model.says('Fine.', { afterMs: 300 });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(10_000);
    expect(stage.model.requests).toMatchObject([{ speculative: false }]);
    stage.expectAgent('Fine.').isHeardWhole();
  });
});

describe('a model that speaks itself', () => {
  const ANSWER = 'We open at noon. We close at eleven at night, and on Sundays at ten.';

  it('says an answer as one utterance, whose words grow while it is heard', () => {
    const stage = stageOf();
    stage.model.says(ANSWER, { afterMs: 100, gapMs: 60 });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(12_000);
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual([ANSWER]);
    expect(timesOf(stage, 'speak.more').length).toBeGreaterThan(5);
    expect(timesOf(stage, 'speak')).toHaveLength(1);
    expect(stage.messages.at(-1)).toEqual({ role: 'assistant', content: ANSWER });
  });

  it('is cut where it was heard when the user interrupts', () => {
    const stage = stageOf();
    stage.model.says(ANSWER, { afterMs: 100 });
    stage.user.says(QUESTION, ASKED);
    const atMs = stage.playUntilAgentSays('We open');
    stage.user.says('stop it now', { from: atMs + 1500, to: atMs + 2300, ...LATE });
    stage.playTo(atMs + 5000);
    stage.expectAgent('We open').isCutAt(atMs + 1560, 20);
    expect(stage.messages[1]).toEqual({ role: 'assistant', content: 'We open at noon. We close' });
    expect(traces(stage)).toContain('interruption');
  });

  it('takes up the sentence that was cut where the interruption comes to nothing, not the whole answer', () => {
    const stage = stageOf();
    stage.model.says(ANSWER, { afterMs: 50, gapMs: 5 });
    stage.user.says(QUESTION, ASKED);
    const atMs = stage.playUntilAgentSays('We open');
    const from = atMs + 1500;
    stage.user.says('no I', { from, to: from + 500, final: false, finalMs: 95 });
    stage.send({ type: 'transcript', segment: 1, text: '', isFinal: true, understood: true }, { at: from + 700 });
    stage.playTo(atMs + 20_000);
    const texts = stage.timeline.utterances.map(({ text }) => text);
    expect(texts.at(-1)).toBe('We close at eleven at night, and on Sundays at ten.');
  });

  it('calls tools with a phrase of its own, and says what came of them', () => {
    const stage = stageOf({
      toolSpeech: { look: { messages: ['One moment.'], responseMode: 'strict', executeAfterMessage: false } },
    });
    stage.model.calls([{ name: 'look' }], { saying: 'Let me see.', afterMs: 50 });
    stage.tools.answers('look', 'free', { afterMs: 300 });
    stage.model.says('We have one.', { afterMs: 100 });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(15_000);
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual(['Let me see.', 'One moment.', 'We have one.']);
  });

  it('stalls in the middle, and the user is not left in silence', () => {
    const stage = stageOf();
    stage.model.stalls({ afterMs: 9500 }).stalls({ afterMs: 9500 });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(26_000);
    expect(stage.timeline.utterances.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['filler', 'fallback']));
  });
});
