import { describe, expect, it } from 'vitest';
import type { Stage, StageConfig } from '../../../src/stage/stage.js';
import { listening, timesOf, traces } from '../listening.js';

const LONG =
  'We are open every day from noon until eleven in the evening and the kitchen closes one hour before the house does';

/** The agent has been speaking for a second when `atMs` is. */
function agentSpeaking(config: StageConfig = {}, text = LONG): { stage: Stage; atMs: number } {
  const stage = listening(config);
  stage.model.says(text);
  stage.user.says('When are you open?', { from: 1000, to: 2200 });
  return { stage, atMs: stage.playUntilAgentSays(text.slice(0, 10)) + 1000 };
}

const texts = (stage: Stage) => stage.timeline.turns.map(({ text }) => text);
const heardOf = (stage: Stage, nth: number) =>
  stage.messages.filter(({ role }) => role === 'assistant')[nth]?.content ?? '';

describe('what lets the agent go on', () => {
  it('noise: it is held within a frame and goes on from the same sample', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.noise({ from: atMs, to: atMs + 200 });
    stage.playTo(20_000);
    stage
      .expectAgent('We are open')
      .pauses(atMs + 60, atMs + 290 + 500, 20)
      .isHeardWhole();
    const { played } = stage.timeline.utterances.find(({ text }) => text === LONG) ?? { played: [] };
    expect(played.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(LONG.length * 60);
    expect(stage.model.requests).toHaveLength(1);
    expect(timesOf(stage, 'playout.drop')).toEqual([]);
  });

  it.each(['mm-hm', 'okay', 'Yeah, yeah.', 'I see', 'Uh huh, right.', 'got it'])('"%s"', (words) => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says(words, { from: atMs, to: atMs + 400 });
    stage.playTo(20_000);
    stage.expectAgent('We are open').isHeardWhole();
    expect(texts(stage)).toEqual(['When are you open?']);
    expect(traces(stage)).toContain('interruption.falseAlarm');
  });

  it.each([
    ['de-DE', 'Ja, genau.'],
    ['fr-FR', "d'accord"],
    ['es-ES', 'vale, claro'],
    ['hi-IN', 'जी हाँ, ठीक है'],
    ['ja-JP', 'はいはい'],
    ['zh-CN', '嗯，好的'],
  ])('%s: %s', (language, words) => {
    const { stage, atMs } = agentSpeaking({ language });
    stage.user.says(words, { from: atMs, to: atMs + 500 });
    stage.playTo(20_000).expectAgent('We are open').isHeardWhole();
  });

  it('an acknowledgement as soon as its final transcript is there', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('mm-hm', { from: atMs, to: atMs + 300, finalMs: 200 });
    stage.playTo(20_000);
    stage.expectAgent('We are open').pauses(atMs + 60, atMs + 500, 20);
  });

  it('sound that the recogniser finds empty, at once', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('', { from: atMs, to: atMs + 600, finalMs: 150 });
    stage.playTo(20_000);
    stage.expectAgent('We are open').pauses(atMs + 60, atMs + 750, 20);
  });

  it('words that the recogniser does not trust', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('wreck a nice beach', { from: atMs, to: atMs + 900, understood: false });
    stage.playTo(20_000).expectAgent('We are open').isHeardWhole();
    expect(texts(stage)).toHaveLength(1);
  });

  it('noise that comes again and again holds it only so long', () => {
    const { stage, atMs } = agentSpeaking();
    for (let index = 0; index < 40; index++) {
      stage.user.noise({ from: atMs + index * 450, to: atMs + index * 450 + 150 });
    }
    stage.playTo(40_000);
    const resumed = timesOf(stage, 'playout.resume')[0] ?? Infinity;
    expect(resumed - atMs).toBeLessThanOrEqual(60 + 4000);
    stage.expectAgent('We are open').isHeardWhole();
  });
});

