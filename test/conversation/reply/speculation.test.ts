import { describe, expect, it } from 'vitest';
import type { ConversationEffect } from '../../../src/conversation/events.js';
import type { Stage } from '../../../src/stage/stage.js';
import { listening, timesOf } from '../listening.js';

type Trace = Extract<ConversationEffect, { type: 'trace' }>;

/** What became of the speculations, in order. */
function fates(stage: Stage): string[] {
  return tracesOf(stage).map(({ name, data }) => {
    const reason = data['reason'];
    return name.slice('speculation.'.length) + (reason === undefined ? '' : `: ${String(reason)}`);
  });
}

function tracesOf(stage: Stage): Trace[] {
  return stage.timeline.effects.flatMap(({ effect }) =>
    effect.type === 'trace' && effect.name.startsWith('speculation.') ? [effect] : [],
  );
}

const texts = (stage: Stage) => stage.timeline.turns.map(({ text }) => text);
/** The final transcript is there as soon as the VAD sees the end, as with the embedded recogniser. */
const ASKED = { from: 1000, to: 2200, finalMs: 95 };
const QUESTION = 'I would like to book a table for four tomorrow.';

describe('an answer that is begun at a pause', () => {
  it('is played as soon as the turn is over', () => {
    const stage = listening({ endpointing: { responseDelayMs: 600 } });
    stage.model.says('For what time?', { afterMs: 150 });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(10_000);
    expect(stage.model.requests).toMatchObject([{ atMs: 2295, speculative: true, cancelledMs: null }]);
    stage.expectAgent('For what time?').startsAt(2800, 20).isHeardWhole();
    expect(fates(stage)).toEqual(['started', 'confirmed']);
    expect(stage.messages).toEqual([
      { role: 'user', content: QUESTION },
      { role: 'assistant', content: 'For what time?' },
    ]);
  });

  it('comes sooner by as much than one that is not', () => {
    const start = (enabled: boolean): number => {
      const stage = listening({ speculation: { enabled }, endpointing: { responseDelayMs: 500 } });
      stage.model.says('For what time?', { afterMs: 300 });
      stage.user.says(QUESTION, ASKED);
      return stage.playUntilAgentSays('For what time?');
    };
    expect(start(false) - start(true)).toBeGreaterThanOrEqual(400);
    expect(start(true)).toBeLessThanOrEqual(2700 + 20);
  });

  it('is asked for with what was said, which is in the history only when the turn is over', () => {
    const stage = listening({ endpointing: { responseDelayMs: 1000 } });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(3000);
    expect(stage.model.requests[0]?.messages).toEqual([{ role: 'user', content: QUESTION }]);
    expect(stage.messages).toEqual([]);
    expect(timesOf(stage, 'speak')).toEqual([]);
    expect(timesOf(stage, 'speak.prepare')).toHaveLength(1);
    stage.playTo(10_000);
    expect(timesOf(stage, 'speak')).toEqual([3200]);
  });

  it('goes on streaming when it is confirmed in the middle', () => {
    const stage = listening();
    stage.model.says('We open at noon. We close at eleven, and the kitchen at ten.', { afterMs: 100, gapMs: 60 });
    stage.user.says('When are you open?', ASKED);
    stage.playTo(15_000);
    expect(fates(stage)).toEqual(['started', 'confirmed']);
    stage.expectAgent('We open at noon.').isHeardWhole();
    stage.expectAgent('We close').isHeardWhole();
    expect(stage.model.requests).toHaveLength(1);
  });

  it('prepares its first sentence, and no more', () => {
    const stage = listening({ endpointing: { responseDelayMs: 1500 } });
    stage.model.says('Well, let me think about that, yes. We open at noon. We close at eleven.', { afterMs: 50 });
    stage.user.says('When are you open?', ASKED);
    stage.playTo(3600);
    const prepared = stage.timeline.effects.flatMap(({ effect }) =>
      effect.type === 'speak.prepare' ? [effect.text] : [],
    );
    expect(prepared.join(' ')).toBe('Well, let me think about that, yes.');
    stage.playTo(20_000);
    stage.expectAgent('We open at noon.').isHeardWhole();
    stage.expectAgent('We close at eleven.').isHeardWhole();
  });

  it('is confirmed if the final transcript differs only in its spelling', () => {
    const stage = listening();
    stage.user.says('what time do you open', { ...ASKED, final: false, finalMs: 80 }); // taken from 2400 on
    stage.user.says('What time do you open?', {
      from: 2200,
      to: 2200,
      vad: false,
      interim: false,
      segment: 0,
      finalMs: 500,
    });
    stage.playTo(10_000);
    expect(fates(stage)).toEqual(['started', 'confirmed']);
    expect(stage.model.requests[0]?.atMs).toBe(2400);
    expect(texts(stage)).toEqual(['What time do you open?']);
  });

  it('after words that go on is begun only shortly before the turn ends', () => {
    const stage = listening();
    stage.user.says('I would like a table for', ASKED);
    stage.playTo(10_000);
    const [started = 0] = timesOf(stage, 'llm.start');
    const over = stage.timeline.turns[0]?.atMs ?? 0;
    expect(over - started).toBe(1000);
    expect(fates(stage)).toEqual(['started', 'confirmed']);
  });

  it('is left out where the operator does not want it', () => {
    const stage = listening({ speculation: { enabled: false }, endpointing: { responseDelayMs: 900 } });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(10_000);
    expect(fates(stage)).toEqual([]);
    expect(timesOf(stage, 'llm.start')).toEqual([3100]);
  });
});

