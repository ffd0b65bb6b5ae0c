import { describe, expect, it } from 'vitest';
import type { Stage } from '../../../src/stage/stage.js';
import { listening, traces } from '../listening.js';

/** From the end of the user's speech to the moment that the turn was taken as over. */
function endedAfter(stage: Stage, speechEndMs: number): number {
  const [turn] = stage.playTo(60_000).timeline.turns;
  if (turn === undefined) throw new Error(`no turn was taken\n${stage.timeline.toString()}`);
  return turn.atMs - speechEndMs;
}

const texts = (stage: Stage) => stage.timeline.turns.map(({ text }) => text);

describe('the silence that ends a turn', () => {
  it('is short after words that are surely complete', () => {
    const stage = listening();
    stage.user.says('What time do you open?', { from: 1000, to: 2200 });
    expect(endedAfter(stage, 2200)).toBe(250); // as its final transcript comes
  });

  it('is long after words that go on', () => {
    const stage = listening();
    stage.user.says('I would like a table for', { from: 1000, to: 2200 });
    expect(endedAfter(stage, 2200)).toBeGreaterThan(1300);
  });

  it('lets the user go on after a trailing conjunction', () => {
    const stage = listening();
    stage.user.says('I would like a table and', { from: 1000, to: 2200 });
    stage.user.says('a high chair for the baby.', { from: 3300, to: 4400 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['I would like a table and a high chair for the baby.']);
    expect(stage.model.requests).toHaveLength(1);
  });

  it('is at least response_delay, to the millisecond', () => {
    const stage = listening({ endpointing: { responseDelayMs: 1003 } });
    stage.user.says('What time do you open?', { from: 1000, to: 2200 });
    expect(endedAfter(stage, 2200)).toBe(1003);
  });

  it('grows by number_input_delay while digits are given', () => {
    const stage = listening({ endpointing: { responseDelayMs: 500, numberInputDelayMs: 1500 } });
    stage.user.says('five five five', { from: 1000, to: 2200 });
    stage.user.says('one two three', { from: 4000, to: 5000 });
    stage.playTo(20_000);
    expect(texts(stage)).toEqual(['five five five one two three']);
    expect((stage.timeline.turns[0]?.atMs ?? 0) - 5000).toBeGreaterThanOrEqual(2000);
  });

  it('is longer for a user who has paused for long in turns before', () => {
    const ends = [false, true].map((slow) => {
      const stage = listening();
      const pauseMs = slow ? 1100 : 300;
      let fromMs = 1000;
      for (const words of ['I would like a', 'a quiet table for', 'two people and', 'a cot for the baby, please.']) {
        stage.user.says(words, { from: fromMs, to: fromMs + 900 });
        fromMs += 900 + pauseMs;
      }
      stage.user.says('by the window', { from: 15_000, to: 16_000 });
      stage.playTo(20_000);
      expect(texts(stage)).toHaveLength(2);
      return (stage.timeline.turns[1]?.atMs ?? 0) - 16_000;
    });
    expect(ends[1]).toBeGreaterThan(ends[0] ?? 0);
  });

  it('takes the digits of each stretch for a group: one of another length is the last', () => {
    const stage = listening();
    stage.user.says('four four nine', { from: 1000, to: 2000 });
    stage.user.says('eight one two', { from: 2400, to: 3400 });
    stage.user.says('seven', { from: 3800, to: 4200 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['four four nine eight one two seven']);
    expect((stage.timeline.turns[0]?.atMs ?? 0) - 4200).toBeLessThan(600);
  });

  it('is not extended by number_input_delay after other words', () => {
    const stage = listening({ endpointing: { numberInputDelayMs: 5000 } });
    stage.user.says('a table for four, please.', { from: 1000, to: 2200 });
    expect(endedAfter(stage, 2200)).toBeLessThan(600);
  });
});

describe('transcripts', () => {
  it('a final one that is late is waited for, and ends the turn as it comes', () => {
    const stage = listening();
    stage.user.says('What time do you open?', { from: 1000, to: 2200, finalMs: 900 });
    expect(endedAfter(stage, 2200)).toBe(900);
  });

  it('a final one that never comes is waited for no longer than its deadline', () => {
    const stage = listening();
    stage.user.says('What time do you open?', { from: 1000, to: 2200, final: false });
    expect(endedAfter(stage, 2200)).toBe(1200);
    expect(texts(stage)).toEqual(['What time do you open?']);
  });

  it('a final one of the words before a pause does not speak for the words after it', () => {
    const stage = listening();
    stage.user.says('I would like a table.', { from: 1000, to: 2000 });
    stage.user.says('For four people.', { from: 2200, to: 3200, interim: false, finalMs: 800 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['I would like a table. For four people.']);
  });

  it('may replace what was said of the same stretch, a final one included', () => {
    const stage = listening();
    stage.user.says('a table for', { from: 1000, to: 1800, segment: 0, finalMs: 150 });
    stage.user.says('a table for four.', { from: 1000, to: 2400, segment: 0, vad: false });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['a table for four.']);
  });

  it('of segments that were taken come too late', () => {
    const stage = listening();
    stage.user.says('What time do you open?', { from: 1000, to: 2200 });
    stage.send({ type: 'transcript', segment: 0, text: 'What time?', isFinal: true, understood: true }, { at: 2800 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['What time do you open?']);
    stage.expectAgent('All right').isHeardWhole();
  });

  it('with numbers that are none are ignored', () => {
    const stage = listening();
    for (const segment of [Number.NaN, Infinity, -1, 0.5]) {
      stage.send({ type: 'transcript', segment, text: 'boo', isFinal: true, understood: true }, { at: 500 });
    }
    stage.user.says('Hello', { from: 1000, to: 1500 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['Hello']);
  });

  it('of speech that the VAD missed make a turn, which lasts as long as words come', () => {
    const stage = listening();
    stage.user.says('I would like to book a table for tomorrow evening, please.', { from: 1000, to: 5000, vad: false });
    stage.playTo(12_000);
    expect(texts(stage)).toEqual(['I would like to book a table for tomorrow evening, please.']);
  });
});

describe('sound without words', () => {
  it('is nothing if it is short', () => {
    const stage = listening();
    stage.user.noise({ from: 1000, to: 1400 });
    stage.playTo(10_000);
    expect(stage.model.requests).toEqual([]);
  });

  it('is an inaudible turn if it is long', () => {
    const stage = listening();
    stage.user.noise({ from: 1000, to: 3000 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['[inaudible]']);
  });

  it('is an inaudible turn though it is short where the agent has asked, with a question mark or without', () => {
    for (const asked of ['For how many?', 'For how many? I have all evening.', 'Just the number of people, please.']) {
      const stage = listening({ opening: { firstMessage: asked, userStarts: false } });
      stage.user.noise({ from: 7000, to: 7400 });
      stage.playTo(12_000);
      expect(texts(stage), asked).toEqual(['[inaudible]']);
    }
  });

  it('is an inaudible turn if the recogniser does not trust its words', () => {
    const stage = listening();
    stage.user.says('wreck a nice beach', { from: 1000, to: 1500, understood: false });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['[inaudible]']);
  });

  it('goes on as one turn after a pause that was taken for its end, if nothing of the answer was heard', () => {
    const stage = listening();
    stage.user.says('wreck a nice', { from: 1000, to: 2000, understood: false });
    stage.user.says('beach', { from: 2700, to: 3000, understood: false });
    stage.playTo(10_000);
    expect(traces(stage)).toContain('turn.continued');
    expect(stage.timeline.turns.map(({ text }) => text).at(-1)).toBe('[inaudible]');
    expect(stage.timeline.turns.at(-1)?.atMs).toBe(3000 + 648);
    expect(stage.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('that never ends closes the turn once, and then neither blocks nor speaks again', () => {
    const stage = listening({ inactivity: { idleMs: 10_000, message: 'Are you there?' } });
    stage.user.noiseWithoutEnd({ from: 1000 });
    stage.playTo(60_000);
    expect(texts(stage)).toEqual(['[inaudible]']);
    expect(stage.timeline.turns[0]?.atMs).toBe(1060 + 12_000);
    stage.expectAgent('All right').isHeardWhole();
    stage.expectAgent('Are you there?').isHeardWhole();
  });

  it('that goes on behind the words lets the turn end when no more words come', () => {
    const stage = listening();
    stage.user.noiseWithoutEnd({ from: 1000 });
    stage.user.says('A table for four.', { from: 1000, to: 2000, vad: false });
    stage.playTo(12_000);
    expect(texts(stage)).toEqual(['A table for four.']);
    expect(stage.timeline.turns[0]?.atMs).toBeLessThanOrEqual(2250 + 5000);
  });

  it('does not end a turn whose words keep coming', () => {
    const stage = listening();
    const words = Array.from({ length: 60 }, (_, index) => `word${String(index)}`).join(' ');
    stage.user.says(words, { from: 1000, to: 31_000 });
    stage.playTo(40_000);
    expect(texts(stage)).toEqual([words]);
  });

  it('with times that are none does not put off the end of the turn', () => {
    const stage = listening();
    stage.send({ type: 'speech.started', startMs: Number.NaN }, { at: 1000 });
    stage.send({ type: 'speech.stopped', endMs: 1e15 }, { at: 2000 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['[inaudible]']);
  });
});

describe('a turn that was answered too soon', () => {
  it('is taken back: the words are put together, and nothing is said twice', () => {
    const stage = listening();
    stage.model.says('A table, for when?', { afterMs: 1500 }).says('A table for four, for when?');
    stage.user.says('I want a table.', { from: 1000, to: 2000 });
    stage.user.says('for four people.', { from: 2700, to: 3600 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['I want a table. for four people.']);
    expect(stage.messages).toEqual([
      { role: 'user', content: 'I want a table. for four people.' },
      { role: 'assistant', content: 'A table for four, for when?' },
    ]);
    expect(stage.model.requests[0]?.cancelledMs).not.toBeNull();
    stage.expectAgent('A table for four').isHeardWhole();
  });

  it('keeps its number, so that whoever watches knows what replaces what', () => {
    const stage = listening();
    stage.model.stalls();
    stage.user.says('I want a table.', { from: 1000, to: 2000 });
    stage.user.says('for four people.', { from: 2700, to: 3600 });
    stage.user.says('What time do you close?', { from: 9000, to: 10_000 });
    stage.playTo(20_000);
    const numbers = stage.timeline.effects.flatMap(({ effect }) => (effect.type === 'user.said' ? [effect.turn] : []));
    expect(numbers).toEqual([1, 1, 2]);
  });

  it('again and again', () => {
    const stage = listening();
    stage.model.stalls().stalls();
    stage.user.says('I want a table.', { from: 1000, to: 2000 });
    stage.user.says('for four people.', { from: 2700, to: 3600 });
    stage.user.says('at seven.', { from: 4300, to: 5000 });
    stage.playTo(12_000);
    expect(texts(stage)).toEqual(['I want a table. for four people. at seven.']);
    expect(stage.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('also while its first words are only being synthesised', () => {
    const stage = listening();
    stage.model.says('Sure.');
    stage.user.says('I want a table.', { from: 1000, to: 2000 });
    stage.user.says('for four.', { from: 2420, to: 3200 });
    stage.playTo(10_000);
    expect(stage.timeline.utterances[0]?.askedMs).toBeLessThan(2550);
    stage.expectAgent('Sure').isNeverHeard();
    expect(texts(stage)).toEqual(['I want a table. for four.']);
  });

  it('also if its words come late and all at once', () => {
    const stage = listening();
    stage.model.says('For how many?');
    stage.user.says('I want a table.', { from: 1000, to: 2000 });
    stage.user.says('for four people.', { from: 2300, to: 3200, interim: false, finalMs: 1000 });
    stage.playTo(12_000);
    stage.expectAgent('For how many?').isNeverHeard();
    expect(texts(stage)).toEqual(['I want a table. for four people.']);
  });

  it('but not once some of the answer was heard', () => {
    const stage = listening();
    stage.model.says('We have a table by the window, for how many people?');
    stage.user.says('I want a table.', { from: 1000, to: 2000 });
    const startMs = stage.playUntilAgentSays('We have');
    stage.user.says('for four.', { from: startMs + 900, to: startMs + 1500 });
    stage.playTo(12_000);
    expect(texts(stage)).toEqual(['I want a table.', 'for four.']);
    expect(stage.messages[1]).toEqual({ role: 'assistant', content: 'We have a table' });
  });

  it('also where the agent may not be interrupted: it has not begun', () => {
    const stage = listening({ interruption: { allowed: false } });
    stage.model.says('For how many?', { afterMs: 900 });
    stage.user.says('I want a table.', { from: 1000, to: 2000 });
    stage.user.says('for four people.', { from: 2700, to: 3600 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['I want a table. for four people.']);
  });

  it('and is answered all the same if what seemed to go on was noise', () => {
    const stage = listening();
    stage.model.says('For how many?', { afterMs: 900 });
    stage.user.says('I want a table.', { from: 1000, to: 2000 });
    stage.user.noise({ from: 2700, to: 3000 });
    stage.playTo(10_000);
    expect(traces(stage)).toContain('interruption.falseAlarm');
    expect(stage.model.requests).toHaveLength(1);
    stage.expectAgent('For how many?').isHeardWhole();
  });

  it('drops its placeholder when the words come after all', () => {
    const stage = listening();
    stage.model.stalls();
    stage.user.says('a table for two', { from: 1000, to: 2200, interim: false, finalMs: 1500 });
    stage.playTo(10_000);
    expect(texts(stage)).toEqual(['a table for two']);
    expect(stage.messages[0]).toEqual({ role: 'user', content: 'a table for two' });
  });
});

describe('as a caller sees it', () => {
  const asks = (question: string): Stage => {
    const stage = listening({ opening: { firstMessage: question, userStarts: false } });
    stage.playTo(6000);
    return stage;
  };
  const FINAL = { finalMs: 95 };
  const delayOf = (stage: Stage, endMs: number): number => (stage.playTo(60_000).timeline.turns[0]?.atMs ?? 0) - endMs;

  it('"yes" is answered at once', () => {
    const stage = asks('Shall I book it?');
    stage.user.says('yes', { from: 7000, to: 7300, ...FINAL });
    expect(delayOf(stage, 7300)).toBe(240);
  });

  it('a number is heard to its end, pauses and all', () => {
    const stage = asks('What is your phone number?');
    stage.user.says('five five five', { from: 7000, to: 8000, ...FINAL });
    stage.user.says('zero one nine', { from: 9000, to: 10_000, ...FINAL });
    stage.user.says('four two six eight', { from: 11_000, to: 12_200, ...FINAL });
    stage.playTo(30_000);
    expect(texts(stage)).toEqual(['five five five zero one nine four two six eight']);
  });

  it('a code is answered as soon as it has as many digits as were asked for', () => {
    const stage = asks('What are the last four digits of your card?');
    stage.user.says('four two', { from: 7000, to: 7600, ...FINAL });
    stage.user.says('seven one', { from: 8600, to: 9300, ...FINAL });
    expect(delayOf(stage, 9300)).toBeLessThan(400);
    expect(texts(stage)).toEqual(['four two seven one']);
  });

  it('an e-mail address is heard to its end', () => {
    const stage = asks('What is your e-mail address?');
    stage.user.says('john dot miller at', { from: 7000, to: 8500, ...FINAL });
    stage.user.says('example dot', { from: 9600, to: 10_400, ...FINAL });
    stage.user.says('com', { from: 11_300, to: 11_600, ...FINAL });
    stage.playTo(30_000);
    expect(texts(stage)).toEqual(['john dot miller at example dot com']);
  });

  it('who pauses for long in a turn is given as long again', () => {
    const stage = listening();
    stage.user.says('seven four', { from: 1000, to: 1800, ...FINAL });
    stage.user.says('nine two', { from: 2700, to: 3500, ...FINAL });
    stage.user.says('six one', { from: 4550, to: 5300, ...FINAL });
    stage.playTo(30_000);
    expect(texts(stage)).toEqual(['seven four nine two six one']);
  });

  it('number_input_delay comes on top, to the millisecond', () => {
    const delay = (numberInputDelayMs: number): number => {
      const stage = listening({ endpointing: { responseDelayMs: 2000, numberInputDelayMs } });
      stage.user.says('five five five', { from: 1000, to: 2200, ...FINAL });
      return delayOf(stage, 2200);
    };
    expect(delay(0)).toBe(2000);
    expect(delay(1234)).toBe(3234);
  });
});

describe('an audio model', () => {
  const judged = (probability: number, text = 'I would like a table'): number => {
    const stage = listening();
    stage.user.says(text, { from: 1000, to: 2200, finalMs: 95 });
    stage.send({ type: 'turn.judged', probability }, { at: 2340 });
    return endedAfter(stage, 2200);
  };

  it('that hears the end lets the turn end sooner', () => {
    expect(judged(0.99)).toBeLessThan(judged(0.5));
    expect(judged(0.99)).toBeLessThanOrEqual(260);
  });

  it('that hears that more follows lets it end later, but lets it end', () => {
    expect(judged(0.01)).toBeGreaterThan(800);
    expect(judged(0.01)).toBeLessThanOrEqual(1800);
  });

  it('is no match for words that go on', () => {
    expect(judged(1, 'I would like a table for')).toBeGreaterThan(350);
  });

  it.each([Number.NaN, -1, 7, Infinity])('that says %s has said nothing', (probability) => {
    expect(judged(probability)).toBe(judged(Number.NaN));
  });

  it('that judged a pause says nothing about the next', () => {
    const stage = listening();
    stage.user.says('I would like a table', { from: 1000, to: 2200, finalMs: 95 });
    stage.send({ type: 'turn.judged', probability: 0 }, { at: 2300 });
    stage.user.says('for four please.', { from: 2800, to: 3600, finalMs: 95 });
    expect(endedAfter(stage, 3600)).toBe(240);
  });

  it('that judges while the user speaks is not listened to', () => {
    const stage = listening();
    stage.send({ type: 'turn.judged', probability: 1 }, { at: 500 });
    stage.user.says('I would like a table for', { from: 1000, to: 2200 });
    stage.send({ type: 'turn.judged', probability: 1 }, { at: 1500 });
    expect(endedAfter(stage, 2200)).toBeGreaterThan(1300);
  });
});
