import type { ChatMessage, ToolCall, ToolSpec } from '../agent/chat.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';

/** What a model can tell. */
export type ModelEvent = Extract<ConversationEvent, { requestId: number }>;

/** How a scripted reply comes. */
export interface ReplyTiming {
  /** From the request to the first piece. Default 200 ms. */
  afterMs?: number;
  /** Between pieces; a piece is a word. Default 20 ms. */
  gapMs?: number;
}

export interface ScriptedCall {
  name: string;
  /** Default `{}`. A string is taken as it is, broken or not. */
  args?: Readonly<Record<string, unknown>> | string;
  /** Default: `call-1`, `call-2` … */
  id?: string;
}

/** A request that the model was given. */
export interface StageRequest {
  requestId: number;
  atMs: number;
  messages: readonly ChatMessage[];
  tools: readonly ToolSpec[];
  cancelledMs: number | null;
  /** It was asked before the turn was over. */
  speculative: boolean;
}

interface Reply extends ReplyTiming {
  text?: string;
  calls?: readonly ToolCall[];
  ends: 'done' | 'fails' | 'stalls';
}

/** Said to a request for which the script holds nothing. */
export const UNSCRIPTED_REPLY = 'All right.';

/** The model of a scenario: answers each request with the next reply of its script. */
export class StageModel {
  readonly requests: StageRequest[] = [];
  /** Requests that were made before the turn was over, and contradicted. Their replies are given to the next ones. */
  readonly contradicted: StageRequest[] = [];
  readonly #send: (atMs: number, event: ModelEvent) => void;
  readonly #script: Reply[] = [];
  readonly #unconfirmed = new Map<number, Reply>();
  #calls = 0;
  #ownVoice = false;

  constructor(send: (atMs: number, event: ModelEvent) => void) {
    this.#send = send;
  }

  /** It speaks itself: its words are its own voice's. */
  speaksItself(): this {
    this.#ownVoice = true;
    return this;
  }

  says(text: string, timing: ReplyTiming = {}): this {
    return this.#add({ ...timing, text, ends: 'done' });
  }

  /** Calls tools, side by side, after `saying` something. */
  calls(calls: readonly ScriptedCall[], options: ReplyTiming & { saying?: string } = {}): this {
    const { saying, ...timing } = options;
    return this.#add({
      ...timing,
      ...(saying !== undefined && { text: saying }),
      calls: calls.map((call) => this.#call(call)),
      ends: 'done',
    });
  }

  saysNothing(timing: ReplyTiming = {}): this {
    return this.#add({ ...timing, ends: 'done' });
  }

  /** Reports a failure, after `saying` something. */
  fails(options: ReplyTiming & { saying?: string } = {}): this {
    const { saying, ...timing } = options;
    return this.#add({ ...timing, ...(saying !== undefined && { text: saying }), ends: 'fails' });
  }

  /** Never goes on, after `saying` something. */
  stalls(options: ReplyTiming & { saying?: string } = {}): this {
    const { saying, ...timing } = options;
    return this.#add({ ...timing, ...(saying !== undefined && { text: saying }), ends: 'stalls' });
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

  /** The turn was over: what was asked speculatively is the answer. */
  confirm(requestId: number): void {
    this.#unconfirmed.delete(requestId);
  }

  cancel(requestId: number, atMs: number): void {
    const request = this.requests.find((candidate) => candidate.requestId === requestId);
    if (request === undefined) return;
    request.cancelledMs ??= atMs;
    const reply = this.#unconfirmed.get(requestId);
    if (reply === undefined) return;
    // What nobody was to hear does not use up the script.
    this.#unconfirmed.delete(requestId);
    this.contradicted.push(request);
    this.requests.splice(this.requests.indexOf(request), 1);
    if (reply !== UNSCRIPTED) this.#script.unshift(reply);
  }

  /** What a request still has to say is said to nobody once it is cancelled. */
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
