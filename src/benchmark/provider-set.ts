import type { SessionRequest } from '../engine/options.js';
import { Random } from '../base/random.js';
import { recordedStt, timedLlm, timedTts, type ToolUse } from './doubles/recorded-stt.js';
import type { RecordedWord, LabelledRecording } from './recording.js';

/** A published latency: its median and 95th percentile. */
export interface LatencyShape {
  p50Ms: number;
  p95Ms: number;
}

/** The 95th percentile of the standard normal distribution. */
const Z95 = 1.6449;

/**
 * A log-normal distribution with these percentiles, because latencies of services have a long tail. Each call draws two
 * numbers from `random`.
 */
export function latencies({ p50Ms, p95Ms }: LatencyShape, random: Random): () => number {
  const sigma = p50Ms > 0 ? Math.log(p95Ms / p50Ms) / Z95 : 0;
  return () => p50Ms * Math.exp(sigma * normal(random));
}

/** A standard normal number (Box and Muller, 1958). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

/** Latencies of providers. */
export interface ProviderTimes {
  /** From the middle of a word, where a streaming recogniser guesses it, to the interim transcript with it. */
  interimMs: number;
  /** From the VAD's end of speech to the final transcript. */
  final: LatencyShape;
  /** From the request to the first token. */
  llmFirst: LatencyShape;
  /** Between words of the answer. */
  llmWordMs: number;
  /** From a clause to its first audio. */
  ttsFirst: LatencyShape;
}

/** Providers without latency, to measure the engine alone. */
export const INSTANT: ProviderTimes = {
  interimMs: 0,
  final: { p50Ms: 0, p95Ms: 0 },
  llmFirst: { p50Ms: 0, p95Ms: 0 },
  llmWordMs: 0,
  ttsFirst: { p50Ms: 0, p95Ms: 0 },
};

/**
 * Published measurements of services in 2026, as p50 and p95; docs/benchmarks.md has the sources.
 * Recogniser: Deepgram nova-3, 247 and 298 ms from the end of speech to the final transcript, minus 200 ms for the VAD in
 * that measurement. Model: gpt-4.1, first token after 536 and 1771 ms, then 70 words per second. Voice: Cartesia Sonic,
 * first audio after 195 and 240 ms.
 */
export const PUBLISHED: ProviderTimes = {
  interimMs: 150,
  final: { p50Ms: 47, p95Ms: 98 },
  llmFirst: { p50Ms: 536, p95Ms: 1771 },
  llmWordMs: 14,
  ttsFirst: { p50Ms: 195, p95Ms: 240 },
};

/**
 * The fastest services whose measurements are published, November 2026; docs/benchmarks.md has the sources. Recogniser:
 * Deepgram Flux, 20 ms from the VAD's end of speech (its 95th percentile is not published: the spread of Soniox in
 * stt-benchmark, 32 ms, takes its place). Model: gpt-oss-120b at Groq, first token after 98 and 217 ms. Voice: Rime Mist
 * v3, first audio after 37 ms (90th percentile 56) and 25 to 50 ms of network.
 */
export const FASTEST: ProviderTimes = {
  interimMs: 150,
  final: { p50Ms: 20, p95Ms: 52 },
  llmFirst: { p50Ms: 98, p95Ms: 217 },
  llmWordMs: 14,
  ttsFirst: { p50Ms: 75, p95Ms: 106 },
};

export interface DoublesOptions {
  times: ProviderTimes;
  /** The same seed gives the same latencies. */
  seed: number;
  /** Tool to call before answers. Default none. */
  tool?: ToolUse | undefined;
  /** Called for each request to the model. */
  onRequest?: (() => void) | undefined;
}

/** Typical answers: short, long, with a question at the end. */
const ANSWERS = [
  'Of course. For how many people shall I book the table?',
  'Yes, that works.',
  'I have found it. Your order was sent on Tuesday and should be with you tomorrow before noon.',
  'Let me note that down. Is there anything else that you would like me to add?',
  'Certainly, that is no problem at all.',
];

/** Doubles that replace the agent's providers and know the labelled words of the recording. */
export function doubles(
  recording: LabelledRecording,
  options: DoublesOptions,
): Pick<SessionRequest, 'stt' | 'llm' | 'tts'> {
  const { times, seed, tool, onRequest } = options;
  // Each stage has its own random numbers, so that a change in one stage does not affect the others.
  const chances = (stage: number): Random => new Random(seed * 3 + stage);
  return {
    stt: recordedStt({
      words: wordsOf(recording),
      interimMs: times.interimMs,
      finalMs: latencies(times.final, chances(0)),
    }),
    llm: timedLlm({
      answers: ANSWERS,
      firstMs: latencies(times.llmFirst, chances(1)),
      pieceMs: times.llmWordMs,
      tool,
      onRequest,
    }),
    tts: timedTts({ firstMs: latencies(times.ttsFirst, chances(2)), charMs: 60 }),
  };
}

/** The labelled words; without labels, the words of each turn, spread over it in proportion to their letters. */
export function wordsOf({ words, turns }: Pick<LabelledRecording, 'words' | 'turns'>): readonly RecordedWord[] {
  if (words !== null) return words;
  return turns.flatMap(({ startMs, endMs, text }) => {
    const said = (text ?? 'something').split(/\s+/).filter((word) => word !== '');
    const letters = said.reduce((sum, word) => sum + word.length, 0);
    let before = 0;
    return said.map((word) => {
      const at = (count: number): number => startMs + ((endMs - startMs) * count) / letters;
      const from = before;
      before += word.length;
      return { word, startMs: at(from), endMs: at(before) };
    });
  });
}