describe('an answer that is contradicted', () => {
  const contradicted = (): Stage => {
    const stage = listening({ endpointing: { responseDelayMs: 800 } });
    stage.model.says('For what time?', { afterMs: 100 });
    stage.user.says(QUESTION, ASKED);
    stage.user.says('Or rather for five.', { from: 2800, to: 3800, finalMs: 95 });
    return stage.playTo(15_000);
  };

  it('is never heard, and leaves nothing in the history', () => {
    const stage = contradicted();
    expect(texts(stage)).toEqual([`${QUESTION} Or rather for five.`]);
    expect(stage.messages).toEqual([
      { role: 'user', content: `${QUESTION} Or rather for five.` },
      { role: 'assistant', content: 'For what time?' },
    ]);
    expect(stage.model.contradicted).toHaveLength(1);
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual(['For what time?']);
    expect(stage.model.requests).toHaveLength(1);
  });

  it('is counted, with what it has cost', () => {
    const stage = contradicted();
    expect(fates(stage)).toEqual(['started', 'dropped: more speech', 'started', 'confirmed']);
    expect(tracesOf(stage)[1]?.data).toMatchObject({
      promptChars: QUESTION.length,
      modelChars: 'For what time?'.length,
      voiceChars: 'For what time?'.length,
    });
    const prepared = stage.timeline.effects.find(({ effect }) => effect.type === 'speak.prepare')?.effect;
    const cancelled = stage.timeline.effects.find(({ effect }) => effect.type === 'speak.cancel')?.effect;
    expect(cancelled).toMatchObject({ utteranceId: (prepared as { utteranceId: number }).utteranceId });
  });

  it('is kept over a mere sound', () => {
    const stage = listening({ endpointing: { responseDelayMs: 900 } });
    stage.user.says(QUESTION, ASKED);
    stage.user.noise({ from: 2700, to: 2900 });
    stage.playTo(10_000);
    expect(fates(stage)).toEqual(['started', 'confirmed']);
    expect(stage.model.requests).toHaveLength(1);
  });

  it('is asked again with the words as they became', () => {
    const stage = listening();
    stage.user.says('a table for nine', { ...ASKED, final: false, finalMs: 60 });
    stage.user.says('a table for five', { from: 2200, to: 2200, vad: false, interim: false, segment: 0, finalMs: 500 });
    stage.playTo(10_000);
    expect(fates(stage)).toEqual(['started', 'dropped: other words']); // the turn is over by then
    expect(stage.model.requests[0]?.messages).toEqual([{ role: 'user', content: 'a table for five' }]);
  });

  it.each([
    ['a typed message', (stage: Stage) => stage.user.types('never mind', { at: 2500 })],
    ['keys', (stage: Stage) => stage.user.presses('1', { at: 2500 })],
    ['a key that is no digit', (stage: Stage) => stage.user.presses('#', { at: 2500 })],
  ])('is dropped for %s', (_what, happens) => {
    const stage = listening({ endpointing: { responseDelayMs: 900 } });
    stage.user.says(QUESTION, ASKED);
    happens(stage);
    stage.playTo(10_000);
    expect(fates(stage)[1]).toMatch(/^dropped/u);
    stage.expectAgent('All right.').isHeardWhole();
  });

  it('is dropped when the user hangs up', () => {
    const stage = listening({ endpointing: { responseDelayMs: 900 } });
    stage.user.says(QUESTION, ASKED);
    stage.user.hangsUp({ at: 2600 });
    expect(stage.playToEnd()).toBe('user-ended');
    expect(fates(stage)).toEqual(['started', 'dropped: the end']);
    expect(stage.messages).toEqual([]);
  });

  it('three times in a turn is not tried a fourth time', () => {
    const stage = listening({ endpointing: { responseDelayMs: 900 } });
    for (let at = 0; at < 5; at++) {
      stage.user.says(`and part number ${String(at)} please.`, {
        from: 1000 + at * 1400,
        to: 1700 + at * 1400,
        finalMs: 95,
      });
    }
    stage.playTo(20_000);
    expect(fates(stage).filter((fate) => fate === 'started')).toHaveLength(3);
    expect(texts(stage)).toHaveLength(1);
    stage.expectAgent('All right.').isHeardWhole();
  });
});

