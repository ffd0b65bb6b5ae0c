import type { SessionRequest } from '../engine/options.js';
import { Random } from '../base/random.js';
import { recordedStt, timedLlm, timedTts, type ToolUse } from './doubles/recorded-stt.js';
import type { RecordedWord, LabelledRecording } from './recording.js';

/** How long something takes, as those who measured it tell: half of the times are below `p50Ms`, 95 % below `p95Ms`. */
export interface LatencyShape {
  p50Ms: number;
  p95Ms: number;
}

/** The 95th percentile of the standard normal distribution. */
const Z95 = 1.6449;

/**
 * Times of that shape, log-normal between and beyond the two figures: what is known of the latencies of services is
 * their median and a long tail. Each call draws two numbers of `random`.
 */
export function latencies({ p50Ms, p95Ms }: LatencyShape, random: Random): () => number {
  const sigma = p50Ms > 0 ? Math.log(p95Ms / p50Ms) / Z95 : 0;
  return () => p50Ms * Math.exp(sigma * normal(random));
}

/** Box and Muller, 1958. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

/** How long each stage of a provider takes. */
export interface ProviderTimes {
  /** From a word's end to the interim transcript that has it. */
  interimMs: number;
  /** From the end of speech, as the VAD tells the recogniser, to the final transcript. */
  final: LatencyShape;
  /** From the request to the first token. */
  llmFirst: LatencyShape;
  /** Between words of the answer. */
  llmWordMs: number;
  /** From a clause to its first audio. */
  ttsFirst: LatencyShape;
}

/** Providers that take no time: what is left is the engine. */
export const INSTANT: ProviderTimes = {
  interimMs: 0,
  final: { p50Ms: 0, p95Ms: 0 },
  llmFirst: { p50Ms: 0, p95Ms: 0 },
  llmWordMs: 0,
  ttsFirst: { p50Ms: 0, p95Ms: 0 },
};

/**
 * Services of 2026 as those who have measured them tell; docs/benchmarks.md has the sources.
 * Recogniser: Deepgram nova-3, 247 ms at the median from the end of speech to the final transcript and 298 at p95, of
 * which 200 are the wait of the VAD of whoever measured. Model: gpt-4.1, first token 536 and 1771; 70 words a second.
 * Voice: Cartesia Sonic, first audio 195 and 240.
 */
export const PUBLISHED: ProviderTimes = {
  interimMs: 150,
  final: { p50Ms: 47, p95Ms: 98 },
  llmFirst: { p50Ms: 536, p95Ms: 1771 },
  llmWordMs: 14,
  ttsFirst: { p50Ms: 195, p95Ms: 240 },
};

export interface DoublesOptions {
  times: ProviderTimes;
  /** The same seed gives the same latencies. */
  seed: number;
  /** Called before answers. Default none. */
  tool?: ToolUse;
}

/** Some of what agents say: short, long, with a question behind. */
const ANSWERS = [
  'Of course. For how many people shall I book the table?',
  'Yes, that works.',
  'I have found it. Your order was sent on Tuesday and should be with you tomorrow before noon.',
  'Let me note that down. Is there anything else that you would like me to add?',
  'Certainly, that is no problem at all.',
];

/** Providers in place of the agent's, which know what the recording says. Its words have to be labelled. */
export function doubles(
  recording: LabelledRecording,
  options: DoublesOptions,
): Pick<SessionRequest, 'stt' | 'llm' | 'tts'> {
  const { times, seed, tool } = options;
  // A stage has chances of its own: what one of them asks for more or less often leaves the others' times as they are.
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
      ...(tool !== undefined && { tool }),
    }),
    tts: timedTts({ firstMs: latencies(times.ttsFirst, chances(2)), charMs: 60 }),
  };
}

/** Words without labels of their own are spread over their turn by their letters. */
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