describe('what stops the agent', () => {
  it.each(['stop', 'no', 'wait', 'Hold on a second.', 'yes but when do you close', 'okay wait'])('"%s"', (words) => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says(words, { from: atMs, to: atMs + 600 });
    stage.playTo(20_000);
    stage.expectAgent('We are open').isCutAt(atMs + 60, 20);
    expect(texts(stage)).toEqual(['When are you open?', words]);
    stage.expectAgent('All right').isHeardWhole();
    expect(timesOf(stage, 'playout.resume')).toEqual([]);
  });

  it('at the first real word, not at the end of the speech', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('what about the weekend then', { from: atMs, to: atMs + 3000 });
    stage.playTo(20_000);
    expect(timesOf(stage, 'playout.drop')[0]).toBe(atMs + 1200 + 150); // at its second word: one may be misheard
  });

  it('a user who goes on talking although no words have come yet', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('no I meant something else', { from: atMs, to: atMs + 3500, interim: false });
    stage.playTo(20_000);
    expect(timesOf(stage, 'playout.drop')[0]).toBe(atMs + 60 + 2000);
    expect(texts(stage)[1]).toBe('no I meant something else');
    stage.expectAgent('We are open').isCutAt(atMs + 60, 20);
  });

  it.each([true, false])('a user who goes on talking and is not understood (interim transcripts: %s)', (interim) => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('which we about fiction book', { from: atMs, to: atMs + 2400, understood: false, interim });
    stage.playTo(20_000);
    expect(timesOf(stage, 'playout.drop')[0]).toBe(atMs + 60 + 2000);
    expect(timesOf(stage, 'playout.resume')).toEqual([]);
    expect(texts(stage)).toEqual(['When are you open?', '[inaudible]']);
    stage.expectAgent('We are open').isCutAt(atMs + 60, 20);
    stage.expectAgent('All right').isHeardWhole();
  });

  it('two sentences that are not understood, with a breath between them', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('which we about', { from: atMs, to: atMs + 1200, understood: false });
    stage.user.says('fiction book', { from: atMs + 1500, to: atMs + 2900, understood: false });
    stage.playTo(20_000);
    stage.expectAgent('We are open').isCutAt(atMs + 60, 20);
    expect(timesOf(stage, 'playout.resume')).toEqual([]);
    expect(texts(stage)).toEqual(['When are you open?', '[inaudible]']);
  });

  it('words that the VAD missed', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('stop please', { from: atMs, to: atMs + 600, vad: false });
    stage.playTo(20_000);
    stage.expectAgent('We are open').isCutAt(atMs + 300, 200);
    expect(texts(stage)[1]).toBe('stop please');
  });

  it('words that come when it has gone on already', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('stop', { from: atMs, to: atMs + 300, finalMs: 900 });
    stage.playTo(20_000);
    stage.expectAgent('We are open').isCutAt(atMs + 1200, 20);
    expect(texts(stage)[1]).toBe('stop');
  });

  it('a typed message', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.types('never mind', { at: atMs });
    stage.playTo(20_000);
    stage.expectAgent('We are open').isCutAt(atMs, 20);
    expect(texts(stage)[1]).toBe('never mind');
  });
});

describe('the history after an interruption', () => {
  it('holds what was heard, to the word', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('stop', { from: atMs, to: atMs + 400 });
    stage.playTo(20_000);
    expect(heardOf(stage, 0)).toBe('We are open every');
    expect(stage.model.requests[1]?.messages).toEqual([
      { role: 'user', content: 'When are you open?' },
      { role: 'assistant', content: 'We are open every' },
      { role: 'user', content: 'stop' },
    ]);
  });

  it('lacks the message where keep_interruption_message is false', () => {
    const { stage, atMs } = agentSpeaking({ interruption: { keepMessage: false } });
    stage.user.says('stop', { from: atMs, to: atMs + 400 });
    stage.playTo(20_000);
    expect(stage.model.requests[1]?.messages).toEqual([
      { role: 'user', content: 'When are you open?' },
      { role: 'user', content: 'stop' },
    ]);
  });

  it('counts sentences that were heard before as heard whole', () => {
    const { stage } = agentSpeaking({}, 'We open at noon. The kitchen closes at ten and the bar at two.');
    const atMs = stage.playUntilAgentSays('The kitchen') + 700;
    stage.user.says('stop', { from: atMs, to: atMs + 400 });
    stage.playTo(20_000);
    expect(heardOf(stage, 0)).toBe('We open at noon. The kitchen');
  });

  it('marks a reply that was still coming as cut off', () => {
    const stage = listening();
    stage.model.stalls({ saying: 'We open at noon. And then' });
    stage.user.says('When are you open?', { from: 1000, to: 2200 });
    const atMs = stage.playUntilAgentSays('We open');
    stage.user.says('thanks, and when do you close?', { from: atMs + 1500, to: atMs + 2500 });
    stage.playTo(20_000);
    expect(heardOf(stage, 0)).toBe('We open at noon.');
    expect(stage.model.requests[0]?.cancelledMs).toBeLessThan(atMs + 2500);
  });
});

