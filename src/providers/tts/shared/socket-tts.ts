import type { Clock, Cancel } from '../../../base/clock.js';
import { waitAtMost } from '../../../base/deadlines.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { AccountVoices, type VoiceListing } from './account-voices.js';
import { speakRemotely, type SpeechPiece } from './remote-speech.js';
import type { TtsDialect, DialectMessage, SpeechEvent } from './dialect.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsVoiceChoice } from '../tts.js';
import { checkedSettings, type SettingSpecs, languageCode, type VendorVoiceSettings } from './vendor-voice-settings.js';
import { samplesToMs } from '../../../audio/frame.js';
import { failed, refused, withoutSecrets } from '../../wire/vendor-error.js';
import { VendorSocket } from '../../wire/vendor-socket.js';
import { Mailbox } from '../../mailbox.js';
import { PcmBytes } from '../pcm.js';

export interface SocketTtsOptions {
  name: string;
  protocol: TtsDialect;
  settings: SettingSpecs;
  /** Keys to redact. */
  secrets: readonly string[];
  /** Voices to list; the vendor's other voices can be named too. */
  voices: readonly TtsVoice[];
  /** How to list the account's voices. Absent: not supported. */
  listing?: VoiceListing;
  /** Base languages, such as `en`. Default: all. */
  languages?: readonly string[];
  /** Whether each voice supports all of them. Default: only if it names none. */
  multilingual?: boolean;
  /** Whether the protocol reports word times. Default false. */
  wordTimes?: boolean;
  /** Default true. */
  hasModels?: boolean;
  /** Timeout for connecting. Default 5000 ms. */
  connectTimeoutMs?: number;
  /** Timeout from a request to its first audio. Default 8000 ms. */
  firstAudioMs?: number;
  /** Timeout between two pieces of audio. Default 5000 ms. */
  gapMs?: number;
  /** Idle timeout of connections. Default 300,000 ms. */
  idleMs?: number;
  /** Clock for connections; requests bring their own. Default: real time. */
  clock?: Clock;
}

/** Longest time that a session waits for a connection before it begins. */
const WARM_UP_MS = 1500;
const DEFAULT_LANGUAGE = 'en-US';

/**
 * A vendor's voices over its WebSocket. Keeps a pool of connections, opened by `warmUp` and shared by all sessions
 * whose voice has the same address. If a pooled connection turns out to be dead, the utterance is retried once.
 */
