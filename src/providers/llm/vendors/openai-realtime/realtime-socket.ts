import type { Cancel, Clock } from '../../../../base/clock.js';
import { ParleyError } from '../../../../base/errors.js';
import { type JsonObject, objectOf, parseObject, textOf } from '../../../wire/json.js';
import { failed, refused, withoutSecrets } from '../../../wire/vendor-error.js';
import { VendorSocket } from '../../../wire/vendor-socket.js';
import { Items } from './items.js';
import { type RealtimeSettings, sessionUpdate, type SentSettings, sentOf } from './session-settings.js';

export interface RealtimeSocketOptions {
  /** The provider's name in errors. */
  provider: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  secrets: readonly string[];
  clock: Clock;
  settings: RealtimeSettings;
  /** Timeout for connecting and setting up the session. Default 5000 ms. */
  connectTimeoutMs?: number;
  /** A session ends after an hour; it is replaced at this age. Default 55 min. */
  renewAfterMs?: number;
  /** Closes after this idle time. Default 60 s. */
  idleMs?: number;
}

/** A listener to the socket. Events after `onLost` belong to another connection. */
export interface LineListener {
  onMessage(message: JsonObject, text: string): void;
  onLost(error: ParleyError): void;
}

/** One connection, from connect to close. */
interface Connection {
  socket: VendorSocket;
  /** The session is set up. */
  isReady: boolean;
  ready: Promise<void>;
  settle: (error: ParleyError | null) => void;
  /** The server's last `session.updated`. */
  updated: string;
  /** The settings sent last, to compute what has changed. */
  sent: SentSettings | null;
}

const DEFAULTS = { connectTimeoutMs: 5000, renewAfterMs: 55 * 60_000, idleMs: 60_000 };
/** Delay before checking again, while someone speaks, whether the session can be replaced. */
const AGAIN_MS = 1000;
/** This many unintelligible messages are ignored; after that the vendor has failed. */
const MAX_STRANGE_MESSAGES = 8;
const TRANSCRIPTION = 'conversation.item.input_audio_transcription';
/** Audio messages have at most some hundred kilobytes. */
const MAX_MESSAGE_BYTES = 8_388_608;

/**
 * The Realtime API connection of one conversation: connects on demand, reconnects after a loss, and replaces the
 * session before it expires. It mirrors the server's conversation. Callers need not know which connection is in use.
 */
export class RealtimeSocket {
  readonly items = new Items();
  /** Whether an answer is in progress, which a new connection would cut off. */
  isAnswering: () => boolean = () => false;
  readonly #options: Required<RealtimeSocketOptions>;
  readonly #listeners = new Set<LineListener>();
  #connection: Connection | null = null;
  #next: Connection | null = null;
  #cancelRenewal: Cancel = () => undefined;
  #cancelIdle: Cancel = () => undefined;
  /** Audio was sent but not committed. */
  #hasAudio = false;
  #settings: RealtimeSettings;
  #strange = 0;
  #events = 0;
  #closed = false;

  constructor(options: RealtimeSocketOptions) {
    this.#options = { ...DEFAULTS, ...options };
    this.#settings = options.settings;
  }

  /** Whether the connection is open and its session set up. */
  get isReady(): boolean {
    return this.#connection?.isReady === true;
  }

  /** The server's last `session.updated`; empty before. */
  get updated(): string {
    return this.#connection?.updated ?? '';
  }