describe('an answer that comes over the end of the question', () => {
  const QUESTION = 'So that is a table for four at seven, is that right?';

  it('is no mere acknowledgement', () => {
    const { stage } = agentSpeaking({}, QUESTION);
    const atMs = stage.playUntilAgentSays('is that right') + QUESTION.length * 60 - 900;
    stage.user.says('yes', { from: atMs, to: atMs + 300 });
    stage.playTo(20_000);
    stage.expectAgent('is that right?').isHeardWhole();
    expect(texts(stage)).toEqual(['When are you open?', 'yes']);
    stage.expectAgent('All right.').isHeardWhole();
  });

  it('goes on to be a turn of its own when more follows', () => {
    const { stage } = agentSpeaking({}, QUESTION.replace(',', ''));
    const atMs = stage.playUntilAgentSays('is that right') + QUESTION.length * 60 - 1300;
    stage.user.says('yes', { from: atMs, to: atMs + 300, finalMs: 150 });
    stage.user.says('but make it five.', { from: atMs + 500, to: atMs + 2000, vad: false });
    stage.playTo(20_000);
    expect(texts(stage)).toEqual(['When are you open?', 'yes but make it five.']);
  });

  it('is one while the question has only begun', () => {
    const { stage, atMs } = agentSpeaking({}, QUESTION.replaceAll(',', ''));
    stage.user.says('yes', { from: atMs - 500, to: atMs - 200 });
    stage.playTo(20_000);
    expect(texts(stage)).toEqual(['When are you open?']);
  });

  it('is one after a statement', () => {
    const { stage } = agentSpeaking({}, 'Your table is booked for seven');
    const atMs = stage.playUntilAgentSays('Your table') + 1300;
    stage.user.says('okay', { from: atMs, to: atMs + 300 });
    stage.playTo(20_000);
    expect(texts(stage)).toEqual(['When are you open?']);
  });
});

describe('interruption not allowed', () => {
  it('neither holds nor stops, and answers what was said over the agent afterwards', () => {
    const { stage, atMs } = agentSpeaking({ interruption: { allowed: false } });
    stage.user.says('stop it now', { from: atMs, to: atMs + 800 });
    stage.playTo(30_000);
    stage.expectAgent('We are open').isHeardWhole();
    expect([...timesOf(stage, 'playout.hold'), ...timesOf(stage, 'playout.drop')]).toEqual([]);
    expect(texts(stage)).toEqual(['When are you open?', 'stop it now']);
    expect(heardOf(stage, 0)).toBe(LONG);
  });

  it('or discards it where keep_interruption_message is false', () => {
    const { stage, atMs } = agentSpeaking({ interruption: { allowed: false, keepMessage: false } });
    stage.user.says('stop it now', { from: atMs, to: atMs + 800 });
    stage.playTo(30_000);
    stage.expectAgent('We are open').isHeardWhole();
    expect(texts(stage)).toEqual(['When are you open?']);
    expect(stage.model.requests).toHaveLength(1);
  });

  it('and discards also what ended just before the agent did', () => {
    const { stage } = agentSpeaking({ interruption: { allowed: false, keepMessage: false } });
    const endMs = stage.playUntilAgentSays('We are open') + LONG.length * 60;
    stage.user.says('stop it now', { from: endMs - 900, to: endMs - 350 });
    stage.playTo(30_000);
    expect(texts(stage)).toEqual(['When are you open?']);
  });

  it('but never discards what was typed', () => {
    const { stage, atMs } = agentSpeaking({ interruption: { allowed: false, keepMessage: false } });
    stage.user.types('never mind', { at: atMs });
    stage.playTo(30_000);
    stage.expectAgent('We are open').isHeardWhole();
    expect(texts(stage)).toEqual(['When are you open?', 'never mind']);
  });

  it('puts together what was typed and said', () => {
    const { stage, atMs } = agentSpeaking({ interruption: { allowed: false } });
    stage.user.types('for four', { at: atMs });
    stage.user.says('at seven', { from: atMs + 500, to: atMs + 1200 });
    stage.playTo(30_000);
    expect(texts(stage)).toEqual(['When are you open?', 'for four at seven']);
  });
});

