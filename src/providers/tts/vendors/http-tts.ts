import type { Clock } from '../../../base/clock.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { Deadlines } from '../../deadlines.js';
import { failed } from '../../wire/vendor-error.js';
import { VendorHttp, type VendorHttpOptions } from '../../wire/vendor-http.js';
import { AccountVoices, type VoiceListing } from './account-voices.js';
import { speakRemotely, type SpeechPiece } from './remote-speech.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsVoiceChoice } from '../tts.js';
import { baseLanguage, type VendorVoiceSettings } from './vendor-voice.js';
import { checkedSettings, type SettingSpecs } from './vendor-voice-settings.js';
import { PcmBytes } from '../pcm.js';
import { WavStream } from './wav-stream.js';

const RIFF = 'RIFF';

/** Reads a reply's audio as it comes, cut anywhere: bare little-endian 16-bit mono PCM, or a WAV file of that. */
export class AudioBody {
  readonly #rateHz: number;
  #wav: WavStream | null = null;
  #pcm: PcmBytes | null = null;
  #head = Buffer.alloc(0);

  /**
   * @param contentType as the reply says
   * @param sampleRateHz of bare PCM
   * @throws Error for a reply that is text
   */
  constructor(contentType: string, sampleRateHz: number) {
    if (/json|html|text|xml|mpeg|mp3|ogg|opus/.test(contentType)) throw new Error(`it is ${contentType}`);
    this.#rateHz = sampleRateHz;
  }

  /** Of what was read last. */
  get sampleRateHz(): number {
    return this.#wav === null || this.#wav.sampleRateHz === 0 ? this.#rateHz : this.#wav.sampleRateHz;
  }

  /**
   * @returns the samples that are complete by now; may be none
   * @throws Error where it is a WAV file of another kind
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

  /** @throws Error where it ended within a header */
  end(): void {
    this.#wav?.end();
  }
}

/** How one vendor's HTTP endpoint is asked to speak. */
export interface SpeechEndpoint {
  /** @throws ParleyError TTS_VOICE_UNKNOWN for what cannot be a voice. Left out: anything may be one */
  checkVoice?(voiceId: string): void;
  /** Asks for an utterance; its reply is 16-bit mono PCM, bare or as a WAV file. */
  request(
    text: string,
    voice: VendorVoiceSettings,
  ): { path: string; headers?: Readonly<Record<string, string>>; body: string };
  /** Of bare PCM. */
  readonly sampleRateHz: number;
  /** What `warmUp` reads, so that a connection stands; a refused key shows there too. */
  readonly warmUpPath: string;
}

export interface HttpTtsOptions {
  name: string;
  endpoint: SpeechEndpoint;
  http: Omit<VendorHttpOptions, 'provider'>;
  settings: SettingSpecs;
  /** Voices to list; others of the vendor's can be named too. */
  voices: readonly TtsVoice[];
  /** How the vendor is asked which voices the account has. Left out: it is not. */
  listing?: VoiceListing;
  /** Base languages that it speaks, such as `en`. Default all. */
  languages?: readonly string[];
  /** Default true. */
  hasModels?: boolean;
  /** From a request to its first audio, connecting included. Default 8000 ms. */
  firstAudioMs?: number;
  /** Between two pieces of audio. Default 5000 ms. */
  gapMs?: number;
  /** Times `warmUp`; requests bring their own clock. Default: real time. */
  clock?: Clock;
}

/** A session does not wait longer than this for a connection before it begins. */
const WARM_UP_MS = 1500;

/** A vendor's voices over HTTP: a request an utterance, its audio streamed, over connections that are kept. */
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

  /** @throws ParleyError CONFIG_INVALID for an address that is none */
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
      this.speaks = (language) => Promise.resolve(languages.includes(baseLanguage(language) ?? 'en'));
    }
  }

  /** @throws ParleyError PROVIDER_REFUSED where the key is not accepted */
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
      // What may pass is left to the first request; other statuses show that somebody is there.
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

  /** Ends what is being spoken. May be called twice. */
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
