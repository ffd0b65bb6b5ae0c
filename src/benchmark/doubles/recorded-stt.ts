import { HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../audio/frame.js';
import { delay } from '../../base/clock.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../../providers/stt/stt.js';
import type { RecordedWord } from '../recording.js';
import type { LlmProvider } from '../../providers/llm/llm.js';
import type { TtsProvider, TtsWord } from '../../providers/tts/tts.js';

export interface RecordedSttOptions {
  /** What is said in the recording, and when. */
  words: readonly RecordedWord[];
  /** From a word's end to the interim transcript that has it. */
  interimMs: number;
  /** From the session's word that nobody speaks any more to the final transcript. */
  finalMs: () => number;
}

/** A recogniser that knows what a recording says and tells it when a real one would: a double for benchmarks. */
export function recordedStt(options: RecordedSttOptions): SttProvider {
  return {
    name: 'recorded',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    open: (stream, events) => Promise.resolve(new RecordedStream(options, stream, events)),
    close: () => Promise.resolve(),
  };
}

class RecordedStream implements SttStream {
  readonly #options: RecordedSttOptions;
  readonly #stream: SttOptions;
  readonly #events: SttEvents;
  readonly #closed = new AbortController();
  #segment = 0;
  /** Words before this one belong to turns that are over. */
  #taken = 0;
  /** Words that an interim transcript has told. */
  #told = 0;
  #heardMs = 0;
  #finals = 0;

  constructor(options: RecordedSttOptions, stream: SttOptions, events: SttEvents) {
    this.#options = options;
    this.#stream = stream;
    this.#events = events;
  }

  push(samples: Int16Array, startSample: number): void {
    this.#heardMs = samplesToMs(startSample + samples.length, HEARING_RATE_HZ);
    const { interimMs } = this.#options;
    const known = this.#knownAt(this.#heardMs - interimMs);
    if (known <= this.#told) return;
    this.#told = known;
    this.#tell(known, false);
  }

  speechStarted(): void {
    this.#finals++; // what was about to be final is not
  }

  speechStopped(sample: number): void {
    const number = ++this.#finals;
    const known = this.#knownAt(samplesToMs(sample, HEARING_RATE_HZ));
    void this.#later(() => {
      if (number === this.#finals) this.#tell(known, true);
    });
  }

  endTurn(): void {
    this.#segment++;
    this.#taken = Math.max(this.#taken, this.#told);
    this.#finals++;
  }

  close(): Promise<void> {
    this.#closed.abort();
    return Promise.resolve();
  }

  /** How many words have been said by then: those of which half is over. */
  #knownAt(ms: number): number {
    const { words } = this.#options;
    const later = words.findIndex(({ startMs, endMs }) => (startMs + endMs) / 2 > ms);
    return later === -1 ? words.length : later;
  }

  async #later(tell: () => void): Promise<void> {
    try {
      await delay(this.#stream.clock, this.#options.finalMs(), this.#closed.signal);
    } catch {
      return; // closed
    }
    tell();
  }

  #tell(known: number, isFinal: boolean): void {
    if (this.#closed.signal.aborted) return;
    const words = this.#options.words.slice(this.#taken, known);
    if (isFinal) this.#told = Math.max(this.#told, known);
    this.#events.onTranscript({
      segment: this.#segment,
      text: words.map(({ word }) => word).join(' '),
      isFinal,
      understood: words.length > 0,
      confidence: words.length > 0 ? 1 : 0,
    });
  }
}

/** A tool that a double calls before its answer to every n-th message of the user. */
export interface ToolUse {
  name: string;
  /** Default 1: before every answer. */
  every?: number;
}

export interface TimedLlmOptions {
  /** What is answered, in turns. */
  answers: readonly string[];
  /** What is called before answers, where it is offered. Default none. */
  tool?: ToolUse;
  /** Until the first piece. */
  firstMs: () => number;
  /** Between pieces of a word each. */
  pieceMs: number;
}

/** A language model with nothing to say and a vendor's pace: a double for benchmarks. */
export function timedLlm({ answers, tool, firstMs, pieceMs }: TimedLlmOptions): LlmProvider {
  let calls = 0;
  return {
    name: 'timed',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async *complete({ messages, tools, clock, signal }) {
      await delay(clock, firstMs(), signal);
      const turn = messages.filter(({ role }) => role === 'user').length;
      const isDue = tool !== undefined && messages.at(-1)?.role === 'user' && turn % (tool.every ?? 1) === 0;
      if (isDue && tools.some(({ name }) => name === tool.name)) {
        yield { type: 'toolCall', call: { id: `call-${String(++calls)}`, name: tool.name, arguments: '{}' } };
        return;
      }
      for (const text of (answers[turn % answers.length] ?? '').match(/\S+\s*/g) ?? []) {
        yield { type: 'text', text };
        await delay(clock, pieceMs, signal);
      }
    },
  };
}

export interface TimedTtsOptions {
  /** Until the first audio of a clause. */
  firstMs: () => number;
  /** How long a character is spoken. */
  charMs: number;
}

/** A voice that hums, at a vendor's pace: a double for benchmarks. All of a clause comes with its first audio. */
export function timedTts({ firstMs, charMs }: TimedTtsOptions): TtsProvider {
  return {
    name: 'timed',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    voices: () => [{ id: 'hum', name: 'Hum', language: 'en-US', sampleRateHz: HEARING_RATE_HZ }],
    async *synthesize({ text, clock, signal }) {
      await delay(clock, firstMs(), signal);
      const words: TtsWord[] = [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({
        text: word,
        startMs: index * charMs,
        endMs: (index + word.length) * charMs,
      }));
      const samples = new Int16Array(msToSamples(text.length * charMs, HEARING_RATE_HZ));
      for (let at = 0; at < samples.length; at++) {
        samples[at] = Math.round(6000 * Math.sin((2 * Math.PI * 180 * at) / HEARING_RATE_HZ));
      }
      yield { samples, sampleRateHz: HEARING_RATE_HZ, words };
    },
  };
}
