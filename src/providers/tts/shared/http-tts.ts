import type { Clock } from '../../../base/clock.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { Deadlines } from '../../deadlines.js';
import { failed } from '../../wire/vendor-error.js';
import { VendorHttp, type VendorHttpOptions } from '../../wire/vendor-http.js';
import { AccountVoices, type VoiceListing } from './account-voices.js';
import { speakRemotely, type SpeechPiece } from './remote-speech.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsVoiceChoice } from '../tts.js';
import { checkedSettings, type SettingSpecs, languageCode, type VendorVoiceSettings } from './vendor-voice-settings.js';
import { PcmBytes } from '../pcm.js';
import { WavStream } from './wav-stream.js';

const RIFF = 'RIFF';

/** Decodes a streamed reply in chunks of any size: raw little-endian 16-bit mono PCM, or a WAV file of it. */
export class AudioBody {
  readonly #rateHz: number;
  #wav: WavStream | null = null;
  #pcm: PcmBytes | null = null;
  #head = Buffer.alloc(0);

  /**
   * @param contentType of the reply
   * @param sampleRateHz of raw PCM
   * @throws Error for a reply that is text
   */
  constructor(contentType: string, sampleRateHz: number) {
    if (/json|html|text|xml|mpeg|mp3|ogg|opus/.test(contentType)) throw new Error(`it is ${contentType}`);
    this.#rateHz = sampleRateHz;
  }

  /** Sample rate of the latest samples. */
  get sampleRateHz(): number {
    return this.#wav === null || this.#wav.sampleRateHz === 0 ? this.#rateHz : this.#wav.sampleRateHz;
  }

