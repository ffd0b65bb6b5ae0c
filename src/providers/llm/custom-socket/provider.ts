import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../llm.js';
import type { ChatMessage } from '../../../agent/chat.js';
import { parseJson } from '../../../base/json.js';

export interface ServerLine {
  readonly waitingBytes: number;
  send(text: string): void;
  close(): void;
}

export interface ServerLineEvents {
  onOpen: () => void;
  onText: (text: string) => void;
  onClosed: (reason: string) => void;
}

export interface CustomSocketOptions {
  /** Connects to the server. A non-retryable error, such as a blocked address, ends all attempts. */
  dial: (events: ServerLineEvents) => Promise<ServerLine>;
  facts: StartCallData;
  clock: Clock;
  /** The server ends the call (null) or transfers it. */
  onFinish: (destination: string | null) => void;
  /** A fault that does not end the call. */
  onFault: (name: string, reason: string) => void;
}

/** Reconnect backoff; the last delay repeats. */
const RETRY_DELAYS_MS = [100, 400, 1000, 2000, 5000];
/** A connection that has lasted this long resets the backoff. */
const PROVEN_MS = 30_000;
/** With this much unsent data, the server counts as dead. */
const MAX_WAITING_BYTES = 1_048_576;

/**
 * A customer's server that replaces the language model. Each session has one connection, which is reopened when it
 * drops. A reply is requested again on the next connection if none of it has arrived; a reply that breaks off in the
 * middle fails, and the conversation handles the failure.
 */
export class CustomSocketLlm implements LlmProvider {
  readonly name = 'custom_llm_websocket';
  readonly virtualTime = false;
  readonly #options: CustomSocketOptions;
  readonly #greeting: ReplyStream;
  /** The latest stream; messages for others are ignored. */
  #current: ReplyStream;
  #nextStream = 2;
  #asked = false;
  #line: ServerLine | null = null;
  #isOpen = false;
  #openedMs = 0;
  /** Connection number. */
  #attempt = 0;
  #retries = 0;
  #cancelRetry: Cancel = () => undefined;
  #refusal: Error | null = null;
  #started = false;
  #closed = false;

  constructor(options: CustomSocketOptions) {
    this.#options = options;
    this.#greeting = new ReplyStream(1, null, this.name);
    this.#current = this.#greeting;
  }

  warmUp(): Promise<void> {
    return Promise.resolve();
  }

  /** The call has begun: connects to the server. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#dial();
  }

  async *complete({ messages, requiredTool, signal }: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    signal.throwIfAborted();
    if (requiredTool !== undefined) return; // the protocol has no tools
    if (this.#refusal !== null) throw this.#refusal;
    const isGreeting = !this.#asked && messages.at(-1)?.role !== 'user';
    this.#asked = true;
    const stream = isGreeting ? this.#greeting : this.#ask(messages);
    try {
      yield* stream.pieces(signal);
    } finally {
      if (!stream.ended) this.#interrupt(stream);
    }
  }

  /** The recogniser has a transcript of the user. */
  heard(transcript: string, isFinal: boolean): void {
    const { session_id } = this.#options.facts;
    this.#send({ type: 'partial_transcript', data: { session_id, transcript, is_final: isFinal } });
  }

  /** An utterance of the latest reply starts to play … */
  speaks(utteranceId: number): void {
    this.#current.spoken = true;
    this.#current.playing.add(utteranceId);
  }

  /** … and ends. */
  spoke(utteranceId: number): void {
    if (this.#current.playing.delete(utteranceId)) this.checkPlayed();
  }

  /** Informs the server when the whole of the latest reply has been played. */
  checkPlayed(): void {
    const stream = this.#current;
    if (!stream.ended || !stream.spoken || stream.interrupted || stream.playing.size > 0) return;
    stream.spoken = false;
    const { session_id } = this.#options.facts;
    this.#send({ type: 'playback_finished', data: { session_id, stream_id: String(stream.id) } });
  }

  /** The rest of the reply has been dropped. */
  dropped(): void {
    if (!this.#current.ended || this.#current.playing.size > 0) this.#interrupt(this.#current);
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#cancelRetry();
    this.#current.fail('the session is over');
    this.#line?.close();
    this.#line = null;
    return Promise.resolve();
  }

  #ask(messages: LlmRequest['messages']): ReplyStream {
    const stream = new ReplyStream(this.#nextStream++, transcriptOf(messages), this.name);
    this.#current = stream;
    this.#request(stream);
    return stream;
  }

  #request({ id, transcript }: ReplyStream): void {
    if (transcript !== null) this.#send({ type: 'stream_request', data: { stream_id: String(id), transcript } });
  }

  #interrupt(stream: ReplyStream): void {
    if (stream.interrupted) return;
    stream.interrupted = true;
    stream.playing.clear();
    this.#send({ type: 'interrupt', data: { stream_id: String(stream.id) } });
  }

