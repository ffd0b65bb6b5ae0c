import { describe, expect, it } from 'vitest';
import { encodeUrlText } from '../../src/base/url-text.js';
import { fillVariables, variablesOf } from '../../src/agent/variables.js';

describe('fillVariables', () => {
  const fill = (text: string, metadata: Record<string, unknown>): string =>
    fillVariables(text, variablesOf({ metadata }));

  it.each([
    ['Hi {Name}!', { Name: 'Ann' }, 'Hi Ann!'],
    ['{a}{b}{a}', { a: '1', b: '2' }, '121'],
    ['{Unknown} stays', { Name: 'x' }, '{Unknown} stays'],
    ['{name} differs from {Name}', { Name: 'x' }, '{name} differs from x'],
    ['{first name} {größe} {a-b}', { 'first name': 'A', größe: 'B', 'a-b': 'C' }, 'A B C'],
    ['{{Name}}', { Name: 'x' }, '{x}'],
    ['{Name', { Name: 'x' }, '{Name'],
    ['{} { }', { '': 'x', ' ': 'y' }, '{} y'],
    [
      '{n} {yes} {list} {nothing}',
      { n: 4.5, yes: false, list: [1, { a: 2 }], nothing: null },
      '4.5 false [1,{"a":2}] {nothing}',
    ],
    ['{toString} {__proto__} {constructor}', {}, '{toString} {__proto__} {constructor}'],
    ['{a}', { a: '$& $1 {a}' }, '$& $1 {a}'],
  ])('fills %j from %j', (text, metadata, expected) => {
    expect(fill(text, metadata)).toBe(expected);
  });

  it('does not look at what a value brings in', () => {
    expect(fill('{a}', { a: '{b}', b: 'secret' })).toBe('{b}');
  });

  it('encodes values where it is asked to', () => {
    const variables = variablesOf({ metadata: { q: 'a b&c=/..?#' } });
    expect(fillVariables('https://x.example/{q}?q={q}', variables, encodeURIComponent)).toBe(
      'https://x.example/a%20b%26c%3D%2F..%3F%23?q=a%20b%26c%3D%2F..%3F%23',
    );
  });

  it('encodes half of a surrogate pair as the replacement character', () => {
    const variables = variablesOf({ metadata: { q: 'a\ud800' } });
    expect(fillVariables('https://x.example/{q}', variables, encodeUrlText)).toBe('https://x.example/a%EF%BF%BD');
  });

  it('is quick on text made to be slow', () => {
    const text = '{'.repeat(200_000) + 'x'.repeat(200_000);
    expect(fill(text, { x: 'y' })).toBe(text);
  });
});

describe('variablesOf', () => {
  it("lets the line's own numbers stand before metadata of the same name", () => {
    const variables = variablesOf({
      metadata: { FromPhone: 'forged', ToPhone: 'kept' },
      fromPhone: '+1',
      toPhone: null,
    });
    expect(Object.fromEntries(variables)).toEqual({ FromPhone: '+1', ToPhone: 'kept' });
  });
});