  /**
   * @returns the complete samples so far; may be empty
   * @throws Error for an unsupported WAV file
   */
  push(bytes: Buffer): Int16Array {
    if (this.#wav !== null) return this.#wav.push(bytes);
    if (this.#pcm !== null) return this.#pcm.push(bytes);
    this.#head = Buffer.concat([this.#head, bytes]);
    const start = this.#head.toString('latin1', 0, RIFF.length);
    if (start.length < RIFF.length && RIFF.startsWith(start)) return new Int16Array(0);
    const head = this.#head;
    this.#head = Buffer.alloc(0);
    if (start === RIFF) return (this.#wav = new WavStream()).push(head);
    return (this.#pcm = new PcmBytes()).push(head);
  }

  /** @throws Error if it ended within a header */
  end(): void {
    this.#wav?.end();
  }
}

/** A vendor's HTTP endpoint for speech. */
export interface SpeechEndpoint {
  /** @throws ParleyError TTS_VOICE_UNKNOWN for an invalid voice. Absent: any voice is allowed */
  checkVoice?(voiceId: string): void;
  /** Requests an utterance; its reply is 16-bit mono PCM, raw or as a WAV file. */
  request(
    text: string,
    voice: VendorVoiceSettings,
  ): { path: string; headers?: Readonly<Record<string, string>>; body: string };
  /** Sample rate of raw PCM. */
  readonly sampleRateHz: number;
  /** The path that `warmUp` requests to open a connection and check the key. */
  readonly warmUpPath: string;
}

export interface HttpTtsOptions {
  name: string;
  endpoint: SpeechEndpoint;
  http: Omit<VendorHttpOptions, 'provider'>;
  settings: SettingSpecs;
  /** Voices to list; the vendor's other voices can be named too. */
  voices: readonly TtsVoice[];
  /** How to list the account's voices. Absent: not supported. */
  listing?: VoiceListing | undefined;
  /** Base languages, such as `en`. Default: all. */
  languages?: readonly string[] | undefined;
  /** Default true. */
  hasModels?: boolean;
  /** Timeout from a request to its first audio, including connecting. Default 8000 ms. */
  firstAudioMs?: number;
  /** Timeout between two pieces of audio. Default 5000 ms. */
  gapMs?: number;
  /** Clock for `warmUp`; requests bring their own. Default: real time. */
  clock?: Clock;
}

/** Longest time that a session waits for a connection before it begins. */
const WARM_UP_MS = 1500;

/** A vendor's voices over HTTP: one request per utterance, streamed audio, keep-alive connections. */
export class HttpTts implements TtsProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly hasModels: boolean;
  readonly #options: HttpTtsOptions & { clock: Clock };
  readonly #http: VendorHttp;
  readonly #closing = new AbortController();
  readonly #account: AccountVoices | null;
  speaks?: (language: string) => Promise<boolean>;
  accountVoices?: () => Promise<readonly TtsVoice[]>;

  /** @throws ParleyError CONFIG_INVALID for an invalid address */
  constructor(options: HttpTtsOptions) {
    const { name, http, languages, hasModels = true } = options;
    this.name = name;
    this.hasModels = hasModels;
    this.#options = { clock: new RealClock(), ...options };
    this.#http = new VendorHttp({ ...http, provider: name });
    const { listing, endpoint } = options;
    const { sampleRateHz } = endpoint;
    const account = listing && new AccountVoices({ provider: name, listing, sampleRateHz, clock: this.#options.clock });
    this.#account = account ?? null;
    if (account !== undefined) this.accountVoices = () => account.list();
    if (languages !== undefined) {
      this.speaks = (language) => Promise.resolve(languages.includes(languageCode(language) ?? 'en'));
    }
  }

  /** @throws ParleyError PROVIDER_REFUSED if the key is rejected */
  async warmUp(): Promise<void> {
    const deadlines = new Deadlines(this.#options.clock, this.name, this.#closing.signal);
    deadlines.within(WARM_UP_MS);
    const { warmUpPath: path } = this.#options.endpoint;
    try {
      const reply = await this.#http.send({ method: 'GET', path, signal: deadlines.signal });
      for await (const chunk of reply.body) void chunk;
    } catch (error) {
      const status = error instanceof ParleyError ? error.details['status'] : null;
      if (status === 401 || status === 403) throw error;
      // Transient errors are left to the first request; other statuses show that the server is up.
    } finally {
      deadlines.end();
    }
  }

  /** @throws ParleyError TTS_SETTING_INVALID, TTS_VOICE_UNKNOWN */
  checkSettings(settings: TtsRequest['settings'], voiceId: string | null): void {
    checkedSettings(this.name, this.#options.settings, settings);
    if (voiceId !== null) this.#options.endpoint.checkVoice?.(voiceId);
  }

  /** @throws ParleyError TTS_SETTING_INVALID, TTS_VOICE_UNKNOWN, PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT, SESSION_CLOSED */
  async *synthesize(request: TtsRequest): AsyncGenerator<TtsAudio> {
    const { endpoint, firstAudioMs = 8000, gapMs = 5000 } = this.#options;
    this.checkSettings(request.settings, request.voiceId);
    const voice = this.#voiceOf(request);
    yield* speakRemotely(request, {
      provider: this.name,
      sampleRateHz: endpoint.sampleRateHz,
      firstAudioMs,
      gapMs,
      pieces: (text, signal) => this.#pieces(text, voice, signal),
    });
  }

  voices(): readonly TtsVoice[] {
    return this.#options.voices;
  }

  /** Aborts all utterances. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(new ParleyError('SESSION_CLOSED'));
    await Promise.all([this.#http.close(), this.#account?.close()]);
  }

  async *#pieces(text: string, voice: VendorVoiceSettings, signal: AbortSignal): AsyncGenerator<SpeechPiece> {
    const { endpoint } = this.#options;
    const reply = await this.#http.send({ method: 'POST', ...endpoint.request(text, voice), signal });
    const audio = new AudioBody(reply.contentType, endpoint.sampleRateHz);
    try {
      for await (const bytes of reply.body) {
        const samples = audio.push(bytes);
        if (samples.length > 0) yield { samples, sampleRateHz: audio.sampleRateHz };
      }
      audio.end();
    } catch (error) {
      if (error instanceof ParleyError || signal.aborted) throw error;
      throw failed(this.name, `it sent no audio: ${reasonOf(error)}`);
    }
  }

  #voiceOf({ voiceId, model, language, settings }: TtsVoiceChoice): VendorVoiceSettings {
    return { voiceId, model, language, settings: checkedSettings(this.name, this.#options.settings, settings) };
  }
}
