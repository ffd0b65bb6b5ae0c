import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.js';
import type { CallerMove } from '../../../src/eval/caller/caller.js';
import { callerPhrases, type CallerPhrases, PERSONA_LANGUAGES } from '../../../src/eval/caller/phrases.js';
import { RulePersona } from '../../../src/eval/caller/rule-persona.js';
import type { Persona } from '../../../src/eval/suite/caller-schema.js';

const GUEST: Persona = { goal: 'book a table', facts: { party: 4, day: 'Saturday', name: 'Ann Miller' } };

function talk(persona: Persona, { language = 'en', seed = 1, isCalled = false } = {}) {
  const phrases = callerPhrases(language) as CallerPhrases;
  const caller = new RulePersona({ persona, phrases, random: new Random(seed), isCalled });
  let turn = 0;
  const next = (agentSaid: string): readonly CallerMove[] => {
    const moves = caller.next({ agentSaid, agentIsSilent: agentSaid === '', transcript: [], turn });
    turn += moves.filter((move) => 'say' in move || 'press' in move).length;
    return moves;
  };
  const says = (agentSaid: string): string =>
    next(agentSaid)
      .flatMap((move) => ('say' in move ? [move.say] : []))
      .join(' | ');
  return { caller, next, says, phrases };
}

describe('an embedded persona', () => {
  it('says its goal, tells facts when asked, agrees, and leaves', () => {
    const { says, next, phrases } = talk(GUEST);
    expect(says('Good evening. How can I help you?')).toBe('I would like to book a table.');
    expect(says('With pleasure. For how many people?')).toBe('4');
    expect(says('Four, very good. Which day would you like?')).toBe('Saturday');
    expect(says('Fine. Under which name?')).toBe('Ann Miller');
    expect(phrases.yes).toContain(says('That is four people on Saturday, under the name Ann Miller. Is that right?'));
    expect(phrases.thatIsAll).toContain(says('Your table is booked. Is there anything else?'));
    expect(next('Then we will see you soon. Goodbye!').at(-1)).toEqual({ hangUp: true });
  });

  it('corrects a number that the agent has got wrong, twice at most', () => {
    const { says, phrases } = talk(GUEST);
    says('How can I help you?');
    says('For how many people?');
    expect(says('A table for two. Is that right?')).toBe('No, 4.');
    expect(says('A table for two. Is that right?')).toBe('No, 4.');
    expect(phrases.yes).toContain(says('A table for two. Is that right?'));
  });

  it('changes its mind once, at the read-back', () => {
    const party = { value: 'four', changes_to: 'five' };
    const { says, phrases } = talk({ goal: 'book a table', facts: { party }, manner: ['changes_mind'] });
    says('How can I help you?');
    expect(says('How many people?')).toBe('four');
    expect(says('Four people. Is that right?')).toBe('Actually, make it five.');
    expect(phrases.yes).toContain(says('Five people. Is that right?'));
  });

  it('says again what was not understood, and gives up in the end', () => {
    const { says, next } = talk(GUEST);
    says('How can I help you?');
    expect(says('For how many people?')).toBe('4');
    expect(says('Sorry, I did not get that.')).toBe('4, please.');
    let moves: readonly CallerMove[] = [];
    for (let time = 0; time < 20 && !moves.some((move) => 'hangUp' in move); time++)
      moves = next('Sorry, I did not get that.');
    expect(moves.at(-1)).toEqual({ hangUp: true });
  });

  it('does not take a read-back for a question, and leaves when nothing more comes', () => {
    const { says, next, phrases } = talk({ goal: 'order bread', facts: { loaves: { value: 7, say: 'seven loaves' } } });
    says('How can I help you?');
    expect(says('How many loaves?')).toBe('seven loaves');
    expect(next('Done, seven loaves. Your reference is R101.')).toEqual([]);
    const [farewell, end] = next('');
    expect(farewell !== undefined && 'say' in farewell && phrases.goodbye.includes(farewell.say)).toBe(true);
    expect(end).toEqual({ hangUp: true });
  });

  it('tells a fact at most four times in a row', () => {
    const { says, next } = talk(GUEST);
    says('How can I help you?');
    for (const words of ['4', '4, please.', '4, please.', '4, please.']) expect(says('How many people?')).toBe(words);
    expect(next('How many people?').at(-1)).toEqual({ hangUp: true });
  });

  it('answers by its own answers and presses keys before all else', () => {
    const { says, next } = talk({
      ...GUEST,
      answers: { 'window seat': 'By the window, please.' },
      keys: { 'for sales': '2' },
    });
    expect(next('For sales, press two.')).toEqual([{ press: '2' }]);
    expect(says('Would you like a window seat?')).toBe('By the window, please.');
  });

  it('does not know what it does not know, and stops asking for more', () => {
    const { says, next, phrases } = talk({ goal: 'I have a question.' });
    expect(says('How can I help you?')).toBe('I have a question.');
    expect(phrases.unknown).toContain(says('What is your shoe size?'));
    expect(phrases.no).toContain(says('What is your shoe size?'));
    says('What is your shoe size?');
    expect(next('What is your shoe size?').at(-1)).toEqual({ hangUp: true });
  });

  it('says hello where it is called and nobody speaks, asks after a silence, and leaves after three', () => {
    const called = talk(GUEST, { isCalled: true });
    expect(called.says('')).toBe('Hello?');
    expect(called.next('Good evening, this is the clinic.')).toEqual([]);
    expect(called.says('How can I help you?')).toBe('I would like to book a table.');
    expect(called.says('')).toBe('I would like to book a table.');
    expect(called.says('')).toBe('Hello? Are you still there?');
    expect(called.next('')).toEqual([{ hangUp: true }]);
  });

  it('never says a word where it is silent', () => {
    expect(talk({ ...GUEST, silent: true }).next('How can I help you?')).toEqual([]);
  });

  it('is done when the agent has said so', () => {
    const { says, next } = talk({ ...GUEST, stop: { when_said: '/reference/', hang_up: true } });
    says('How can I help you?');
    expect(next('The reference is R7. Anything else?')).toEqual([{ hangUp: true }]);
  });

  it('has manners: pace, pauses, a low voice for numbers, a digression, words over the agent', () => {
    const { caller, next } = talk({ ...GUEST, manner: ['impatient', 'mumbles_numbers', 'talks_over', 'digresses'] });
    expect([caller.reactionMs, caller.patienceMs]).toEqual([350, 5000]);
    next('How can I help you?');
    const [reported] = next('For how many people?');
    expect(reported).toMatchObject({ say: expect.stringMatching(/^4\. .{10}/) as string, mumbled: true });
    expect(next('Which day?')[0]).toMatchObject({ say: expect.stringMatching(/^Saturday/) as string });
    const over = Array.from({ length: 40 }, () =>
      caller.bargeIn({ agentSaid: '', agentIsSilent: false, transcript: [], turn: 3 }),
    );
    const spoken = over.filter((one) => one !== null);
    expect(spoken.length).toBeGreaterThan(5);
    expect(spoken.length).toBeLessThan(30);
    const hesitant = talk({ ...GUEST, manner: ['hesitant'] });
    expect(hesitant.caller.reactionMs).toBe(1200);
    const pauses = Array.from({ length: 12 }, () => hesitant.next('For how many people?')[0]);
    expect(pauses.some((move) => move !== undefined && 'pauseMs' in move)).toBe(true);
  });

  it('is the same for the same seed', () => {
    const calls = [7, 7, 8].map((seed) => {
      const { next } = talk({ ...GUEST, manner: ['hesitant', 'digresses'] }, { seed });
      return JSON.stringify(
        ['Help?', 'How many people?', 'Which day?', 'Right?', 'Anything else?'].map((text) => next(text)),
      );
    });
    expect(calls[0]).toBe(calls[1]);
    expect(calls[0]).not.toBe(calls[2]);
  });

  it.each([
    ['de', 'Wie kann ich helfen?', 'Ich möchte book a table.', 'Für wie viele Personen?'],
    ['es', '¿En qué puedo ayudarle?', 'Quisiera book a table.', '¿Para cuántas personas?'],
    ['fr', 'Comment puis-je vous aider ?', 'Je voudrais book a table.', 'Pour combien de personnes ?'],
  ])('speaks %s', (language, help, opening, question) => {
    const { says, phrases } = talk(GUEST, { language });
    expect([says(help), says(question)]).toEqual([opening, '4']);
    for (const list of [phrases.yes, phrases.goodbye, phrases.unknown]) expect(list.length).toBeGreaterThan(1);
    expect(PERSONA_LANGUAGES).toContain(language);
  });

  it('speaks no language that it has no phrases for', () => expect(callerPhrases('ja')).toBeNull());
});
