import { expect, it } from 'vitest';
import { spokenWords } from '../../../../src/providers/tts/text/speakable.js';
import { type TimedText, WordAligner } from '../../../../src/providers/tts/text/word-aligner.js';

const piece = (text: string, startMs: number, endMs: number): TimedText => ({ text, startMs, endMs });

function aligned(text: string, pieces: readonly TimedText[], endMs: number): string[] {
  const aligner = new WordAligner(spokenWords(text));
  const words = pieces.flatMap((one) => {
    aligner.push(one);
    return aligner.take();
  });
  return [...words, ...aligner.finish(endMs)].map(
    (word) => `${word.text} ${String(Math.round(word.startMs))}-${String(Math.round(word.endMs))}`,
  );
}

it('takes words without their punctuation, and in other case', () => {
  expect(
    aligned('Well, Ann: yes!', [piece('well', 0, 300), piece('ANN', 300, 500), piece('Yes', 600, 800)], 900),
  ).toEqual(['Well, 0-300', 'Ann: 300-500', 'yes! 600-800']);
});

it('takes letters, and phrases of several words', () => {
  const letters = [...'Hi you'].map((letter, i) => piece(letter, i * 100, i * 100 + 100));
  expect(aligned('Hi you', letters, 600)).toEqual(['Hi 0-200', 'you 300-600']);
  expect(aligned('Hi you two', [piece('Hi you', 0, 500), piece(' two', 500, 700)], 700)).toEqual([
    'Hi 0-200',
    'you 200-500',
    'two 500-700',
  ]);
});

it('puts what a number was read as between its neighbours', () => {
  const pieces = [piece('at', 0, 100), piece('twenty', 100, 300), piece('five', 300, 500), piece('sharp', 500, 900)];
  expect(aligned('at 25 sharp', pieces, 900)).toEqual(['at 0-100', '25 100-500', 'sharp 500-900']);
  expect(aligned('at 25', pieces.slice(0, 3), 600)).toEqual(['at 0-100', '25 100-600']);
});

it('shares what is between among several words, and gives none to what is not said', () => {
  expect(aligned('a 🎉 12 34 b', [piece('a', 0, 100), piece('b', 500, 600)], 600)).toEqual([
    'a 0-100',
    '🎉 100-100',
    '12 100-300',
    '34 300-500',
    'b 500-600',
  ]);
});

it('gives a word when the next has begun, not before', () => {
  const aligner = new WordAligner(spokenWords('one two'));
  aligner.push(piece('one', 0, 100));
  expect(aligner.take()).toEqual([]);
  aligner.push(piece('t', 100, 150));
  expect(aligner.take()).toEqual([{ text: 'one', startMs: 0, endMs: 100 }]);
  expect(aligner.take()).toEqual([]);
  aligner.push(piece('wo', 150, 300));
  expect(aligner.finish(250)).toEqual([{ text: 'two', startMs: 100, endMs: 250 }]);
});

it('copes with pieces that belong to nothing, and times that go back', () => {
  expect(aligned('yes no', [piece('maybe', 0, 9), piece('yes', 50, 90), piece('no', 20, 30)], 100)).toEqual([
    'yes 50-90',
    'no 90-90',
  ]);
  const aligner = new WordAligner(spokenWords('yes'));
  aligner.push(piece('x', 0, 1));
  expect(aligner.hasTimes).toBe(false);
});