export class SocketTts implements TtsProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly hasModels: boolean;
  readonly wordTimes: boolean;
  readonly multilingual: boolean;
  readonly #options: Required<
    Omit<SocketTtsOptions, 'name' | 'hasModels' | 'wordTimes' | 'multilingual' | 'languages' | 'listing'>
  >;
  readonly #languages: readonly string[] | undefined;
  readonly #account: AccountVoices | null;
  readonly #connections = new Map<string, Set<SpeechConnection>>();
  #closed = false;
  speaks?: (language: string) => Promise<boolean>;
  accountVoices?: () => Promise<readonly TtsVoice[]>;

  constructor(options: SocketTtsOptions) {
    this.name = options.name;
    this.hasModels = options.hasModels ?? true;
    this.wordTimes = options.wordTimes ?? false;
    this.multilingual = options.multilingual ?? options.languages === undefined;
    this.#languages = options.languages;
    this.#options = {
      connectTimeoutMs: 5000,
      firstAudioMs: 8000,
      gapMs: 5000,
      idleMs: 300_000,
      clock: new RealClock(),
      ...options,
    };
    const { listing } = options;
    const { clock, protocol } = this.#options;
    const { sampleRateHz } = protocol;
    const account = listing && new AccountVoices({ provider: this.name, listing, sampleRateHz, clock });
    this.#account = account ?? null;
    if (account !== undefined) this.accountVoices = () => account.list();
    const languages = this.#languages;
    if (languages !== undefined) {
      this.speaks = (language) => Promise.resolve(languages.includes(languageCode(language) ?? 'en'));
    }
  }

  async warmUp(choice: Partial<TtsVoiceChoice> = {}): Promise<void> {
    const { clock } = this.#options;
    const connection = this.#free(this.#voiceOf({ ...NO_CHOICE, ...choice }));
    const error = await waitAtMost(clock, WARM_UP_MS, connection.ready);
    if (error instanceof ParleyError && !error.retryable) throw error;
  }

  /** @throws ParleyError TTS_SETTING_INVALID */
  checkSettings(settings: TtsRequest['settings']): void {
    checkedSettings(this.name, this.#options.settings, settings);
  }

  /** @throws ParleyError TTS_SETTING_INVALID, PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT, SESSION_CLOSED */
  async *synthesize(request: TtsRequest): AsyncGenerator<TtsAudio> {
    const { protocol, firstAudioMs, gapMs } = this.#options;
    const voice = this.#voiceOf(request);
    yield* speakRemotely(request, {
      provider: this.name,
      sampleRateHz: protocol.sampleRateHz,
      firstAudioMs,
      gapMs,
      takesPhonemes: protocol.takesPhonemes?.(voice) ?? false,
      pieces: (text, signal) => this.#pieces(text, voice, signal, request.again === true),
    });
  }

  voices(): readonly TtsVoice[] {
    return this.#options.voices;
  }

  /** Aborts all utterances. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#connections.values()].flatMap((some) => [...some]);
    await Promise.all([...all.map((connection) => connection.close()), this.#account?.close()]);
  }

  async *#pieces(
    text: string,
    voice: VendorVoiceSettings,
    signal: AbortSignal,
    wasLate: boolean,
  ): AsyncGenerator<SpeechPiece> {
    if (wasLate) for (const one of this.#connections.get(this.#keyOf(voice)) ?? []) one.retireIfMute();
    for (let isAgain = wasLate; ; isAgain = true) {
      const connection = isAgain ? this.#dial(voice) : this.#free(voice);
      const wasOpen = connection.isOpen;
      let begun = false;
      try {
        for await (const piece of connection.speak(text, voice, signal)) {
          begun = true;
          yield piece;
        }
        return;
      } catch (error) {
        const mayPass = error instanceof ParleyError && error.code === 'PROVIDER_FAILED' && connection.isOver;
        if (begun || isAgain || !wasOpen || !mayPass || signal.aborted) throw error;
      }
    }
  }

  /** Prefers an open connection to one that is connecting, and opens a new one if all are busy. */
  #free(voice: VendorVoiceSettings): SpeechConnection {
    const some = this.#connections.get(this.#keyOf(voice)) ?? [];
    const free = [...some].filter(({ isFree }) => isFree);
    return free.find(({ isOpen }) => isOpen) ?? free[0] ?? this.#dial(voice);
  }

  #dial(voice: VendorVoiceSettings): SpeechConnection {
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    const { protocol, secrets, clock, connectTimeoutMs, idleMs } = this.#options;
    const key = this.#keyOf(voice);
    const siblings = this.#connections.get(key) ?? new Set();
    this.#connections.set(key, siblings);
    const connection = new SpeechConnection({
      provider: this.name,
      protocol,
      voice,
      secrets,
      clock,
      connectTimeoutMs,
      idleMs,
      onOver: (over) => {
        siblings.delete(over);
        if (siblings.size === 0) this.#connections.delete(key);
      },
    });
    siblings.add(connection);
    return connection;
  }

  /** Voices with the same key share connections. */
  #keyOf(voice: VendorVoiceSettings): string {
    const { protocol } = this.#options;
    return JSON.stringify([protocol.address(voice), protocol.bound?.(voice)]);
  }

  #voiceOf({ voiceId, model, language, settings }: TtsVoiceChoice): VendorVoiceSettings {
    return { voiceId, model, language, settings: checkedSettings(this.name, this.#options.settings, settings) };
  }
}

const NO_CHOICE: TtsVoiceChoice = { language: DEFAULT_LANGUAGE, voiceId: null, model: null, settings: {} };

export interface SpeechConnectionOptions {
  provider: string;
  protocol: TtsDialect;
  voice: VendorVoiceSettings;
  secrets: readonly string[];
  clock: Clock;
  connectTimeoutMs: number;
  /** Idle timeout. */
  idleMs: number;
  /** The connection is closed, by either side. Called once. */
  onOver: (connection: SpeechConnection) => void;
}

/** If the vendor does not confirm a cancellation within this time, the connection takes no more utterances. */
const CANCEL_MS = 5000;
/** Maximum audio per utterance; more is a vendor error. */
const MAX_UTTERANCE_MS = 600_000;
/** A word time that goes back by more than this marks a restart of the vendor's clock. */
const OVERLAP_MS = 50;
const MINUTE_MS = 60_000;
const MAX_MESSAGE_BYTES = 8_388_608;

