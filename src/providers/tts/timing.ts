/**
 * Word times for engines that give none: every word gets a share of the clause's length by its estimated duration, and
 * pauses expected from the text move to the pauses in the audio. Pure.
 */
import { samplesToMs } from '../../audio/frame.js';

export interface WordTime {
  startMs: number;
  endMs: number;
}

/** All lengths are in syllables. */
const LETTER = 0.12;
const DIGIT = 1.6;
const SYMBOL = 0.5;
const WORD = 0.35;
const CLAUSE_PAUSE = 1.2;
const SENTENCE_PAUSE = 2;

const ENVELOPE_MS = 10;
/** Below this share of the loudest 10 ms it is a pause, or a stop within a word where it is short. */
const QUIET_SHARE = 0.04;
const LEAST_PAUSE_MS = 60;
/** Search range for a pause around its expected position, as a share of the clause's length. */
const REACH = 0.2;

/**
 * @param words what is said for each word, with its punctuation; '' is a word that takes no time
 * @param samples the clause's audio without silence at its ends
 * @returns a time a word, ascending, from 0 to the audio's end
 */
export function estimateWordTimes(words: readonly string[], samples: Int16Array, sampleRateHz: number): WordTime[] {
  const totalMs = samplesToMs(samples.length, sampleRateHz);
  const lengths = words.map(syllables);
  const pauses = words.map((word, i) => (i === words.length - 1 ? 0 : pauseAfter(word)));
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const scale = totalMs / Math.max(1e-9, sum(lengths) + sum(pauses));

  const times: WordTime[] = [];
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    times.push({ startMs: at, endMs: at + length * scale });
    at += (length + (pauses[i] ?? 0)) * scale;
  }
  return anchor(times, pauses, quietSpans(samples, sampleRateHz), totalMs);
}

/** Moves promised pauses to found ones, in order, and stretches what lies between. */
function anchor(
  times: readonly WordTime[],
  pauses: readonly number[],
  quiet: readonly WordTime[],
  totalMs: number,
): WordTime[] {
  const anchors: { word: number; span: WordTime }[] = [];
  let from = 0;
  for (const [word, pause] of pauses.entries()) {
    const time = times[word];
    if (pause === 0 || time === undefined) continue;
    const distance = (span: WordTime): number => Math.abs(span.startMs - time.endMs);
    const within = quiet.filter((span) => span.startMs >= from && distance(span) <= REACH * totalMs);
    const nearest = within.toSorted((a, b) => distance(a) - distance(b))[0];
    if (nearest === undefined) continue;
    anchors.push({ word, span: nearest });
    from = nearest.endMs;
  }

  const out: WordTime[] = [];
  let first = 0;
  let startMs = 0;
  for (const { word, span } of [...anchors, { word: times.length - 1, span: { startMs: totalMs, endMs: totalMs } }]) {
    const oldStart = times[first]?.startMs ?? 0;
    const oldEnd = times[word]?.endMs ?? totalMs;
    const stretch = (span.startMs - startMs) / Math.max(1e-9, oldEnd - oldStart);
    const offset = startMs;
    for (const time of times.slice(first, word + 1)) {
      out.push({
        startMs: offset + (time.startMs - oldStart) * stretch,
        endMs: offset + (time.endMs - oldStart) * stretch,
      });
    }
    first = word + 1;
    startMs = span.endMs;
  }
  return out;
}

function syllables(word: string): number {
  if (word === '') return 0;
  const digits = word.match(/\p{N}/gu)?.length ?? 0;
  const symbols = word.match(/[^\p{L}\p{M}\p{N}\p{P}\s]/gu)?.length ?? 0;
  const letters = word.match(/\p{L}/gu)?.length ?? 0;
  const plain = word.normalize('NFD').toLowerCase();
  const vowels = plain.match(/[aeiouyаеёиоуыэюяіїєαεηιουω]+/gu)?.length ?? 0;
  const syllabic =
    plain.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu)?.length ?? 0;
  // Scripts that write few or no vowels: about two letters a syllable.
  const nuclei = vowels + syllabic > 0 ? vowels + syllabic : letters / 2;
  return WORD + nuclei + LETTER * letters + DIGIT * digits + SYMBOL * symbols;
}

function pauseAfter(word: string): number {
  if (/[.!?…。！？]["'”’»)\]]*$/u.test(word)) return SENTENCE_PAUSE;
  return /[,;:،、，；：—–]["'”’»)\]]*$/u.test(word) ? CLAUSE_PAUSE : 0;
}

/** The pauses inside a piece of speech. */
function quietSpans(samples: Int16Array, sampleRateHz: number): WordTime[] {
  const window = Math.max(1, Math.round((sampleRateHz * ENVELOPE_MS) / 1000));
  const levels: number[] = [];
  for (let at = 0; at < samples.length; at += window) {
    let sum = 0;
    for (const sample of samples.subarray(at, at + window)) sum += Math.abs(sample);
    levels.push(sum / window);
  }
  const limit = QUIET_SHARE * Math.max(...levels, 0);
  const spans: WordTime[] = [];
  let start = -1;
  for (const [i, level] of [...levels, Number.POSITIVE_INFINITY].entries()) {
    if (level < limit) {
      if (start < 0) start = i;
    } else if (start >= 0) {
      if ((i - start) * ENVELOPE_MS >= LEAST_PAUSE_MS)
        spans.push({ startMs: start * ENVELOPE_MS, endMs: i * ENVELOPE_MS });
      start = -1;
    }
  }
  return spans;
}