  #send(message: ToServer): void {
    if (this.#line === null || !this.#isOpen) return;
    this.#line.send(JSON.stringify(message));
    if (this.#line.waitingBytes > MAX_WAITING_BYTES) this.#lost('the server does not read');
  }

  #dial(): void {
    const attempt = ++this.#attempt;
    const isCurrent = (): boolean => !this.#closed && attempt === this.#attempt;
    const events: ServerLineEvents = {
      onOpen: () => void (isCurrent() && this.#opened()),
      onText: (text) => void (isCurrent() && this.#onText(text)),
      onClosed: (reason) => void (isCurrent() && this.#lost(reason)),
    };
    this.#options.dial(events).then(
      (line) => {
        if (!isCurrent()) line.close();
        else this.#line = line;
      },
      (error: unknown) => {
        if (isCurrent()) this.#refused(error);
      },
    );
  }

  #opened(): void {
    const { clock, facts } = this.#options;
    this.#isOpen = true;
    this.#openedMs = clock.nowMs();
    const isGreeting = this.#current === this.#greeting;
    // After a reconnect the greeting is over: a server's reply to this stream is unsolicited.
    const streamId = isGreeting && !this.#greeting.ended ? this.#greeting.id : this.#nextStream++;
    this.#send({ type: 'start_call', data: { stream_id: String(streamId), ...facts } });
    if (!isGreeting && !this.#current.ended && !this.#current.interrupted) this.#request(this.#current);
  }

  #onText(text: string): void {
    const message = readMessage(text);
    if (message === null) this.#options.onFault('customLlm.badMessage', 'a message has no meaning');
    else if (message.streamId !== this.#current.id || this.#current.interrupted) {
      // A reply that was in flight when the user interrupted is not a fault.
      if (message.streamId >= this.#nextStream) this.#options.onFault('customLlm.unknownStream', 'no such stream_id');
    } else this.#onMessage(message);
  }

  #onMessage(message: FromServer): void {
    const stream = this.#current;
    if (message.type === 'stream_response') {
      if (stream.ended) return;
      const { content, flush, pauseMs, endOfStream } = message;
      if (content !== '' || flush || pauseMs > 0) {
        const piece: Extract<LlmPiece, { type: 'text' }> = { type: 'text', text: content };
        if (flush) piece.flush = true;
        if (pauseMs > 0) piece.pauseMs = pauseMs;
        stream.push(piece);
      }
      if (endOfStream) stream.end();
      return;
    }
    stream.end();
    this.#options.onFinish(message.type === 'end_call' ? null : message.destination);
  }

  /** The connection is lost; schedules a reconnect. */
  #lost(reason: string): void {
    const { clock, onFault } = this.#options;
    this.#line?.close();
    this.#line = null;
    const wasProven = this.#isOpen && clock.nowMs() - this.#openedMs > PROVEN_MS;
    this.#isOpen = false;
    onFault('customLlm.disconnected', reason);
    const stream = this.#current;
    if (stream.begun) stream.fail(`the connection broke off: ${reason}`);
    else if (!stream.ended) stream.id = this.#nextStream++;
    this.#retries = wasProven ? 0 : this.#retries;
    const waitMs = RETRY_DELAYS_MS[Math.min(this.#retries++, RETRY_DELAYS_MS.length - 1)] ?? 0;
    this.#attempt++; // ignores late events of the old connection
    this.#cancelRetry = clock.schedule(clock.nowMs() + waitMs, () => this.#dial());
  }

  #refused(error: unknown): void {
    this.#refusal =
      error instanceof ParleyError
        ? error
        : new ParleyError('PROVIDER_FAILED', { provider: this.name, reason: reasonOf(error) }, { cause: error });
    this.#options.onFault('customLlm.refused', reasonOf(error));
    this.#current.fail(reasonOf(error));
  }
}

/** Longest reply that is accepted. */
const MAX_CHARS = 1_048_576;

/** One reply of the server, buffered for its reader. */
class ReplyStream {
  /** Changes when the reply is requested again. */
  id: number;
  /** Null = the greeting, which `start_call` requests. */
  readonly transcript: readonly SocketTranscriptLine[] | null;
  /** Part of it has arrived. */
  begun = false;
  ended = false;
  /** The server knows that the reply was interrupted. */
  interrupted = false;
  /** Its utterances that have not finished playing. */
  readonly playing = new Set<number>();
  /** Part of it has been played. */
  spoken = false;
  readonly #name: string;
  readonly #pieces: LlmPiece[] = [];
  #error: Error | null = null;
  #chars = 0;
  #wake: () => void = () => undefined;

