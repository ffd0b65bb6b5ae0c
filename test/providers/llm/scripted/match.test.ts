import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePattern, matchAll } from '../../../../src/providers/llm/scripted/match.js';
import { parsePattern } from '../../../../src/providers/llm/scripted/pattern.js';
import { Slot } from '../../../../src/providers/llm/scripted/slots/slot.js';
import { utteranceWords } from '../../../../src/base/spoken/words.js';

const slots = new Map([
  ['party', new Slot('party', { type: 'number' })],
  ['time', new Slot('time', { type: 'time' })],
  ['name', new Slot('name', { type: 'name' })],
  ['wish', new Slot('wish', { type: 'text' })],
]);

/** The captured values of the best match; null where there is none. */
function values(pattern: string, text: string): Record<string, unknown> | null {
  const best = matchAll(compilePattern(parsePattern(pattern)), utteranceWords(text), slots, null)[0];
  return best === undefined ? null : Object.fromEntries(best.captures.map((one) => [one.slot, one.value.value]));
}

describe('patterns', () => {
  it.each<[string, string, Record<string, unknown> | null]>([
    ['table for {party}', 'a table for four please', { party: 4 }],
    ['table for {party}', 'um, I would like a TABLE, for uh four!', { party: 4 }],
    ['table for {party}', 'a table let me see for four', null],
    ['table for {party}', 'table about for four', { party: 4 }],
    ['table for {party}', 'a table not for four', null],
    ['table for {party}', 'a chair for four', null],
    ['(a|the) table', 'the table', {}],
    ['(a|the) table', 'any table', null],
    ['table [for {party}]', 'table', {}],
    ['table [for {party}]', 'table for two', { party: 2 }],
    ["what's the time", 'what is the time', {}],
    ['what is the time', "what's the time", {}],
    ["I'd like that", 'i would like that', {}],
    ['opening hours', 'what are your opening hour', {}],
    ['reservation', 'i want to make a reservaton', {}],
    ['name is {name}', 'my name is Anna Miller', { name: 'Anna Miller' }],
    ['from * to {party}', 'from anywhere at all to five', { party: 5 }],
    ['tell {name} that {wish}', 'tell anna that i am late', { name: 'Anna', wish: 'i am late' }],
    ['{wish} please', 'more bread please', { wish: 'more bread' }],
    ['^no', 'no thanks', {}],
    ['^no', 'oh no', null],
    ['that is all$', 'that is all thank you', {}],
    ['that is all$', 'that is all i know', null],
    ['at {time} for {party}', 'at half past seven for four', { time: '19:30', party: 4 }],
  ])('%s | %s', (pattern, text, expected) => {
    expect(values(pattern, text)).toEqual(expected);
  });

  it.each([
    ['(a|b', 'is missing'],
    ['a)', 'unexpected ")"'],
    ['[a', 'is missing'],
    ['{Party}', 'not a slot'],
    ['{party:number}', 'not a slot'],
    ['a }', 'without'],
    ['[please]', 'matches any text'],
    ['*', 'matches any text'],
    ['', 'matches any text'],
    ['...', 'matches any text'],
    ['('.repeat(20) + 'a' + ')'.repeat(20), 'too deep'],
  ])('refuses %s', (pattern, message) => {
    expect(() => parsePattern(pattern)).toThrow(message);
  });

  it('prefers what explains more', () => {
    const score = (pattern: string): number =>
      matchAll(compilePattern(parsePattern(pattern)), utteranceWords('a table for four'), slots, null)[0]?.score ?? 0;
    expect(score('table for {party}')).toBeGreaterThan(score('for {party}'));
    expect(score('for {party}')).toBeGreaterThan(score('table'));
    expect(score('{wish}')).toBeLessThan(score('table'));
  });

  it('takes any text in bounded time', () => {
    const matcher = compilePattern(parsePattern('* (a|b|[c] d) * {wish} * {wish} * {party} * {name} end'));
    fc.assert(
      fc.property(fc.string({ maxLength: 3_000 }), (text) => {
        expect(Array.isArray(matchAll(matcher, utteranceWords(text), slots, null))).toBe(true);
      }),
      { numRuns: 50 },
    );
    const words = utteranceWords('a five b seven miller '.repeat(60));
    expect(words.length).toBe(120);
    expect(matchAll(matcher, words, slots, null)).toEqual([]);
  });
});
