import { samplesToMs } from '../../../audio/frame.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { failed, refused, withoutSecrets } from '../../wire/vendor-error.js';
import { VendorSocket } from '../../wire/vendor-socket.js';
import { Mailbox } from '../../mailbox.js';
import { PcmBytes } from '../pcm.js';
import type { SpeechPiece } from './remote-speech.js';
import type { DialectMessage, SpeechEvent, TtsDialect } from './dialect.js';
import type { VendorVoiceSettings } from './vendor-voice-settings.js';

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
