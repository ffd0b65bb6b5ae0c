import { beforeEach, expect, it } from 'vitest';
import type { SttTranscript, SttWord } from '../../../../src/providers/stt/stt.js';
import { type Piece, Segments } from '../../../../src/providers/stt/shared/segments.js';

let reported: SttTranscript[];
let segments: Segments;

beforeEach(() => {
  reported = [];
  segments = new Segments((transcript) => reported.push(transcript));
});

const piece = (text: string, isFinal = false, more: Partial<Piece> = {}): Piece => ({
  text,
  isFinal,
  confidence: null,
  words: [],
  ...more,
});

const word = (text: string, startSample: number): SttWord => ({
  text,
  startSample,
  endSample: startSample + 100,
  confidence: null,
});

const lines = (): string[] =>
  reported.map(({ segment, text, isFinal }) => `${String(segment)}${isFinal ? '!' : '?'} ${text}`);

it('joins pieces in their order, whatever the order in which they come', () => {
  segments.update(1, piece('for two', true));
  segments.update(0, piece(' a table '));
  segments.update(0, piece('A table', true));
  segments.final();
  expect(lines()).toEqual(['0? for two', '0? a table for two', '0? A table for two', '0! A table for two']);
});

it('says nothing twice, but a final transcript that has its punctuation or its times', () => {
  segments.update(0, piece('yes'));
  segments.update(0, piece('yes', true));
  segments.final();
  segments.update(0, piece('Yes.', true));
  segments.update(0, piece('Yes.', true, { words: [word('Yes.', 10)] }));
  segments.update(0, piece('Yes.', true, { words: [word('Yes.', 10)] }));
  expect(lines()).toEqual(['0? yes', '0! yes', '0! Yes.', '0! Yes.']);
  expect(reported.at(-1)?.words).toHaveLength(1);
});

it('is no longer final when the user goes on', () => {
  segments.update(0, piece('yes', true));
  segments.final();
  segments.goesOn();
  segments.update(1, piece('please', true));
  expect(lines().at(-1)).toBe('0? yes please');
});

it('counts a segment a turn, and none for a turn of which nothing was reported', () => {
  segments.update(0, piece('yes', true));
  segments.endTurn(100);
  segments.endTurn(200);
  segments.update(1, piece('no', true));
  expect(lines()).toEqual(['0? yes', '1? no']);
});

it('leaves out what was said before the turn, by the times of words', () => {
  segments.update(0, piece('yes', false, { words: [word('yes', 0)] }));
  segments.endTurn(500);
  segments.update(
    0,
    piece('yes thanks stop', true, { words: [word('yes', 0), word('thanks', 200), word('stop', 600)] }),
  );
  segments.update(1, piece('thanks', true, { words: [word('thanks', 200)] }));
  expect(lines()).toEqual(['0? yes', '1? stop']);
});

it('counts words where there are no times', () => {
  segments.update(0, piece('yes thanks'));
  segments.endTurn(500);
  segments.update(0, piece('yes thanks stop'));
  segments.endTurn(900);
  segments.update(0, piece('yes thanks stop now', true));
  segments.update(0, piece('yes thanks stop now', true));
  expect(lines()).toEqual(['0? yes thanks', '1? stop', '2? now']);
});

it('drops what is changed later of a final piece, and pieces that the turn is owed', () => {
  segments.update(0, piece('yes', true));
  segments.update(1, piece('tha'));
  segments.endTurn(500, 2);
  segments.update(0, piece('Yes.', true));
  segments.update(1, piece('thanks', true));
  segments.update(2, piece('a lot', true));
  segments.update(3, piece('stop', true));
  expect(lines()).toEqual(['0? yes', '0? yes tha', '1? stop']);
});

it('takes back what turns out to be of the turn before', () => {
  segments.endTurn(500);
  segments.update(0, piece('yes thanks'));
  segments.update(0, piece('yes thanks', true, { words: [word('yes', 0), word('thanks', 200)] }));
  expect(lines()).toEqual(['0? yes thanks', '0? ']);
});

it('tells how sure it is on the whole, and joins without spaces where none are written', () => {
  segments = new Segments((transcript) => reported.push(transcript), '');
  segments.update(0, piece('こんにちは', true, { confidence: 0.5 }));
  segments.update(1, piece('世界', true, { confidence: 1 }));
  segments.final();
  expect(reported.at(-1)).toMatchObject({ text: 'こんにちは世界', confidence: 0.75, understood: true });
  expect(segments.isSettled).toBe(true);
});
