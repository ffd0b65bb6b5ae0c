import { describe, expect, it } from 'vitest';
import { Stage, type StageConfig } from '../../../src/stage/stage.js';
import { listening, timesOf, traces } from '../listening.js';

const MS_PER_CHAR = 60;
const LONG =
  'We are open every day from noon until eleven in the evening and the kitchen closes one hour before the house does';

/** The agent has begun to say `text`; returns when. */
function saying(text: string, config: StageConfig = {}): { stage: Stage; startMs: number } {
  const stage = listening(config);
  stage.model.says(text);
  stage.user.says('Tell me something.', { from: 1000, to: 2200 });
  return { stage, startMs: stage.playUntilAgentSays(text.slice(0, 8)) };
}

/** When a part of a text sounds, as the user's microphone hears it `delayMs` later. */
function echoOf(part: string, text: string, startMs: number, delayMs = 200): { from: number; to: number } {
  const at = text.indexOf(part);
  const from = startMs + at * MS_PER_CHAR + delayMs;
  return { from, to: from + part.length * MS_PER_CHAR };
}

const texts = (stage: Stage) => stage.timeline.turns.map(({ text }) => text);
const isHeardWhole = (stage: Stage, text: string) =>
  stage.timeline.utterances.find((utterance) => utterance.text === text)?.isWhole;

