import type { ChatMessage, ToolCall, ToolSpec } from '../agent/chat.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';

/** What a model reports of one request: its pieces, its end or its failure. */
export type ModelEvent = Extract<ConversationEvent, { requestId: number }>;

/** Timing of a scripted reply. */
export interface ReplyTiming {
  /** From the request to the first piece. Default 200 ms. */
  afterMs?: number;
  /** Between pieces; each piece is a word. Default 20 ms. */
  gapMs?: number;
}

export interface ScriptedCall {
  name: string;
  /** Default `{}`. A string is used unchanged, even if it is not valid JSON. */
  args?: Readonly<Record<string, unknown>> | string;
  /** Default: `call-1`, `call-2` … */
  id?: string;
}

/** A request to the model. */
export interface StageRequest {
  requestId: number;
  atMs: number;
  messages: readonly ChatMessage[];
  tools: readonly ToolSpec[];
  cancelledMs: number | null;
  /** The request started before the end of the turn. */
  speculative: boolean;
}

interface Reply extends ReplyTiming {
  text?: string;
  calls?: readonly ToolCall[];
  ends: 'done' | 'fails' | 'stalls';
}

/** The reply to a request when the script is used up. */
export const UNSCRIPTED_REPLY = 'All right.';

/** The model of a scenario: answers each request with the next reply of its script. */
export class StageModel {
  readonly requests: StageRequest[] = [];
  /** Cancelled speculative requests. Their replies go to the next requests. */
  readonly contradicted: StageRequest[] = [];
  readonly #send: (atMs: number, event: ModelEvent) => void;
  readonly #script: Reply[] = [];
  readonly #unconfirmed = new Map<number, Reply>();
  #calls = 0;
  #ownVoice = false;

  constructor(send: (atMs: number, event: ModelEvent) => void) {
    this.#send = send;
  }

  /** Makes it a speech-to-speech model, which speaks its words itself. */
  speaksItself(): this {
    this.#ownVoice = true;
    return this;
  }

  says(text: string, timing: ReplyTiming = {}): this {
    return this.#add({ ...timing, text, ends: 'done' });
  }

  /** Calls tools in parallel, after `saying` something. */
  calls(calls: readonly ScriptedCall[], { saying = '', ...timing }: ReplyTiming & { saying?: string } = {}): this {
    return this.#add({ ...timing, text: saying, calls: calls.map((call) => this.#call(call)), ends: 'done' });
  }

  saysNothing(timing: ReplyTiming = {}): this {
    return this.#add({ ...timing, ends: 'done' });
  }

  /** Reports a failure, after `saying` something. */
  fails({ saying = '', ...timing }: ReplyTiming & { saying?: string } = {}): this {
    return this.#add({ ...timing, text: saying, ends: 'fails' });
  }

  /** Sends nothing more after `saying` something. */
  stalls({ saying = '', ...timing }: ReplyTiming & { saying?: string } = {}): this {
    return this.#add({ ...timing, text: saying, ends: 'stalls' });
  }

  start(effect: Extract<ConversationEffect, { type: 'llm.start' }>, atMs: number): void {
    const { requestId, messages, tools, speculative } = effect;
    const reply = this.#script.shift() ?? UNSCRIPTED;
    this.requests.push({ requestId, atMs, messages, tools, speculative, cancelledMs: null });
    if (speculative) this.#unconfirmed.set(requestId, reply);
    const { text = '', calls = [], ends, afterMs = 200, gapMs = 20 } = reply;
    const type = this.#ownVoice ? 'llm.voice' : 'llm.text';
    const pieces: ModelEvent[] = [
      ...(text.match(/\S+\s*/g) ?? []).map((piece): ModelEvent => ({ type, requestId, text: piece })),
      ...calls.map((call) => ({ type: 'llm.toolCall' as const, requestId, call })),
    ];
    let dueMs = atMs + afterMs;
    for (const piece of pieces) {
      this.#send(dueMs, piece);
      dueMs += gapMs;
    }
    if (ends === 'done') this.#send(dueMs, { type: 'llm.done', requestId });
    else if (ends === 'fails') this.#send(dueMs, { type: 'llm.failed', requestId, reason: 'scripted failure' });
  }

  /** The turn has ended: the speculative request becomes the answer. */
  confirm(requestId: number): void {
    this.#unconfirmed.delete(requestId);
  }

  cancel(requestId: number, atMs: number): void {
    const request = this.requests.find((candidate) => candidate.requestId === requestId);
    if (request === undefined) return;
    request.cancelledMs ??= atMs;
    const reply = this.#unconfirmed.get(requestId);
    if (reply === undefined) return;
    // A discarded speculation does not use up the script.
    this.#unconfirmed.delete(requestId);
    this.contradicted.push(request);
    this.requests.splice(this.requests.indexOf(request), 1);
    if (reply !== UNSCRIPTED) this.#script.unshift(reply);
  }

  /** Whether a request still delivers its reply: it exists and is not cancelled. */
  isLive(requestId: number): boolean {
    return this.requests.some((request) => request.requestId === requestId && request.cancelledMs === null);
  }

  #add(reply: Reply): this {
    this.#script.push(reply);
    return this;
  }

  #call({ name, args = {}, id }: ScriptedCall): ToolCall {
    const callId = id ?? `call-${String(++this.#calls)}`;
    return { id: callId, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
  }
}

const UNSCRIPTED: Reply = { text: UNSCRIPTED_REPLY, ends: 'done' };