  /**
   * Resolves when the session is ready; connects if necessary.
   * @throws ParleyError PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT, SESSION_CLOSED
   */
  ready(): Promise<void> {
    if (this.#closed) return Promise.reject(new ParleyError('SESSION_CLOSED'));
    this.#connection ??= this.#dial();
    this.#armIdle();
    return this.#connection.ready;
  }

  /** @returns unsubscribes */
  listen(listener: LineListener): () => void {
    this.#listeners.add(listener);
    this.#cancelIdle();
    return () => {
      this.#listeners.delete(listener);
      this.#armIdle();
    };
  }

  /** Changes the session's settings; sends only differences. */
  use(change: Partial<RealtimeSettings>): void {
    this.#settings = { ...this.#settings, ...change };
    if (this.#connection?.isReady === true) this.#tellSettings(this.#connection);
  }

  /** Sends an event. Returns its id, which errors refer to. */
  send(event: object): string {
    const id = `parley_event_${String(++this.#events)}`;
    this.#connection?.socket.send(JSON.stringify({ event_id: id, ...event }));
    return id;
  }

  /** Appends user audio in the session's format. */
  append(pcm: Uint8Array): void {
    this.#hasAudio = true;
    this.#connection?.socket.send(
      JSON.stringify({ type: 'input_audio_buffer.append', audio: Buffer.from(pcm).toString('base64') }),
    );
  }

  /** Commits the user's audio: it becomes an item of the conversation and is transcribed. */
  commit(): void {
    if (this.#connection?.isReady !== true) return;
    this.#hasAudio = false;
    this.items.committed();
    this.send({ type: 'input_audio_buffer.commit' });
  }

  /** Drops the connection: notifies the listeners; the next `ready` reconnects. */
  lose(error: ParleyError): void {
    const connection = this.#connection;
    if (connection !== null) this.#over(connection, error);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelIdle();
    const all = [this.#connection, this.#next];
    if (this.#connection !== null) this.#over(this.#connection, new ParleyError('SESSION_CLOSED'));
    this.#dropNext();
    for (const one of all) await one?.socket.close();
  }

  #dial(): Connection {
    const { provider, url, headers, secrets, clock, connectTimeoutMs } = this.#options;
    let settle: Connection['settle'] = () => undefined;
    const ready = new Promise<void>((resolve, reject) => {
      settle = (error) => (error === null ? resolve() : reject(error));
    });
    ready.catch(() => undefined);
    const late = clock.schedule(clock.nowMs() + connectTimeoutMs, () => {
      this.#over(connection, new ParleyError('PROVIDER_TIMEOUT', { provider, timeoutMs: connectTimeoutMs }));
    });
    const socket = new VendorSocket(
      {
        provider,
        url,
        headers,
        secrets,
        clock,
        connectTimeoutMs,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        signal: new AbortController().signal,
      },
      {
        onOpen: () => this.#tellSettings(connection),
        onText: (text) => this.#onText(connection, text),
        onClosed: (error) => this.#over(connection, error),
      },
    );
    const connection: Connection = {
      socket,
      isReady: false,
      ready,
      updated: '',
      sent: null,
      settle: (error) => {
        late();
        settle(error);
      },
    };
    return connection;
  }

  #tellSettings(connection: Connection): void {
    const session = sessionUpdate(this.#settings, connection.sent);
    if (session === null) return;
    connection.sent = sentOf(this.#settings);
    connection.socket.send(JSON.stringify({ type: 'session.update', session }));
  }

  #onText(connection: Connection, text: string): void {
    const message = parseObject(text);
    const type = textOf(message?.['type']);
    if (message === null || type === null) {
      this.#onStrange(connection);
      return;
    }
    if (type === 'session.updated') {
      connection.updated = text;
      if (!connection.isReady) this.#onReady(connection);
    }
    // During setup the only relevant message is a failure.
    if (!connection.isReady) {
      if (type === 'error') this.#over(connection, this.#errorOf(message));
      return;
    }
    if (connection !== this.#connection) return;
    this.#keep(type, message);
    if (type === 'error' && textOf(objectOf(message['error'])?.['code']) === 'session_expired') {
      this.#over(connection, failed(this.#options.provider, 'the session has expired'));
      return;
    }
    for (const listener of Array.from(this.#listeners)) listener.onMessage(message, text);
  }

  /** Tracks the conversation's items. */
  #keep(type: string, message: JsonObject): void {
    const id = textOf(message['item_id']);
    if (type === 'input_audio_buffer.committed' && id !== null) this.items.named(id);
    else if (type === `${TRANSCRIPTION}.delta` && id !== null) {
      this.items.transcribed(id, textOf(message['delta']) ?? '', true);
    } else if (type === `${TRANSCRIPTION}.completed` && id !== null) {
      this.items.transcribed(id, textOf(message['transcript']) ?? '');
    } else if (type === 'error') {
      const code = textOf(objectOf(message['error'])?.['code']);
      if (code === 'input_audio_buffer_commit_empty') this.items.refused();
    }
  }

  #onStrange(connection: Connection): void {
    if (++this.#strange <= MAX_STRANGE_MESSAGES) return;
    this.#over(connection, failed(this.#options.provider, 'it keeps sending invalid messages'));
  }

  #onReady(connection: Connection): void {
    connection.isReady = true;
    connection.settle(null);
    this.#tellSettings(connection); // settings that changed while connecting
    if (connection === this.#next) this.#replaceWhenQuiet();
    else {
      this.items.clear();
      this.#hasAudio = false;
      this.#armRenewal();
    }
  }

  #armRenewal(): void {
    const { clock, renewAfterMs } = this.#options;
    this.#cancelRenewal();
    this.#cancelRenewal = clock.schedule(clock.nowMs() + renewAfterMs, () => {
      this.#next = this.#dial();
    });
  }

  /** The session expires soon: a new one continues, with the history of the next request. */
  #replaceWhenQuiet(): void {
    const { clock } = this.#options;
    const next = this.#next;
    if (next === null) return;
    if (this.#hasAudio || this.items.hasUnnamed || this.isAnswering()) {
      this.#cancelRenewal = clock.schedule(clock.nowMs() + AGAIN_MS, () => this.#replaceWhenQuiet());
      return;
    }
    const old = this.#connection;
    this.#connection = next;
    this.#next = null;
    this.items.clear();
    this.#armRenewal();
    void old?.socket.close();
  }

  #over(connection: Connection, error: ParleyError): void {
    connection.settle(error);
    void connection.socket.close();
    if (connection === this.#next) {
      this.#next = null;
      if (!this.#closed) this.#armRenewalSoon();
      return;
    }
    if (connection !== this.#connection) return;
    this.#connection = null;
    this.#cancelRenewal();
    this.#dropNext();
    this.items.clear();
    this.#hasAudio = false;
    this.#strange = 0;
    for (const listener of Array.from(this.#listeners)) listener.onLost(error);
  }

  /** The replacement failed: retries soon, as the old session has some minutes left. */
  #armRenewalSoon(): void {
    const { clock } = this.#options;
    this.#cancelRenewal();
    this.#cancelRenewal = clock.schedule(clock.nowMs() + 10 * AGAIN_MS, () => {
      this.#next = this.#dial();
    });
  }

  #dropNext(): void {
    const next = this.#next;
    this.#next = null;
    next?.settle(new ParleyError('SESSION_CLOSED'));
    void next?.socket.close();
  }

