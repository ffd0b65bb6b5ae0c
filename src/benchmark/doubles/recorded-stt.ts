import { HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../audio/frame.js';
import { delay } from '../../base/clock.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../../providers/stt/stt.js';
import type { RecordedWord } from '../recording.js';
import type { LlmProvider } from '../../providers/llm/llm.js';
import type { TtsProvider, TtsWord } from '../../providers/tts/tts.js';

export interface RecordedSttOptions {
  /** The words of the recording, with times. */
  words: readonly RecordedWord[];
  /** From the middle of a word, where a streaming recogniser guesses it, to the interim transcript with it. */
  interimMs: number;
  /** From `speechStopped` to the final transcript. */
  finalMs: () => number;
}

/** A double of a recogniser for benchmarks: it knows the words of a recording, and sends them when a real one would. */
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
  /** Words of past turns. */
  #taken = 0;
  /** Words sent in interim transcripts. */
  #sent = 0;
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
    if (known <= this.#sent) return;
    this.#sent = known;
    this.#send(known, false);
  }

  speechStarted(): void {
    this.#finals++; // cancels a pending final transcript
  }

  speechStopped(sample: number): void {
    const number = ++this.#finals;
    const known = this.#knownAt(samplesToMs(sample, HEARING_RATE_HZ));
    void this.#later(() => {
      if (number === this.#finals) this.#send(known, true);
    });
  }

  endTurn(): void {
    this.#segment++;
    this.#taken = Math.max(this.#taken, this.#sent);
    this.#finals++;
  }

  close(): Promise<void> {
    this.#closed.abort();
    return Promise.resolve();
  }

  /** Count of words spoken by then; a word counts from its middle. */
  #knownAt(ms: number): number {
    const { words } = this.#options;
    const later = words.findIndex(({ startMs, endMs }) => (startMs + endMs) / 2 > ms);
    return later === -1 ? words.length : later;
  }

  async #later(send: () => void): Promise<void> {
    try {
      await delay(this.#stream.clock, this.#options.finalMs(), this.#closed.signal);
    } catch {
      return; // closed
    }
    send();
  }

  #send(known: number, isFinal: boolean): void {
    if (this.#closed.signal.aborted) return;
    const words = this.#options.words.slice(this.#taken, known);
    if (isFinal) this.#sent = Math.max(this.#sent, known);
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
  /** Answers, used in turn. */
  answers: readonly string[];
  /** Tool to call before answers, if the agent has it. Default none. */
  tool?: ToolUse | undefined;
  /** Until the first piece. */
  firstMs: () => number;
  /** Between pieces; each piece is a word. */
  pieceMs: number;
  /** Called for each request. Default none. */
  onRequest?: (() => void) | undefined;
}

/** A double of a language model for benchmarks: stock answers with the timing of a vendor. */
export function timedLlm({ answers, tool, firstMs, pieceMs, onRequest }: TimedLlmOptions): LlmProvider {
  let calls = 0;
  return {
    name: 'timed',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async *complete({ messages, tools, clock, signal }) {
      onRequest?.();
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
  /** Length of the audio per character. */
  charMs: number;
}

/** A double of a voice for benchmarks: a hum with the timing of a vendor. A clause arrives as one piece of audio. */
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
