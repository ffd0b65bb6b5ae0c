import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../../../src/package-files.js';
import { expandPhrase, parsePhraseList } from '../../../../src/providers/stt/lm/phrase-list.js';

const LIST = parsePhraseList(`
# a comment
[class day]
monday | tuesday
[class when]
on {day} | tomorrow | {day} morning
[phrases 2]
a table {when} | yes
[words]
pizza pasta
`);

const texts = (phrase: string) => expandPhrase(phrase, 3, LIST).map(({ words }) => words.join(' '));

describe('phrase list', () => {
  it('tells classes of words from classes of phrases', () => {
    expect(LIST.wordClasses.get('{day}')).toEqual(['monday', 'tuesday']);
    expect([...LIST.phraseClasses.keys()]).toEqual(['when']);
    expect(LIST.phrases).toEqual([
      { text: 'a table {when}', weight: 2 },
      { text: 'yes', weight: 2 },
    ]);
    expect(LIST.words).toEqual(['pizza', 'pasta']);
  });

  it('expands classes of phrases and leaves classes of words as tokens', () => {
    expect(texts('a table {when} please')).toEqual([
      'a table on {day} please',
      'a table tomorrow please',
      'a table {day} morning please',
    ]);
  });

  it('shares the weight among the variants', () => {
    const total = expandPhrase('{when} {when}', 3, LIST).reduce((sum, { weight }) => sum + weight, 0);
    expect(total).toBeCloseTo(3);
    expect(texts('{when} {when}')).toHaveLength(9);
  });

  it('cuts a phrase at a slot that is no class', () => {
    expect(texts('my name is {{caller}} and i come {when}')).toContain('my name is');
    expect(texts('my name is {{caller}} and i come {when}')).toContain('and i come tomorrow');
  });

  it('brings up every member of a class whose combinations are too many', () => {
    const members = Array.from({ length: 50 }, (_, i) => `w${String(i)} x`).join(' | ');
    const list = parsePhraseList(`[class big]\n${members}\n`);
    const variants = expandPhrase('{big} and {big}', 1, list).map(({ words }) => words.join(' '));
    expect(variants.length).toBeLessThanOrEqual(60);
    for (let i = 0; i < 50; i++) {
      expect(variants.some((text) => text.startsWith(`w${String(i)} x and`))).toBe(true);
      expect(variants.some((text) => text.endsWith(`and w${String(i)} x`))).toBe(true);
    }
  });

  it('survives classes that name each other in a circle', () => {
    const list = parsePhraseList('[class a]\n{b} x\n[class b]\n{a} y\n');
    expect(expandPhrase('{a}', 1, list)).toEqual([]);
  });

  it.each(['yes', '[nonsense]\nyes'])('names what is wrong with %j', (source) => {
    expect(() => parsePhraseList(source)).toThrow(RangeError);
  });

  it.each(['en-us', 'fr-fr'])('reads our own list for %s', (language) => {
    const list = parsePhraseList(readFileSync(packageFile(`data/stt/${language}.txt`), 'utf8'));
    const used = [...list.phrases.map(({ text }) => text), ...[...list.phraseClasses.values()].flat()];
    for (const text of used) {
      for (const [, name] of text.matchAll(/\{(\w+)\}/g)) {
        expect(list.wordClasses.has(`{${name ?? ''}}`) || list.phraseClasses.has(name ?? '')).toBe(true);
      }
    }
    expect(list.phrases.length).toBeGreaterThan(100);
  });
});
