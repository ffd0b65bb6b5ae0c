import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readFixtureLabels, readLabels, type ReadLabelsOptions } from '../../../src/testing/labels/labels.js';

const folder = mkdtempSync(join(tmpdir(), 'parley-labels-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function read(name: string, text: string, options?: ReadLabelsOptions) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return readLabels(path, options);
}

describe('.lab', () => {
  it('reads point labels: each holds until the next', () => {
    const text = '0.25\t0.25\tspeech\n6.75\t6.75\tsilence\n7.5\t7.5\tspeech\n8\t8\tsilence\n';
    expect(read('points.lab', text)).toEqual({
      speech: [
        { startMs: 250, endMs: 6750 },
        { startMs: 7500, endMs: 8000 },
      ],
    });
  });

  it('reads intervals: words that touch are one stretch of speech', () => {
    expect(read('words.lab', '0 0.2 pau\n0.2 0.5 go\n0.5 0.9 forward\n0.9 1.2 sil\n1.2 1.5 now\n')).toEqual({
      speech: [
        { startMs: 200, endMs: 900 },
        { startMs: 1200, endMs: 1500 },
      ],
      words: [
        { word: 'go', startMs: 200, endMs: 500 },
        { word: 'forward', startMs: 500, endMs: 900 },
        { word: 'now', startMs: 1200, endMs: 1500 },
      ],
    });
  });

  it("reads HTK's units of 100 ns", () => {
    expect(read('htk.lab', '0 2000000 sil\n2000000 5000000 yes\n').speech).toEqual([{ startMs: 200, endMs: 500 }]);
  });

  it('takes whole seconds as seconds', () => {
    expect(read('seconds.lab', '1 2 speech\n').speech).toEqual([{ startMs: 1000, endMs: 2000 }]);
  });

  it('reads an empty file as nobody speaking', () => {
    expect(read('empty.lab', '\n\r\n')).toEqual({ speech: [] });
  });

  it.each([
    ['0.1 speech', 'line 1: expected "start end label"'],
    ['0.1 0.2 yes\nNaN 0.4 no', 'line 2: expected "start end label"'],
    ['-1 0.2 yes', 'line 1: expected "start end label"'],
    ['0.5 0.2 yes', 'line 1: ends before it starts'],
    ['0.5 0.7 yes\n0.1 0.2 no', 'line 2: starts before the line above it'],
    ['0.5 0.5 speech', '"speech" starts at 0.5 and nothing ends it'],
  ])('refuses %j', (text, reason) => {
    expect(() => read('broken.lab', text)).toThrow(reason);
  });
});

describe('.rttm', () => {
  const two =
    ';; a comment\nSPKR-INFO a 1 <NA> <NA> <NA> unknown ann <NA>\n' +
    'SPEAKER a 1 2.000 0.500 <NA> <NA> bob <NA> <NA>\nSPEAKER a 1 1.250 1.000 <NA> <NA> ann <NA> <NA>\n' +
    'LEXEME a 1 1.300 0.200 hello lex ann 1\n';

  it('reads speaker turns in order of time, overlaps kept, and words', () => {
    expect(read('two.rttm', two)).toEqual({
      speech: [
        { startMs: 1250, endMs: 2250, speaker: 'ann' },
        { startMs: 2000, endMs: 2500, speaker: 'bob' },
      ],
      words: [{ word: 'hello', startMs: 1300, endMs: 1500 }],
    });
  });

  it('takes one recording of several', () => {
    const several = `${two}SPEAKER b 1 0 1 <NA> <NA> eve <NA> <NA>\n`;
    expect(read('b.rttm', several, { recording: 'b' }).speech).toEqual([{ startMs: 0, endMs: 1000, speaker: 'eve' }]);
    expect(() => read('b.rttm', several)).toThrow('covers several recordings, name one: a, b');
    expect(() => read('b.rttm', several, { recording: 'c' })).toThrow('has no recording "c". It has: a, b');
  });

  it.each([
    'SPEAKER a 1 x 0.5 <NA> <NA> bob <NA>',
    'SPEAKER a 1 1 -0.5 <NA> <NA> bob <NA>',
    'SPEAKER a 1 -1 0.5 <NA> <NA> bob <NA>',
    'SPEAKER a 1 1',
  ])('refuses %j', (line) => {
    expect(() => read('broken.rttm', line)).toThrow('line 1: not an RTTM SPEAKER line');
  });
});

describe('.json', () => {
  const speech = [{ startMs: 10, endMs: 20 }];
  const fixture = {
    format: 'parley-labels/1',
    file: 'x/y.wav',
    sampleRateHz: 8000,
    encoding: 'mulaw',
    durationMs: 100,
    text: 'yes',
    recipe: 'x',
    about: 'one word',
    speech,
  };

  it('reads labels and what a recording is', () => {
    expect(read('a.json', JSON.stringify({ speech }))).toEqual({ speech });
    read('b.json', JSON.stringify(fixture));
    expect(readFixtureLabels(join(folder, 'b.json'))).toEqual(fixture);
  });

  it.each([
    ['not json', '{'],
    ['no speech', '{}'],
    ['an unknown kind of pause', '{"speech":[],"pauses":[{"startMs":1,"endMs":2,"kind":"long"}]}'],
    ['a time below zero', '{"speech":[{"startMs":-1,"endMs":2}]}'],
    ['an end before its start', '{"speech":[{"startMs":3,"endMs":2}]}'],
    ['wrong order', '{"speech":[{"startMs":3,"endMs":4},{"startMs":1,"endMs":2}]}'],
    ['a digit that no key has', '{"speech":[],"digits":[{"startMs":1,"endMs":2,"digit":"E","how":"keyed"}]}'],
  ])('refuses %s', (_what, text) => {
    expect(() => read('broken.json', text)).toThrow(
      expect.objectContaining({ code: 'LABELS_INVALID', message: expect.stringContaining('broken.json') as string }),
    );
  });
});

it('names the file that is not there, and an extension that it does not read', () => {
  expect(() => readLabels(join(folder, 'none.lab'))).toThrow('none.lab');
  expect(() => read('a.txt', '')).toThrow('the name must end in .json, .lab or .rttm');
});