describe('the agent’s own words in the user’s microphone', () => {
  it.each([0, 200, 400])('do not stop it: the first of them, cut off by the hold (delay %i ms)', (delayMs) => {
    const { stage, startMs } = saying(LONG);
    stage.user.says('we are', { ...echoOf('We are', LONG, startMs, delayMs), finalMs: 150 });
    stage.playTo(20_000);
    expect(isHeardWhole(stage, LONG)).toBe(true);
    expect(texts(stage)).toEqual(['Tell me something.']);
    expect(traces(stage)).toContain('interruption.falseAlarm');
  });

  it('hold it once and no more: it goes on through the rest of them', () => {
    const { stage, startMs } = saying(LONG);
    stage.user.says('we are', { ...echoOf('We are', LONG, startMs), finalMs: 150 });
    stage.playTo(startMs + 1000);
    const goesOnMs = timesOf(stage, 'playout.resume')[0] ?? 0;
    const heard = (part: string) => echoOf(part, LONG, goesOnMs - 260, 200);
    stage.user.says('every day from noon until eleven', heard('every day from noon until eleven'));
    stage.user.says('the evening and the chicken closes', heard('the evening and the kitchen closes')); // misheard
    stage.playTo(30_000);
    expect(timesOf(stage, 'playout.hold')).toHaveLength(1);
    expect(isHeardWhole(stage, LONG)).toBe(true);
    expect(texts(stage)).toEqual(['Tell me something.']);
  });

  it('of which nothing is understood hold it twice and no more', () => {
    const { stage, startMs } = saying(LONG);
    stage.user.noise({ from: startMs + 200, to: startMs + 500 });
    for (let count = 0; count < 12; count++) {
      const goesOnMs = timesOf(stage, 'playout.resume').at(-1) ?? startMs;
      stage.playTo(stage.nowMs + 500);
      const nextMs = timesOf(stage, 'playout.resume').at(-1) ?? startMs;
      if (nextMs > goesOnMs) stage.user.noise({ from: nextMs + 200, to: nextMs + 500 });
    }
    stage.playTo(30_000);
    expect(timesOf(stage, 'playout.hold')).toHaveLength(2);
    expect(isHeardWhole(stage, LONG)).toBe(true);
  });

  it('are not answered where they may not interrupt either', () => {
    const { stage, startMs } = saying(LONG, { interruption: { allowed: false } });
    stage.user.says(LONG.toLowerCase(), echoOf(LONG, LONG, startMs));
    stage.playTo(30_000);
    expect(texts(stage)).toEqual(['Tell me something.']);
    expect(traces(stage)).toContain('turn.echo');
  });

  it('are not answered when their transcript comes after its last word', () => {
    const text = 'How can I help you today?';
    const stage = new Stage({ config: { opening: { firstMessage: text }, interruption: { openingAllowed: false } } });
    stage.user.says('how can I help you today', { ...echoOf(text, text, 80), finalMs: 400 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual([]);
  });

  it('nor sound over it of which nothing was understood', () => {
    const { stage, startMs } = saying(LONG, { interruption: { allowed: false } });
    const { from, to } = echoOf(LONG, LONG, startMs, 100);
    stage.user.says('wear a pen', { from, to, understood: false });
    stage.playTo(30_000);
    expect(texts(stage)).toEqual(['Tell me something.']);
  });

  it('are no sign of the user', () => {
    const stage = listening({ limits: { maxIdleMs: 15_000 }, inactivity: { idleMs: 4000, message: 'Are you there?' } });
    stage.user.says('Tell me something.', { from: 1000, to: 2200 });
    for (let count = 0; count < 30 && stage.timeline.end === null; count++) {
      const asked = stage.timeline.utterances.filter(({ kind }) => kind === 'prompt');
      const from = asked.at(-1)?.played[0]?.from;
      if (from !== undefined && stage.nowMs < from + 200) {
        stage.user.says('are you there', { from: from + 100, to: from + 800, finalMs: 100 });
      }
      stage.playTo(stage.nowMs + 1000);
    }
    expect(stage.timeline.end?.status).toBe('timeout');
    expect(stage.timeline.end?.atMs).toBeLessThan(23_000);
  });

  it('in a language without spaces neither', () => {
    const text = '当店は毎日正午から夜の十一時まで営業しております';
    const { stage, startMs } = saying(text, { language: 'ja-JP' });
    stage.user.says('当店は', { ...echoOf('当店は', text, startMs), finalMs: 100 });
    stage.user.says('正午から夜の十一時', { from: startMs + 1500, to: startMs + 2500, finalMs: 100 });
    stage.playTo(20_000);
    expect(isHeardWhole(stage, text)).toBe(true);
  });

  it('are left out of what was typed meanwhile', () => {
    const { stage, startMs } = saying(LONG);
    stage.user.says('we are', { ...echoOf('We are', LONG, startMs), finalMs: 150 });
    stage.user.types('for four people', { at: startMs + 800 });
    stage.playTo(20_000);
    expect(texts(stage)).toEqual(['Tell me something.', 'for four people']);
  });
});

describe('the user’s words are no echo', () => {
  it.each(['stop', 'wait', 'no', 'no no', 'wait stop', 'stop the music'])(
    '"%s" over an agent that says it',
    (words) => {
      const text = 'You can wait or stop the music and no one will mind that at all as long as it is not for ever';
      const { stage, startMs } = saying(text);
      const from = startMs + text.indexOf('wait or stop') * MS_PER_CHAR;
      stage.user.says(words, { from, to: from + 500 });
      stage.playTo(20_000);
      expect(isHeardWhole(stage, text)).toBe(false);
      expect(texts(stage)[1]).toBe(words);
    },
  );

  it.each([
    ['four', 'Is that table for four or for five of you?'],
    ['the fish', 'Would you like to have the fish or rather the meat?'],
    ['noon', 'Shall I put you down for noon or for one?'],
  ])('"%s" as an answer to "%s"', (words, text) => {
    const { stage, startMs } = saying(text);
    const at = text.indexOf(words) + words.length + 4;
    stage.user.says(words, { from: startMs + at * MS_PER_CHAR, to: startMs + at * MS_PER_CHAR + 500 });
    stage.playTo(20_000);
    expect(texts(stage)[1]).toBe(words);
  });

  it.each(['eleven', 'until eleven', 'in the evening'])('"%s" when the agent has finished', (words) => {
    const text = 'We are open from noon until eleven in the evening';
    const { stage, startMs } = saying(text);
    const from = startMs + text.length * MS_PER_CHAR + 250;
    stage.user.says(words, { from, to: from + 500 });
    stage.playTo(20_000);
    expect(texts(stage)[1]).toBe(words);
  });

  it.each(['open', 'every day', 'from noon until eleven'])('"%s" said long after the agent has', (words) => {
    const { stage, startMs } = saying(LONG);
    stage.user.says(words, { from: startMs + 5000, to: startMs + 5600 });
    stage.playTo(20_000);
    expect(texts(stage)[1]).toBe(words);
  });

  it('where they begin like an echo and go on otherwise', () => {
    const { stage, startMs } = saying(LONG);
    stage.user.says('every day but what about the holidays', { from: startMs + 800, to: startMs + 3000 });
    stage.playTo(20_000);
    expect(texts(stage)[1]).toBe('every day but what about the holidays');
  });

  it('where an answer follows the echo of the question', () => {
    const text = 'So that is a table for four at seven, is that right?';
    const { stage } = saying(text);
    const startMs = stage.playUntilAgentSays('is that right') + 300;
    stage.user.says('for four at seven is that right yes', { from: startMs + 1200, to: startMs + 3300 });
    stage.playTo(20_000);
    expect(texts(stage)).toHaveLength(2);
    expect(texts(stage)[1]).toMatch(/yes$/);
  });

  it('and stop it also while it is deaf to mere sound', () => {
    const { stage, startMs } = saying(LONG);
    stage.user.says('we are', { ...echoOf('We are', LONG, startMs), finalMs: 150 });
    stage.user.says('hang on please', { from: startMs + 3000, to: startMs + 3900 });
    stage.playTo(20_000);
    expect(texts(stage)[1]).toBe('hang on please');
    expect(timesOf(stage, 'playout.drop')[0]).toBeLessThan(startMs + 4000);
  });
});

describe('a greeting over the agent’s greeting', () => {
  const ASKING = 'Good evening, this is the desk of the Crooked Fork, how can I help you?';
  const TELLING = 'Good evening, this is the Crooked Fork. I am calling about your table.';
  const opening = (firstMessage: string, config: StageConfig = {}) =>
    new Stage({ config: { opening: { firstMessage }, ...config } });

  it.each(['Hello?', 'hi', 'hello hello', 'Good evening.'])('"%s" does not stop it', (words) => {
    const stage = opening(ASKING);
    stage.user.says(words, { from: 300, to: 700 });
    stage.playTo(10_000);
    stage.expectAgent(ASKING).isHeardWhole();
    expect(texts(stage)).toEqual([]);
  });

  it('is answered when it has stated something and asks nothing', () => {
    const stage = opening(TELLING);
    stage.user.says('Hello?', { from: 300, to: 700 });
    stage.playTo(10_000);
    stage.expectAgent(TELLING).isHeardWhole();
    stage.expectAgent('All right.').isHeardWhole();
    expect(texts(stage)).toEqual(['Hello?']);
  });

  it('does not stop the model’s greeting before it has begun', () => {
    const stage = new Stage();
    stage.model.says('Good evening, how can I help you?', { afterMs: 900 });
    stage.user.says('Hello?', { from: 100, to: 500 });
    stage.playTo(10_000);
    stage.expectAgent('Good evening').isHeardWhole();
    expect(stage.model.requests).toHaveLength(1);
  });

  it('does not stop it where its first sounds are taken for other words', () => {
    const stage = opening(ASKING);
    stage.user.noise({ from: 300, to: 700 });
    const interim = (text: string, at: number, isFinal = false): void => {
      stage.send({ type: 'transcript', segment: 0, text, isFinal, understood: true }, { at });
    };
    interim('to', 420);
    interim('no', 520);
    interim('to no', 600);
    interim('hello', 950, true);
    stage.playTo(10_000);
    stage.expectAgent(ASKING).isHeardWhole();
    expect(texts(stage)).toEqual([]);
  });

  it('is said again after it was stopped by what was no more than a greeting', () => {
    const stage = opening(TELLING);
    stage.user.noise({ from: 1300, to: 2300 });
    const interim = (text: string, at: number, isFinal = false): void => {
      stage.send({ type: 'transcript', segment: 0, text, isFinal, understood: true }, { at });
    };
    interim('stop the low', 2000);
    interim('good evening', 2500, true);
    stage.playTo(12_000);
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual([TELLING, TELLING]);
    expect(texts(stage)).toEqual([]);
  });

  it.each([
    ['is said again', 1500, [TELLING, TELLING]],
    ['is not, if half of it was heard', 4000, [TELLING, 'All right.']],
  ])('stopped by what nobody understands, it %s', (_what, from, said) => {
    const stage = opening(TELLING);
    stage.user.says('mumble', { from, to: from + 2500, understood: false });
    stage.playTo(20_000);
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual(said);
  });

  it('stops it where more follows', () => {
    const stage = opening(ASKING);
    stage.user.says('Hello, I need a table for two.', { from: 300, to: 2300 });
    stage.playTo(10_000);
    expect(isHeardWhole(stage, ASKING)).toBe(false);
    expect(texts(stage)).toEqual(['Hello, I need a table for two.']);
  });

  it('is a word like any other later on', () => {
    const { stage, startMs } = saying(LONG);
    stage.user.says('hello?', { from: startMs + 900, to: startMs + 1300 });
    stage.playTo(20_000);
    expect(texts(stage)[1]).toBe('hello?');
  });

  it.each([
    ['de-DE', 'Ja bitte, hallo?'],
    ['fr-FR', 'allô'],
    ['es-ES', 'Diga.'],
    ['ja-JP', 'もしもし'],
    ['zh-CN', '喂，你好'],
    ['ru-RU', 'hello'],
  ])('%s: %s', (language, words) => {
    const stage = opening(ASKING, { language });
    stage.user.says(words, { from: 300, to: 900 });
    stage.playTo(10_000).expectAgent(ASKING).isHeardWhole();
  });
});