  constructor(id: number, transcript: readonly SocketTranscriptLine[] | null, name: string) {
    this.id = id;
    this.transcript = transcript;
    this.#name = name;
  }

  push(piece: Extract<LlmPiece, { type: 'text' }>): void {
    this.begun = true;
    this.#chars += piece.text.length;
    if (this.#chars > MAX_CHARS) this.fail('the reply is too long');
    else this.#pieces.push(piece);
    this.#wake();
  }

  end(): void {
    this.ended = true;
    this.#wake();
  }

  fail(reason: string): void {
    if (this.ended) return;
    this.ended = true;
    this.#error = new ParleyError('PROVIDER_FAILED', { provider: this.#name, reason });
    this.#wake();
  }

  /** All pieces of the reply. Throws the signal's reason when it is aborted. */
  async *pieces(signal: AbortSignal): AsyncGenerator<LlmPiece, void, undefined> {
    const onAbort = (): void => this.#wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const piece = this.#pieces.shift();
        if (piece !== undefined) yield piece;
        else if (this.ended) break;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      if (this.#error !== null) throw this.#error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}

/** Messages to a custom LLM server, one JSON object each; docs/custom-llm.md describes them. */
export type ToServer =
  | { type: 'start_call'; data: StartCallData & { stream_id: string } }
  | { type: 'stream_request'; data: { stream_id: string; transcript: readonly SocketTranscriptLine[] } }
  | { type: 'partial_transcript'; data: { session_id: string; transcript: string; is_final: boolean } }
  | { type: 'playback_finished'; data: { session_id: string; stream_id: string } }
  | { type: 'interrupt'; data: { stream_id: string } };

/** Information about the call for the server. */
export interface StartCallData {
  agent_id: string | null;
  call_sid: string | null;
  session_id: string;
  metadata: Readonly<Record<string, unknown>>;
  voip: { from: string; to: string } | null;
}

export interface SocketTranscriptLine {
  role: 'user' | 'assistant' | 'system';
  content: string;
}

/** Messages from the server. */
export type FromServer =
  | {
      type: 'stream_response';
      streamId: number;
      content: string;
      flush: boolean;
      pauseMs: number;
      endOfStream: boolean;
    }
  | { type: 'end_call'; streamId: number }
  | { type: 'transfer_call'; streamId: number; destination: string };

/** A phone number or a SIP address. */
const DESTINATION = /^(?:\+?[\d ().-]{3,30}|sips?:[^\s]{3,200})$/;

/**
 * Parses a message from the server; null = invalid. Unknown members are ignored, for compatibility with other versions.
 */
export function readMessage(text: string): FromServer | null {
  const message = objectOf(parsed(text));
  const data = objectOf(message?.['data']);
  const streamId = streamIdOf(data?.['stream_id']);
  if (message === null || data === null || streamId === null) return null;
  switch (message['type']) {
    case 'stream_response':
      return readResponse(data, streamId);
    case 'terminate_call':
    case 'end_call':
      return { type: 'end_call', streamId };
    case 'transfer_call': {
      const { destination } = data;
      if (typeof destination !== 'string' || !DESTINATION.test(destination.trim())) return null;
      return { type: 'transfer_call', streamId, destination: destination.trim() };
    }
    default:
      return null;
  }
}

/**
 * The conversation as sent to the server, without the system prompt, which the server has itself. The outcome of a
 * transfer or hang-up becomes a `system` line.
 */
export function transcriptOf(messages: readonly ChatMessage[]): SocketTranscriptLine[] {
  return messages.flatMap((message, index): SocketTranscriptLine[] => {
    const { role, content } = message;
    if (role === 'system' && index === 0) return [];
    if (content === '') return [];
    return [{ role: role === 'tool' ? 'system' : role, content }];
  });
}

/** Our stream ids are digits; servers may return them as a string or a number. */
function streamIdOf(id: unknown): number | null {
  return numberOf(typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : id);
}

function readResponse(data: Readonly<Record<string, unknown>>, streamId: number): FromServer | null {
  const { content = '', flush = false, pause = 0, end_of_stream: endOfStream = false } = data;
  const pauseMs = pause ?? 0;
  if (typeof (content ?? '') !== 'string' || typeof (flush ?? false) !== 'boolean') return null;
  if (typeof pauseMs !== 'number' || !(pauseMs >= 0) || typeof (endOfStream ?? false) !== 'boolean') return null;
  return {
    type: 'stream_response',
    streamId,
    content: (content ?? '') as string,
    flush: flush === true,
    pauseMs,
    endOfStream: endOfStream === true,
  };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | null {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : null;
}

/** Some servers send ids as strings. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : null;
}
