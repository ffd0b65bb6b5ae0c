import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../../src/agent/flow/conversation-config.js';
import { dictationOf } from '../../../src/conversation/turn/dictation.js';
import { scoreTurn, silenceNeededMs } from '../../../src/conversation/turn/endpointing.js';

const complete = (parts: readonly string[], agentSaid = '', language = 'en-US') =>
  dictationOf(parts, language, agentSaid)?.completeness;

/** Silence that ends a number of which these groups were said, with such pauses between them. */
function neededMs(parts: readonly string[], longestPauseMs = 0, agentSaid = ''): number {
  const evidence = { parts, language: 'en-US', isFinal: true, agentSaid, audio: null, longestPauseMs, usualPauseMs: 0 };
  return silenceNeededMs(scoreTurn(evidence), DEFAULT_CONVERSATION.endpointing);
}

describe('numbers of unknown length', () => {
  it('many digits in one breath are the whole number', () => {
    expect(neededMs(['six one seven five five five zero one nine two'])).toBeLessThan(500);
    expect(neededMs(['six one seven'])).toBeGreaterThan(1000);
  });

  it('a group of another length is the last one', () => {
    expect(complete(['four four nine', 'eight one two', 'seven'])).toBeGreaterThanOrEqual(0.6);
    expect(complete(['five five five', 'zero one nine', 'four two six eight'])).toBeGreaterThanOrEqual(0.6);
    expect(complete(['four four nine', 'eight one two'])).toBeLessThan(0.3);
  });

  it('a total that numbers often have may be the whole', () => {
    const pairs = ['five five', 'zero one', 'three seven', 'eight two'];
    expect(complete(pairs)).toBe(0.5);
    expect(complete(pairs.slice(0, 3))).toBeLessThan(0.3);
  });

  it('a silence that is no longer than the ones between its groups ends none', () => {
    expect(neededMs(['zero two zero', 'seven nine four six'], 900)).toBe(1125);
    expect(neededMs(['five five', 'zero one', 'three seven', 'eight two'], 350)).toBeLessThan(600);
  });

  it('words before the digits are no group', () => {
    expect(complete(['my order is', 'four four nine', 'eight one two', 'seven'])).toBeGreaterThanOrEqual(0.6);
  });
});

describe('numbers that the agent has asked for', () => {
  it.each([
    ['And the three digits on the back?', ['seven'], ['seven', 'three one']],
    ['What is the security code?', ['seven three'], ['seven three', 'one four']],
    [
      'Please enter your 8-digit customer number.',
      ['one two three four'],
      ['one two three four', 'five six seven eight'],
    ],
    ['What is your date of birth?', ['the third of May'], ['the third of May', 'nineteen eighty four']],
    ['When were you born?', ['12'], ['12 March', '1984']],
    ['What is your new postcode?', ['s w one a'], ['s w one a', 'two a a']],
    ['What is your zip code?', ['nine oh two'], ['nine oh two', 'one oh']],
    ['What is your booking reference?', ['x j four'], ['x j four', 'nine q r']],
  ])('%s', (agentSaid, part, whole) => {
    expect(complete(part, agentSaid) ?? 1).toBeLessThan(0.25);
    expect(complete(whole, agentSaid) ?? 0).toBeGreaterThan(0.8);
  });

  it('fewer digits than it must have surely go on', () => {
    expect(neededMs(['oh seven seven'], 0, 'What is the best number to reach you?')).toBeGreaterThan(1500);
  });

  it('the number of a house is not the whole address', () => {
    expect(complete(['twelve'], 'Where shall we deliver?')).toBeLessThan(0.2);
    expect(complete(['twelve'], 'What is the delivery address?')).toBeLessThan(0.2);
    expect(complete(['twelve orchard lane'], 'What is the delivery address?')).toBeUndefined();
  });
});

describe('letters', () => {
  it('"I like" and "I come at" spell nothing', () => {
    expect(complete(['I like pizza'])).toBeUndefined();
    expect(complete(['can I come at'])).toBeUndefined();
    expect(complete(['m for mother'])).toBe(0.4);
    expect(complete(['i as in india'])).toBe(0.4);
    expect(complete(['b wie Berta'], '', 'de-DE')).toBe(0.4);
    expect(complete(['b wie'], '', 'de-DE')).toBe(0.1);
  });
});
