import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../src/conversation/config.js';
import { completenessOf, endsInDigits } from '../../src/conversation/completeness.js';
import { scoreTurn, silenceNeededMs } from '../../src/conversation/endpointing.js';

const score = (text: string, language = 'en-US', agentSaid = '') =>
  scoreTurn({ text, language, isFinal: true, agentSaid });

describe('words that go on', () => {
  it.each([
    ['en-US', 'I would like a table for'],
    ['en-US', 'I need it because'],
    ['en-US', 'My name is John and'],
    ['en-GB', 'um'],
    ['de-DE', 'Ich hätte gern einen Tisch für'],
    ['fr-FR', 'Je voudrais une table pour'],
    ['es-ES', 'Quiero una mesa para'],
    ['pt-BR', 'Eu queria uma mesa para'],
    ['it-IT', 'Vorrei un tavolo per'],
    ['nl-NL', 'Ik wil een tafel voor'],
    ['hi-IN', 'मुझे एक टेबल चाहिए और'],
  ])('%s: %s', (language, text) => {
    expect(score(text, language).completeness).toBeLessThan(0.2);
  });

  it('a comma is half a sign', () => {
    expect(score('well, you know,').completeness).toBeLessThan(0.5);
  });
});

describe('words that are complete', () => {
  it.each([
    'A table for four, please.',
    'Thank you.',
    'Thank you',
    'How are you?',
    'Yes, it is.',
    'yes I do',
    'yes',
    'No thanks',
    'What time do you open?',
    'I would like to book a table for tomorrow evening.',
  ])('%s', (text) => {
    expect(score(text).completeness).toBeGreaterThan(0.6);
  });

  it('an answer to a question is sooner complete', () => {
    expect(score('John Miller', 'en-US', 'What is your name?').completeness).toBeGreaterThan(
      score('John Miller', 'en-US', 'Go on.').completeness,
    );
  });

  it('an English word list judges no other language', () => {
    expect(score('Das ist der Tisch, wo ich war', 'de-DE').completeness).toBeGreaterThan(0.6);
    expect(score('そうですか', 'ja-JP').completeness).toBeGreaterThan(0.6);
    expect(completenessOf('constructor', 'constructor', false)).toBeGreaterThan(0.6);
  });

  it('an interim transcript counts a little less', () => {
    const evidence = { text: 'a table for four', language: 'en-US', agentSaid: '' };
    expect(scoreTurn({ ...evidence, isFinal: false }).completeness).toBeLessThan(
      scoreTurn({ ...evidence, isFinal: true }).completeness,
    );
  });
});

describe('digits', () => {
  it.each(['five five five', 'my number is 555', 'oh one', '555-0123', 'cinco cinco', 'null drei'])('%s', (text) => {
    expect(endsInDigits(text, false)).toBe(true);
  });

  it.each(['a table for four', 'at 7', 'number five please', ''])('none: %s', (text) => {
    expect(endsInDigits(text, false)).toBe(false);
  });

  it('one digit is enough where the agent asked for a number', () => {
    expect(score('five', 'en-US', 'What is your phone number?').digits).toBe(true);
    expect(score('five', 'en-US', 'For how many people?').digits).toBe(false);
  });
});

describe('silenceNeededMs', () => {
  const { endpointing } = DEFAULT_CONVERSATION;

  it('falls from the longest to the least silence as the words become complete', () => {
    const needed = [0, 0.3, 0.6, 0.9, 1].map((completeness) =>
      silenceNeededMs({ completeness, digits: false }, endpointing),
    );
    expect(needed).toEqual([1600, 1160, 720, 280, 280]);
  });

  it('is never less than the response delay, and digits get theirs on top', () => {
    const config = { ...endpointing, responseDelayMs: 1000, numberInputDelayMs: 700 };
    expect(silenceNeededMs({ completeness: 0.95, digits: false }, config)).toBe(1000);
    expect(silenceNeededMs({ completeness: 0.95, digits: true }, config)).toBe(1700);
    expect(silenceNeededMs({ completeness: 0, digits: false }, config)).toBe(1600);
  });

  it('holds the least silence where the longest is set below it', () => {
    const config = { ...endpointing, minSilenceMs: 800, maxSilenceMs: 200 };
    expect(silenceNeededMs({ completeness: 0, digits: false }, config)).toBe(800);
  });
});