interface Utterance {
  id: string;
  out: Mailbox<SpeechPiece>;
  pcm: PcmBytes;
  /** Audio received so far. */
  samples: number;
  /** Offset of word times, and the end of the last word. */
  wordBaseMs: number;
  wordEndMs: number;
  /** The listener has left. */
  left: boolean;
  release: Cancel;
}

/** One connection to a vendor, with its utterances in progress. */
export class SpeechConnection {
  readonly #options: SpeechConnectionOptions;
  readonly #socket: VendorSocket;
  readonly #running = new Map<string, Utterance>();
  #count = 0;
  /** Times of the latest requests, for rate limiting. */
  #askedMs: number[] = [];
  #over = false;
  /** The connection takes no more utterances, and closes after the current ones. */
  #retired = false;
  #cancelIdle: Cancel = () => undefined;
  #settleReady!: (error: ParleyError | null) => void;
  /** Null once connected, else the reason. */
  readonly ready: Promise<ParleyError | null>;

  constructor(given: SpeechConnectionOptions) {
    const options = { ...given, protocol: given.protocol.forConnection?.() ?? given.protocol };
    this.#options = options;
    const { protocol, provider, voice, secrets, clock, connectTimeoutMs } = options;
    this.ready = new Promise((resolve) => (this.#settleReady = resolve));
    this.#socket = new VendorSocket(
      {
        provider,
        url: protocol.address(voice),
        headers: protocol.headers(),
        secrets,
        clock,
        connectTimeoutMs,
        signal: new AbortController().signal,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        keepAlive: protocol.keepAlive,
      },
      {
        onOpen: () => {
          this.#send(protocol.hello?.(voice) ?? []);
          this.#settleReady(null);
        },
        onText: (text) => this.#take(() => protocol.read(text)),
        onBinary: (data) => this.#take(() => protocol.readBinary?.(data) ?? []),
        onClosed: (error) => this.#end(error),
      },
    );
    this.#idle();
  }

  /** Whether it is connected. */
  get isOpen(): boolean {
    return this.#socket.isOpen;
  }

  /** Its last audio or its error has arrived. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Whether another utterance can be requested. */
  get isFree(): boolean {
    const { protocol, clock } = this.#options;
    const { perMinute = Number.POSITIVE_INFINITY } = protocol;
    const lately = this.#askedMs.filter((atMs) => atMs > clock.nowMs() - MINUTE_MS).length;
    return !this.#over && !this.#retired && lately < perMinute && this.#running.size < protocol.concurrent;
  }

  /** Takes no more utterances if one of them has no audio yet: the connection may be dead. */
  retireIfMute(): void {
    this.#retired ||= [...this.#running.values()].some(({ samples, left }) => samples === 0 && !left);
  }

  /** Requests an utterance. On abort it fails with the signal's reason, and is cancelled at the vendor. */
  speak(text: string, voice: VendorVoiceSettings, signal: AbortSignal): AsyncIterable<SpeechPiece> {
    const { protocol, clock } = this.#options;
    this.#cancelIdle();
    const id = `u${String(++this.#count)}`;
    const onAbort = (): void => this.#leave(utterance, signal.reason);
    const utterance: Utterance = {
      id,
      pcm: new PcmBytes(),
      samples: 0,
      wordBaseMs: 0,
      wordEndMs: 0,
      left: false,
      out: new Mailbox(() => this.#leave(utterance)),
      release: () => signal.removeEventListener('abort', onAbort),
    };
    this.#running.set(id, utterance);
    const { perMinute } = protocol;
    if (perMinute !== undefined) this.#askedMs = [...this.#askedMs.slice(1 - perMinute), clock.nowMs()];
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    else this.#send(protocol.begin(id, text, voice));
    return utterance.out;
  }

  close(reason: ParleyError = new ParleyError('SESSION_CLOSED')): Promise<void> {
    this.#end(reason);
    return this.#socket.close(this.#options.protocol.farewell);
  }

  #take(read: () => readonly SpeechEvent[]): void {
    if (this.#over) return;
    try {
      for (const event of read()) this.#onEvent(event);
    } catch (error) {
      void this.close(failed(this.#options.provider, this.#clean(`it sent an invalid message: ${reasonOf(error)}`)));
    }
  }

  #onEvent(event: SpeechEvent): void {
    if (event.type === 'reply') {
      this.#send([event.message]);
      return;
    }
    if (event.type === 'error' && event.id === undefined) {
      void this.close(this.#errorOf(event));
      return;
    }
    // Without ids, only one utterance runs at a time.
    const utterance = event.id === undefined ? [...this.#running.values()][0] : this.#running.get(event.id);
    if (utterance === undefined) return;
    if (utterance.left) {
      const { cancelEnds } = this.#options.protocol;
      if (event.type === cancelEnds || event.type === 'error') this.#forget(utterance);
      return;
    }
    switch (event.type) {
      case 'audio':
        this.#onAudio(utterance, event.bytes);
        break;
      case 'words':
        utterance.out.push({ words: wordsOf(utterance, event, this.#options.protocol.sampleRateHz) });
        break;
      case 'error':
        utterance.out.fail(this.#errorOf(event));
        this.#forget(utterance);
        break;
      case 'done':
        utterance.out.close();
        this.#forget(utterance);
        break;
      case 'cancelled':
        break;
    }
  }

  #onAudio(utterance: Utterance, bytes: Uint8Array): void {
    const samples = utterance.pcm.push(bytes);
    utterance.samples += samples.length;
    if (samplesToMs(utterance.samples, this.#options.protocol.sampleRateHz) > MAX_UTTERANCE_MS) {
      this.#leave(utterance, failed(this.#options.provider, 'it keeps sending audio of a cancelled utterance'));
    } else if (samples.length > 0) utterance.out.push({ samples });
  }

  /** The listener has left: cancels at the vendor. */
  #leave(utterance: Utterance, reason?: unknown): void {
    if (utterance.left || !this.#running.has(utterance.id)) return;
    const { protocol, clock } = this.#options;
    utterance.left = true;
    utterance.out.fail(reason);
    utterance.release();
    this.#send(protocol.cancel(utterance.id));
    if (protocol.cancelEnds === 'at once') {
      this.#forget(utterance);
      return;
    }
    // Other utterances may still run on it.
    utterance.release = clock.schedule(clock.nowMs() + CANCEL_MS, () => {
      this.#retired = true;
      this.#forget(utterance);
    });
  }

  #forget(utterance: Utterance): void {
    utterance.release();
    this.#running.delete(utterance.id);
    if (this.#running.size > 0) return;
    if (this.#retired) void this.close();
    else this.#idle();
  }

  #idle(): void {
    if (this.#over) return;
    const { clock, idleMs } = this.#options;
    this.#cancelIdle();
    this.#cancelIdle = clock.schedule(clock.nowMs() + idleMs, () => void this.close());
  }

  #end(error: ParleyError): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelIdle();
    this.#settleReady(error);
    for (const utterance of this.#running.values()) {
      utterance.release();
      utterance.out.fail(error);
    }
    this.#running.clear();
    this.#options.onOver(this);
  }

  #send(messages: readonly DialectMessage[]): void {
    for (const message of messages) this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  #errorOf({ reason, retryable }: { reason: string; retryable: boolean }): ParleyError {
    const { provider } = this.#options;
    return retryable ? failed(provider, this.#clean(reason)) : refused(provider, this.#clean(reason));
  }

  #clean(text: string): string {
    return withoutSecrets(text, this.#options.secrets);
  }
}

/**
 * Words with times from the utterance's first sample. Vendors may restart the clock for parts of an utterance: of the
 * two interpretations, the one that continues from the last word is right.
 */
function wordsOf(
  utterance: Utterance,
  { words, withAudio = false }: Extract<SpeechEvent, { type: 'words' }>,
  sampleRateHz: number,
): Required<SpeechPiece>['words'] {
  const first = words[0];
  if (first === undefined) return [];
  const { wordBaseMs, wordEndMs } = utterance;
  const anewMs = withAudio ? samplesToMs(utterance.samples, sampleRateHz) : wordEndMs;
  const gapMs = (baseMs: number): number => Math.abs(baseMs + first.startMs - wordEndMs);
  const isAnew = withAudio
    ? wordEndMs === 0 || gapMs(anewMs) < gapMs(wordBaseMs)
    : first.startMs + wordBaseMs < wordEndMs - OVERLAP_MS;
  const base = isAnew ? anewMs : wordBaseMs;
  utterance.wordBaseMs = base;
  utterance.wordEndMs = base + (words.at(-1)?.endMs ?? 0);
  return words.map(({ text, startMs, endMs }) => ({ text, startMs: base + startMs, endMs: base + endMs }));
}