describe('tools', () => {
  it('never run before the turn is over', () => {
    const stage = listening({ endpointing: { responseDelayMs: 1200 } });
    stage.tools.answers('book', 'done');
    stage.model.calls([{ name: 'book' }], { afterMs: 50 }).says('It is booked.');
    stage.user.says('Book it, please.', ASKED);
    stage.playTo(10_000);
    expect(stage.model.requests[0]?.atMs).toBe(2295);
    expect(stage.tools.runs.map(({ startMs }) => startMs)).toEqual([3400]);
    stage.expectAgent('It is booked.').isHeardWhole();
  });

  it('of a contradicted answer never run', () => {
    const stage = listening({ endpointing: { responseDelayMs: 800 } });
    stage.tools.answers('book', 'done');
    stage.model.calls([{ name: 'book' }], { afterMs: 50 });
    stage.user.says('Book it, please.', ASKED);
    stage.user.says('no wait, do not book it.', { from: 2700, to: 3900, finalMs: 95 });
    stage.playTo(4600);
    expect(stage.tools.runs).toEqual([]);
  });
});

describe('a model that fails', () => {
  it('while it is speculated is asked again when the turn is over', () => {
    const stage = listening({ endpointing: { responseDelayMs: 1000 } });
    stage.model.fails({ afterMs: 50 });
    stage.user.says(QUESTION, ASKED);
    stage.playTo(10_000);
    expect(fates(stage)).toEqual(['started', 'dropped: the model failed']);
    expect(stage.model.requests).toMatchObject([{ atMs: 3200, speculative: false }]);
    stage.expectAgent('I had trouble there').isHeardWhole();
  });

  it('to answer in time is given up as long after the turn as ever', () => {
    const stage = listening();
    stage.model.stalls();
    stage.user.says(QUESTION, ASKED);
    stage.playTo(20_000);
    const over = stage.timeline.turns[0]?.atMs ?? 0;
    stage.expectAgent('I had trouble there').startsAt(over + 9000, 200);
  });
});
