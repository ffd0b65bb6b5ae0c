import type {
  TalkAction,
  TalkClientMessage,
  TalkServerMessage,
  TalkTurnTimes,
} from '../../../src/transports/talk-protocol.js';
import { type Closing, closingWords, isBusy, isLost, isRefused, leftWords } from './endings.js';
import { CallError } from './errors.js';
import type { Line, LineEvents, LineOptions, OpenLine } from './line.js';
import type { CallStep } from './state.js';
import type { UserWords } from './transcript.js';

/** Where a user stands who waits for an agent. */
export interface QueuePlace {
  /** Counted from 1. */
  position: number;
  /** The estimated wait in seconds, in whole minutes; null = unknown. */
  waitS: number | null;
}

export interface SessionEvents {
  onStep(step: CallStep): void;
  /** The user waits for an agent, or their place has changed. */
  onQueue(place: QueuePlace): void;
  onTranscript(words: UserWords): void;
  /** `answer`: its number. */
  onResponse(text: string, isFinal: boolean, answer: number): void;
  /** The agent was interrupted; its text comes again, as far as it was heard. */
  onInterrupted(): void;
  onTimes(times: TalkTurnTimes): void;
  /** An action of the agent, or a request to the user. */
  onAction(action: TalkAction): void;
  /** A problem that does not end the session. */
  onProblem(message: string): void;
  onUnsteady(isUnsteady: boolean): void;
  /** The session is over. Not called after `close`. */
  onEnded(end: SessionEnd): void;
}

/** How a session ended. */
export interface SessionEnd {
  /** The server's; null = none. */
  status: string | null;
  /** For a timeout: the limit that was reached. */
  limit: 'idle' | 'duration' | null;
  /** Null = it ended in order. */
  error: CallError | null;
}

/** One session of the daemon on one line. A call that reconnects has several. */
export class TalkSession {
  /** The daemon's id. */
  readonly id: string;
  readonly line: Line;
  readonly #conversation: Conversation;

  private constructor(id: string, line: Line, conversation: Conversation) {
    this.id = id;
    this.line = line;
    this.#conversation = conversation;
  }

  /**
   * Resolves when the server is ready. Reports no events before.
   * @throws CallError
   */
  static async open(
    openLine: OpenLine,
    options: LineOptions,
    events: SessionEvents,
    { deadlineMs, signal }: { deadlineMs: number; signal: AbortSignal },
  ): Promise<TalkSession> {
    const given = new AbortController();
    const conversation = new Conversation(events);
    const ready = conversation.ready;
    ready.catch(() => undefined); // awaited below, unless the line does not open
    const abort = (): void => {
      conversation.fail(new CallError('aborted', 'The call was given up.'));
      given.abort();
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    const timer = setTimeout(() => {
      conversation.fail(new CallError('timeout', 'The server took too long to answer.'));
      given.abort();
    }, deadlineMs);
    // Who waits in a queue waits as long as that takes.
    conversation.onQueued = () => clearTimeout(timer);
    const opening = openLine(options, conversation, given.signal);
    try {
      const line = await Promise.race([opening, ready.then(() => opening)]);
      return new TalkSession(await ready, line, conversation);
    } catch (error) {
      given.abort();
      conversation.close();
      opening.then(
        (line) => line.close(),
        () => undefined,
      );
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  send(message: TalkClientMessage): void {
    this.line.send(message);
  }

  /** Ends the session at once, silently. May be called twice. */
  close(): void {
    this.#conversation.close();
    this.line.close();
  }
}

/** The messages of a session. */
class Conversation implements LineEvents {
  readonly ready: Promise<string>;
  /** The user waits in a queue. */
  onQueued: () => void = () => undefined;
  readonly #events: SessionEvents;
  #onReady!: (id: string) => void;
  #onFailed!: (error: CallError) => void;
  #isReady = false;
  #isOver = false;
  /** The agent was interrupted, and is silent until the next answer. */
  #isCleared = false;
  #problem: string | null = null;
  /** Why no agent has come from the queue. */
  #left: string | null = null;
  #status: string | null = null;
  #limit: SessionEnd['limit'] = null;

  constructor(events: SessionEvents) {
    this.#events = events;
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve;
      this.#onFailed = reject;
    });
  }

  /** It does not come about. */
  fail(error: CallError): void {
    if (!this.#isReady) this.#onFailed(error);
  }

  close(): void {
    this.#isOver = true;
  }

  onVoice(step: 'playing' | 'quiet'): void {
    if (this.#isReady && !this.#isOver) this.#events.onStep(step);
  }

  onUnsteady(isUnsteady: boolean): void {
    if (this.#isReady && !this.#isOver) this.#events.onUnsteady(isUnsteady);
  }

  onClosed(closing: Closing): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const error =
      this.#left !== null
        ? new CallError('busy', leftWords(this.#left))
        : this.#status === null
          ? errorOf(closing, this.#problem)
          : null;
    if (this.#isReady) this.#events.onEnded({ status: this.#status, limit: this.#limit, error });
    else this.fail(error ?? new CallError('failed', 'The call ended before it began.'));
  }

  onMessage(message: TalkServerMessage): void {
    if (this.#isOver) return;
    switch (message.method) {
      case 'onready':
        this.#isReady = true;
        this.#onReady(message.payload.session_id);
        this.#events.onStep('ready');
        return;
      case 'onqueue': {
        const { position, wait_s: waitS, left } = message.payload;
        this.#left = left;
        this.onQueued();
        if (left === null) this.#events.onQueue({ position, waitS });
        return;
      }
      case 'onerror':
        this.#problem = message.data;
        if (this.#isReady) this.#events.onProblem(message.data);
        return;
      case 'onsessionended':
        this.#status = message.payload.status;
        this.#limit = message.payload.limit ?? null;
        return;
      default:
        this.#talk(message);
    }
  }

  #talk(message: TalkServerMessage): void {
    const events = this.#events;
    switch (message.method) {
      case 'ontranscript': {
        const { is_final: isFinal, turn, segment } = message.payload;
        events.onStep(isFinal ? 'heard' : 'hears');
        events.onTranscript({ text: message.data, isFinal, turn, segment });
        return;
      }
      case 'onresponsetext':
        events.onResponse(message.data, message.payload.is_final, message.payload.answer);
        return;
      case 'pause':
        this.#isCleared = false;
        events.onStep('pause');
        return;
      case 'unpause':
        if (!this.#isCleared) events.onStep('unpause');
        return;
      case 'clear':
        this.#isCleared = true;
        events.onStep('clear');
        events.onInterrupted();
        return;
      case 'onmetrics':
        events.onTimes(message.payload);
        return;
      case 'ai_action':
        events.onAction(message.payload);
        return;
      case 'start_answering':
        events.onStep('answering');
        return;
      default: // a pong, or messages for other lines
        return;
    }
  }
}

function errorOf(closing: Closing, problem: string | null): CallError {
  const words = closingWords(closing, problem);
  if (isRefused(closing)) return new CallError('refused', words);
  if (isBusy(closing)) return new CallError('busy', words);
  return new CallError(isLost(closing) ? 'lost' : 'failed', words);
}
