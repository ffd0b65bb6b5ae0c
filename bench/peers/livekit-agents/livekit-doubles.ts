import { type APIConnectOptions, llm, stt, tts, VAD, type VADEvent, VADEventType, VADStream } from '@livekit/agents';
import { AudioFrame } from '@livekit/rtc-node';
import { HEARING_RATE_HZ, msToSamples } from '../../../dist/audio/frame.js';

/**
 * The services of bench/lib/instant.ts for LiveKit Agents: the same words, piece by piece, and the same hum, all at once.
 */

const PATIENCE: APIConnectOptions = { maxRetry: 0, retryIntervalMs: 0, timeoutMs: 10_000 };

/** Says what it gets to say. */
export class ToldStt extends stt.STT {
  label = 'scripted';
  #stream: ToldSpeech | null = null;

  constructor() {
    super({ streaming: true, interimResults: true, alignedTranscript: false });
  }

  tell(text: string, isFinal: boolean): void {
    const type = isFinal ? stt.SpeechEventType.FINAL_TRANSCRIPT : stt.SpeechEventType.INTERIM_TRANSCRIPT;
    this.#stream?.tell({
      type,
      alternatives: [{ language: 'en' as stt.SpeechData['language'], text, startTime: 0, endTime: 0, confidence: 1 }],
    });
  }

  override stream(): stt.SpeechStream {
    this.#stream = new ToldSpeech(this, undefined, PATIENCE);
    return this.#stream;
  }

  protected override _recognize(): Promise<stt.SpeechEvent> {
    return Promise.reject(new Error('it hears streams only'));
  }
}

class ToldSpeech extends stt.SpeechStream {
  label = 'scripted';

  tell(event: stt.SpeechEvent): void {
    if (!this.queue.closed) this.queue.put(event);
  }

  protected override async run(): Promise<void> {
    // What is said is known beforehand.
    for await (const _ of this.input);
  }
}

/** Hears what it gets to hear. */
export class ToldVad extends VAD {
  label = 'scripted';
  #stream: ToldEdges | null = null;

  constructor() {
    super({ updateInterval: 32 });
  }

  tell(isSpeech: boolean): void {
    if (isSpeech) {
      this.#stream?.tell(VADEventType.START_OF_SPEECH, true);
      this.#stream?.tell(VADEventType.INFERENCE_DONE, true);
    } else {
      this.#stream?.tell(VADEventType.END_OF_SPEECH, false);
    }
  }

  override stream(): VADStream {
    this.#stream = new ToldEdges(this);
    return this.#stream;
  }
}

class ToldEdges extends VADStream {
  constructor(vad: VAD) {
    super(vad);
    void this.#drain();
  }

  tell(type: VADEventType, speaking: boolean): void {
    const event: VADEvent = {
      type,
      speaking,
      samplesIndex: 0,
      timestamp: Date.now(),
      frames: [],
      probability: speaking ? 1 : 0,
      speechDuration: speaking ? 200 : 0,
      rawAccumulatedSpeech: speaking ? 200 : 0,
      silenceDuration: 0,
      rawAccumulatedSilence: 0,
      inferenceDuration: 0,
    };
    this.sendVADEvent(event);
  }

  async #drain(): Promise<void> {
    try {
      while (!(await this.inputReader.read()).done);
    } catch {
      // closed
    }
  }
}

export class InstantLlm extends llm.LLM {
  readonly pieces: readonly string[];

  constructor(text: string) {
    super();
    this.pieces = text.match(/\S+\s*/g) ?? [];
  }

  override label(): string {
    return 'instant';
  }

  override chat({ chatCtx, toolCtx, connOptions }: Parameters<llm.LLM['chat']>[0]): llm.LLMStream {
    const options = { chatCtx, connOptions: connOptions ?? PATIENCE, ...(toolCtx !== undefined && { toolCtx }) };
    return new InstantWords(this, options);
  }
}

class InstantWords extends llm.LLMStream {
  readonly #pieces: readonly string[];

  constructor(of: InstantLlm, options: ConstructorParameters<typeof llm.LLMStream>[1]) {
    super(of, options);
    this.#pieces = of.pieces;
  }

  // eslint-disable-next-line require-await
  protected override async run(): Promise<void> {
    for (const content of this.#pieces) {
      if (!this.queue.closed) this.queue.put({ id: 'instant', delta: { role: 'assistant', content } });
    }
  }
}

const hum = Int16Array.from({ length: msToSamples(10_000, HEARING_RATE_HZ) }, (_, at) =>
  Math.round(8000 * Math.sin((2 * Math.PI * 220 * at) / HEARING_RATE_HZ)),
);

/** At the rate of the line, so that nothing has to be resampled. */
export class InstantTts extends tts.TTS {
  label = 'instant';
  readonly charMs: number;

  constructor(charMs = 50) {
    super(HEARING_RATE_HZ, 1, { streaming: true });
    this.charMs = charMs;
  }

  override synthesize(): tts.ChunkedStream {
    throw new Error('it speaks streams only');
  }

  override stream(): tts.SynthesizeStream {
    return new InstantSpeech(this, PATIENCE);
  }
}

class InstantSpeech extends tts.SynthesizeStream {
  label = 'instant';
  readonly #charMs: number;

  constructor(of: InstantTts, options: APIConnectOptions) {
    super(of, options);
    this.#charMs = of.charMs;
  }

  protected override async run(): Promise<void> {
    for await (const text of this.input) {
      if (typeof text === 'symbol' || this.queue.closed) continue;
      const samples = hum.slice(0, msToSamples(text.length * this.#charMs, HEARING_RATE_HZ));
      const frame = new AudioFrame(samples, HEARING_RATE_HZ, 1, samples.length);
      this.queue.put({ requestId: 'instant', segmentId: 'instant', frame, final: false });
    }
    if (!this.queue.closed) this.queue.put(tts.SynthesizeStream.END_OF_STREAM);
  }
}
