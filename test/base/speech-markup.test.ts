import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMarkup, unfinishedMarkup, withoutMarkup } from '../../src/base/speech-markup.js';

describe('speech mark-up', () => {
  it('takes pauses out, and tells their place and length', () => {
    const { text, pauses } = readMarkup('One <break time="500ms"/> two.<break time=\'1.5s\' /> Three<break/>');
    expect(text).toBe('One two. Three');
    expect(pauses).toEqual([
      { at: 4, ms: 500 },
      { at: 8, ms: 1500 },
      { at: 14, ms: 750 },
    ]);
  });

  it.each([
    ['<break strength="none"/>', []],
    ['<break strength="x-strong"/>', [1250]],
    ['<break time="60s"/>', [10_000]],
    ['<break time="soon"/>', [750]],
  ])('knows strengths, and limits a pause: %s', (marked, lengths) => {
    expect(readMarkup(`a ${marked} b`).pauses.map(({ ms }) => ms)).toEqual(lengths);
  });

  it('tells what is spelled, and what has phonemes or an alias', () => {
    const marked =
      'Code <spell>AB12</spell>, <say-as interpret-as="characters">XY</say-as>, <phoneme alphabet="ipa" ph="kwɛɹi">query</phoneme>, <sub alias="World Wide Web">WWW</sub>.';
    const { text, spans } = readMarkup(marked);
    expect(text).toBe('Code AB12, XY, query, WWW.');
    expect(spans.map(({ start, end, as, value }) => [text.slice(start, end), as, value])).toEqual([
      ['AB12', 'spell', ''],
      ['XY', 'spell', ''],
      ['query', 'ipa', 'kwɛɹi'],
      ['WWW', 'alias', 'World Wide Web'],
    ]);
  });

  it.each([
    ['<speak>Hi <emphasis level="strong">you</emphasis></speak>', 'Hi you'],
    ['<laugh/> Ha <voice name="x">there</voice>', 'Ha there'],
    ['5 < 6 and 7 > 4', '5 < 6 and 7 > 4'],
    ['write to <ann@example.com>', 'write to <ann@example.com>'],
    ['no tags', 'no tags'],
    ['<spell>open', 'open'],
    ['</spell> closed', 'closed'],
  ])('removes tags only: of %j remains %j', (marked, text) => {
    expect(withoutMarkup(marked)).toBe(text);
  });

  it.each([
    ['Your code is <spell>AB', 13],
    ['Wait <break ti', 5],
    ['Wait <', 5],
    ['Done <break/> now', -1],
    ['5 < 6', -1],
  ])('finds what is not finished: in %j at %d', (text, at) => {
    expect(unfinishedMarkup(text)).toBe(at);
  });

  it('keeps spans and pauses inside of any text, and its result has no tags', () => {
    const pieces = fc.constantFrom(
      '<break time="1s"/>',
      '<spell>',
      '</spell>',
      '<x>',
      '</x',
      '<',
      '>',
      'a. ',
      'B ',
      ' ',
      '"',
      '<sub alias="q">',
      '</sub>',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
        const { text, spans, pauses } = readMarkup(parts.join(''));
        expect(text).not.toMatch(/<(?:break time="1s"\/|\/?spell|\/?sub|x)>/);
        for (const { start, end } of spans) expect(0 <= start && start < end && end <= text.length).toBe(true);
        for (const { at } of pauses) expect(at <= text.length).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
