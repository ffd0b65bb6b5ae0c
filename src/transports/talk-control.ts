import type { Clock } from '../base/clock.js';
import { ParleyError } from '../base/errors.js';
import { parseJson } from '../base/json.js';
import type { TalkServerMessage, TalkTurnTimes } from './talk-protocol.js';
import type { TransportMessage, TransportSink, TurnTimes } from './transport.js';

/** A client that sends this many invalid messages is disconnected. */
const MAX_BAD_MESSAGES = 100;
const MAX_TEXT_CHARS = 10_000;
/** Burst of messages, and sustained messages per second, that a client may send. */
const BURST = 100;
const PER_SECOND = 50;

export interface TalkControlOptions {
  clock: Clock;
  /** Sends a message to the client. */
  send: (message: TalkServerMessage) => void;
  /** The client sends invalid messages, or too many. */
  onTooBad: (error: ParleyError) => void;
  /** The client offers a change of its connection; false if that is not possible. Default: never possible. */
  onOffer?: (sdp: string) => boolean;
}

/** A client's messages, over the socket's text messages or a data channel. */
export class TalkControl {
  /** Unreadable or meaningless messages. */
  badMessages = 0;
  readonly #options: TalkControlOptions;
  #allowed = BURST;
  #atMs: number;

  constructor(options: TalkControlOptions) {
    this.#options = options;
    this.#atMs = options.clock.nowMs();
  }

  /** Handles a client's message. */
  receive(text: string, sink: TransportSink | null): void {
    const message = this.#mayAsk() ? parse(text) : null;
    if (message !== null && this.#understand(message, sink)) return;
    this.badMessages++;
    this.#options.send({ method: 'onerror', data: `This message has no meaning here: ${text.slice(0, 100)}` });
    if (this.badMessages >= MAX_BAD_MESSAGES) this.#options.onTooBad(new ParleyError('TALK_TOO_MANY_BAD_MESSAGES'));
  }

  #understand({ method, data, payload }: ClientMessage, sink: TransportSink | null): boolean {
    switch (method) {
      case 'ping':
        this.#options.send({ method: 'pong', data });
        return true;
      case 'text':
        if (typeof data !== 'string' || data.length > MAX_TEXT_CHARS || !/\S/.test(data)) return false;
        sink?.text(data);
        return true;
      case 'dtmf':
        if (typeof data !== 'string' || !/^[0-9*#A-D]{1,64}$/.test(data)) return false;
        sink?.digits(data);
        return true;
      case 'form_result':
        if (typeof payload !== 'object' || payload === null) return false;
        if (!('id' in payload) || typeof payload.id !== 'string') return false;
        sink?.formResult(payload.id, 'value' in payload ? payload.value : null);
        return true;
      case 'offer':
        if (typeof payload !== 'object' || payload === null) return false;
        if (!('sdp' in payload) || typeof payload.sdp !== 'string') return false;
        return this.#options.onOffer?.(payload.sdp) ?? false;
      default:
        return false;
    }
  }

  /** Rate limit. */
  #mayAsk(): boolean {
    const nowMs = this.#options.clock.nowMs();
    this.#allowed = Math.min(BURST, this.#allowed + ((nowMs - this.#atMs) / 1000) * PER_SECOND);
    this.#atMs = nowMs;
    if (this.#allowed < 1) return false;
    this.#allowed--;
    return true;
  }
}

interface ClientMessage {
  method?: unknown;
  data?: unknown;
  payload?: unknown;
}

/** A client's message, null if invalid. */
function parse(text: string): ClientMessage | null {
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

/** A session's message in the clients' format. */
export function wireMessage(message: TransportMessage): TalkServerMessage {
  switch (message.type) {
    case 'ready':
      return { method: 'onready', payload: { session_id: message.sessionId } };
    case 'queue': {
      const { position, waitS, left } = message;
      return { method: 'onqueue', payload: { position, wait_s: waitS, left } };
    }
    case 'transcript':
      return {
        method: 'ontranscript',
        data: message.text,
        payload: { is_final: message.isFinal, turn: message.turn, segment: message.segment },
      };
    case 'response':
      return {
        method: 'onresponsetext',
        data: message.text,
        payload: { is_final: message.isFinal, answer: message.answer },
      };
    case 'answering':
      return { method: 'start_answering' };
    case 'pause':
    case 'unpause':
    case 'clear':
      return { method: message.type, payload: message.soundGoesOn === true ? { sound_goes_on: true } : undefined };
    case 'action':
      return { method: 'ai_action', payload: { id: message.id, name: message.name, ...message.data } };
    case 'metrics':
      return { method: 'onmetrics', payload: wireTimes(message.turn) };
    case 'ended':
      return {
        method: 'onsessionended',
        payload: { status: message.status, limit: message.limit },
      };
  }
}

function wireTimes(times: TurnTimes): TalkTurnTimes {
  return {
    turn: times.turn,
    response_ms: times.responseMs,
    end_of_turn_ms: times.endOfTurnMs,
    llm_first_ms: times.llmFirstMs,
    first_sentence_ms: times.firstSentenceMs,
    tts_first_ms: times.ttsFirstMs,
  };
}
