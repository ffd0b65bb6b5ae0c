import type { tts } from '@livekit/agents';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice } from '@parley-voice/parley';
import { failed, refused, speakRemotely, type SpeechPiece } from '@parley-voice/parley/providers';
import { connectOptions, parleyError } from './errors.js';
import { ensureLog, type PluginLogLevel } from './plugin-log.js';

/** Of a request, who speaks and how. */
export type PluginVoiceChoice = Pick<TtsRequest, 'language' | 'voiceId' | 'model' | 'settings'>;

export interface LiveKitTtsOptions {
  /** Makes the plug-in's voice: what the agent asks for is in `voice`, and goes into the plug-in's own options. */
  tts: (voice: PluginVoiceChoice) => tts.TTS;
  /** For messages and traces. Default `livekit`. */
  name?: string;
  /** Voices to list; others can be named too. Default none. */
  voices?: readonly TtsVoice[];
  /** From a request to its first audio, connecting included. Default 8000 ms. */
  firstAudioMs?: number;
  /** Between two pieces of audio. Default 5000 ms. */
  gapMs?: number;
  /** Keys that no error may show. Default none. */
  secrets?: readonly string[];
  /** How much of the framework's log goes to the standard output. Default `silent`. */
  logLevel?: PluginLogLevel;
}

/** Voices that are kept for their connections, of all choices together. */
const MAX_KEPT = 16;

/** A plug-in's voice, and what it reports of the utterance that it is speaking. */
interface Speaker {
  key: string;
  tts: tts.TTS;
  error: Error | null;
}

/**
 * The voice of a LiveKit plug-in. A plug-in tells of a failure to whoever listens, not to the utterance that failed: so
 * each has at most one utterance at a time, and is used again, with its connection, once that has come to its end.
 */
export class LiveKitTts implements TtsProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly #options: LiveKitTtsOptions;
  #kept: Speaker[] = [];
  #closed = false;

  constructor(options: LiveKitTtsOptions) {
    this.#options = options;
    this.name = options.name ?? 'livekit';
    ensureLog(options.logLevel);
  }

  /** Nothing: plug-ins have no common way to connect before they speak. */
  async warmUp(): Promise<void> {}

  /** @throws ParleyError PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT; the signal's reason when it is aborted */
  async *synthesize(request: TtsRequest): AsyncGenerator<TtsAudio> {
    const { firstAudioMs = 8000, gapMs = 5000 } = this.#options;
    request.signal.throwIfAborted();
    const speaker = this.#take(request);
    let isWhole = false;
    try {
      yield* speakRemotely(request, {
        provider: this.name,
        sampleRateHz: speaker.tts.sampleRate,
        firstAudioMs,
        gapMs,
        pieces: (text, signal) => this.#pieces(speaker, text, signal, firstAudioMs),
      });
      isWhole = true;
    } finally {
      this.#release(speaker, isWhole);
    }
  }

  voices(): readonly TtsVoice[] {
    return this.#options.voices ?? [];
  }

  /** May be called twice. What is being spoken ends when its own signal is aborted. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#kept.splice(0).map((speaker) => speaker.tts.close()));
  }

  async *#pieces(speaker: Speaker, text: string, signal: AbortSignal, timeoutMs: number): AsyncGenerator<SpeechPiece> {
    const connOptions = connectOptions(timeoutMs);
    const stream = speaker.tts.capabilities.streaming
      ? speaker.tts.stream({ connOptions })
      : speaker.tts.synthesize(text, connOptions, signal);
    if ('pushText' in stream) {
      stream.pushText(text);
      stream.endInput();
    }
    let hasAudio = false;
    try {
      for (;;) {
        const result = await untilAborted(stream.next(), signal);
        if (result.done === true) break;
        // The mark that a segment is over.
        if (typeof result.value === 'symbol') continue;
        const { data, sampleRate, channels } = result.value.frame;
        if (channels !== 1) throw refused(this.name, `it gives ${String(channels)} channels`);
        hasAudio ||= data.length > 0;
        yield { samples: data, sampleRateHz: sampleRate };
      }
      // The stream ends the same whether all was said or the vendor has failed.
      if (speaker.error !== null) throw parleyError(this.name, speaker.error, this.#options.secrets ?? []);
      if (!hasAudio) throw failed(this.name, 'it gave no audio');
    } finally {
      stream.close();
    }
  }

  #take({ language, voiceId, model, settings }: TtsRequest): Speaker {
    const { tts: make, secrets = [] } = this.#options;
    const key = JSON.stringify([language, voiceId, model, settings]);
    const kept = this.#kept.findIndex((one) => one.key === key && one.error === null);
    const [known] = kept < 0 ? [] : this.#kept.splice(kept, 1);
    const speaker = known ?? {
      key,
      tts: this.#make(() => make({ language, voiceId, model, settings }), secrets),
      error: null,
    };
    // Stays: an error that nobody listens to would be thrown, also one that comes when all is over.
    if (known === undefined) speaker.tts.on('error', ({ error }) => (speaker.error ??= error));
    return speaker;
  }

  #release(speaker: Speaker, isWhole: boolean): void {
    const dropped = isWhole && !this.#closed ? null : speaker;
    if (dropped === null) this.#kept.push(speaker);
    const over = this.#kept.length > MAX_KEPT ? this.#kept.shift() : dropped;
    void over?.tts.close().catch(() => undefined);
  }

  /** Plug-ins throw where a key is missing or an option makes no sense. */
  #make(make: () => tts.TTS, secrets: readonly string[]): tts.TTS {
    try {
      return make();
    } catch (error) {
      throw refused(this.name, parleyError(this.name, error, secrets).message);
    }
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