describe('one interim word', () => {
  it('that turns out to be nothing does not stop the agent', () => {
    const { stage, atMs } = agentSpeaking();
    const hear = (at: number, text: string, isFinal: boolean, understood = true): void => {
      stage.send({ type: 'transcript', segment: 1, text, isFinal, understood }, { at });
    };
    stage.user.noise({ from: atMs, to: atMs + 400 });
    hear(atMs + 200, 'the', false);
    hear(atMs + 300, 'name', false);
    hear(atMs + 500, 'name', true, false);
    stage.playTo(20_000);
    stage
      .expectAgent('We are open')
      .pauses(atMs + 60, atMs + 500, 20)
      .isHeardWhole();
    expect(texts(stage)).toEqual(['When are you open?']);
  });

  it.each(['stop', 'wait', 'no'])('"%s" stops it at once', (word) => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says(`${word} that was not what I asked`, { from: atMs, to: atMs + 3000 });
    stage.playTo(20_000);
    expect(timesOf(stage, 'playout.drop')[0]).toBe(Math.round(atMs + 3000 / 7 + 150));
  });

  it('stops it when its final transcript says so', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('tomorrow', { from: atMs, to: atMs + 600 });
    stage.playTo(20_000);
    expect(timesOf(stage, 'playout.drop')[0]).toBe(atMs + 600 + 250);
  });

  it('stops it when the final transcript never comes', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.says('tomorrow', { from: atMs, to: atMs + 600, final: false });
    stage.playTo(20_000);
    stage.expectAgent('We are open').isCutAt(atMs + 60, 20);
    expect(texts(stage)[1]).toBe('tomorrow');
  });

  it('stops it when the speech goes on for long', () => {
    const { stage, atMs } = agentSpeaking();
    stage.user.noise({ from: atMs, to: atMs + 4000 });
    stage.send({ type: 'transcript', segment: 1, text: 'well', isFinal: false, understood: true }, { at: atMs + 300 });
    stage.send(
      { type: 'transcript', segment: 1, text: 'tomorrow', isFinal: false, understood: true },
      { at: atMs + 600 },
    );
    stage.playTo(atMs + 3000);
    expect(timesOf(stage, 'playout.drop')[0]).toBe(atMs + 60 + 2000);
  });

  it.each([
    ['ja-JP', '待ってください', true],
    ['ja-JP', '明日', false],
    ['zh-CN', '等一下', true],
    ['de-DE', 'Moment', true],
  ])('%s: %s', (language, words, atOnce) => {
    const { stage, atMs } = agentSpeaking({ language });
    stage.send({ type: 'speech.started', startMs: atMs }, { at: atMs + 60 });
    stage.send({ type: 'transcript', segment: 1, text: words, isFinal: false, understood: true }, { at: atMs + 400 });
    stage.playTo(atMs + 500);
    expect(timesOf(stage, 'playout.drop')).toHaveLength(atOnce ? 1 : 0);
  });
});

describe('an interruption that comes to nothing', () => {
  const misheard = (stage: Stage, atMs: number): void => {
    stage.user.says('no I', { from: atMs, to: atMs + 500, final: false, finalMs: 95 });
    stage.send({ type: 'transcript', segment: 1, text: '', isFinal: true, understood: true }, { at: atMs + 700 });
  };

  it('is followed by the sentence that was interrupted, and those after it', () => {
    const { stage } = agentSpeaking({}, 'We open at noon. The kitchen closes at ten. The bar closes at two.');
    const atMs = stage.playUntilAgentSays('The kitchen') + 700;
    misheard(stage, atMs);
    stage.playTo(30_000);
    const heard = stage.timeline.utterances.filter(({ isWhole }) => isWhole).map(({ text }) => text);
    expect(heard).toEqual(['We open at noon.', 'The kitchen closes at ten.', 'The bar closes at two.']);
    expect(traces(stage)).toContain('interruption.cameToNothing');
    expect(texts(stage)).toEqual(['When are you open?']);
    expect(stage.messages.map(({ content }) => content)).toEqual([
      'When are you open?',
      'We open at noon. The kitchen',
      'The kitchen closes at ten. The bar closes at two.',
    ]);
  });

  it('lets the model go on where it had not finished', () => {
    const stage = listening();
    stage.model.stalls({ saying: 'We open at noon. And then' }).says('We close at eleven.');
    stage.user.says('When are you open?', { from: 1000, to: 2200 });
    misheard(stage, stage.playUntilAgentSays('We open') + 400);
    stage.playTo(20_000);
    stage.expectAgent('We close at eleven.').isHeardWhole();
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual([
      'We open at noon.',
      'We open at noon.',
      'We close at eleven.',
    ]);
  });

  it('of the question whether the user is there is not asked again at once', () => {
    const stage = listening({ inactivity: { idleMs: 4000, message: 'Are you still there, or did we get cut off?' } });
    stage.user.says('Hello.', { from: 1000, to: 1500 });
    misheard(stage, stage.playUntilAgentSays('Are you still') + 400);
    stage.playTo(20_000);
    stage.expectAgent('I had trouble there').isHeardWhole();
  });
});