  #armIdle(): void {
    const { clock, idleMs } = this.#options;
    this.#cancelIdle();
    if (this.#listeners.size > 0 || this.#closed) return;
    this.#cancelIdle = clock.schedule(clock.nowMs() + idleMs, () => void this.close());
  }

  #errorOf(message: JsonObject): ParleyError {
    return realtimeError(this.#options.provider, objectOf(message['error']), this.#options.secrets);
  }
}

/** Transient errors, whatever their `type`: an expired session is an `invalid_request_error` too. */
const PASSING =
  /server_error|rate_limit|timeout|overloaded|unavailable|session_expired|already_has_active_response|internal/;
const REFUSING = /invalid|quota|not_found|denied|authentication|permission|content_filter/;

/**
 * Maps an error of a Realtime API (an `error` event or a failed response) to PROVIDER_REFUSED if a retry cannot
 * succeed, else PROVIDER_FAILED.
 */
export function realtimeError(provider: string, error: JsonObject | null, secrets: readonly string[]): ParleyError {
  const code = textOf(error?.['code']) ?? '';
  const kind = `${textOf(error?.['type']) ?? ''} ${code}`;
  const said = textOf(error?.['message']) ?? '';
  const reason = withoutSecrets(said.trim() === '' ? kind.trim() || 'an error without a reason' : said, secrets);
  return !PASSING.test(kind) && REFUSING.test(kind) ? refused(provider, reason) : failed(provider, reason);
}
