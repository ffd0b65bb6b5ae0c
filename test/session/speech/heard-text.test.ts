import { describe, expect, it } from 'vitest';
import { HeardText } from '../../../src/session/speech/playout.js';

describe('heard text', () => {
  it('counts whole words whose audio is over', () => {
    const heard = new HeardText('Hello, dear guest.');
    heard.addWords([
      { text: 'Hello,', startMs: 0, endMs: 300 },
      { text: 'dear', startMs: 320, endMs: 500 },
      { text: 'guest.', startMs: 500, endMs: 900 },
    ]);
    expect([0, 299, 300, 499, 500, 899, 900].map((ms) => heard.charsAt(ms, 950))).toEqual([0, 0, 6, 6, 11, 11, 18]);
    expect(heard.charsAt(950, 950)).toBe(18);
  });

  it('finds words that come twice one after the other', () => {
    const heard = new HeardText('no no no');
    heard.addWords([{ text: 'no', startMs: 0, endMs: 100 }]);
    heard.addWords([{ text: 'no', startMs: 100, endMs: 200 }]);
    expect(heard.charsAt(250, null)).toBe(5);
  });

  it('passes over words that are not in the text', () => {
    const heard = new HeardText('at 7 pm');
    heard.addWords([
      { text: 'at', startMs: 0, endMs: 100 },
      { text: 'seven', startMs: 100, endMs: 200 },
      { text: 'pm', startMs: 200, endMs: 400 },
    ]);
    expect([150, 250, 400].map((ms) => heard.charsAt(ms, 500))).toEqual([2, 2, 7]);
  });

  it('estimates from the share of the audio where no times are known, in whole words', () => {
    const heard = new HeardText('one two three four');
    expect([0, 300, 500, 1000].map((ms) => heard.charsAt(ms, 1000))).toEqual([0, 3, 7, 18]);
    expect([300, 500].map((ms) => heard.charsAt(ms, null))).toEqual([3, 7]); // 15 characters a second
  });

  it('estimates in characters where words have no spaces', () => {
    const heard = new HeardText('正午に開店します');
    expect([0, 250, 500, 1000].map((ms) => heard.charsAt(ms, 1000))).toEqual([0, 2, 4, 8]);
    expect(heard.charsAt(430, null)).toBe(3);
    expect(new HeardText('はい、正午です。').charsAt(5000, null)).toBe(7); // its end is not known
  });

  it('hears all of an utterance whose audio is over, and of no text nothing', () => {
    expect(new HeardText('whole').charsAt(10, 10)).toBe(5);
    expect(new HeardText('').charsAt(0, 100)).toBe(0);
  });
});
