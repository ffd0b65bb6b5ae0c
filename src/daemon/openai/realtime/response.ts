import type { ConversationItem, ConversationItems, ItemPart } from './items.js';
import { newId, type ServerEvents } from './server-events.js';
import type { SessionConfig } from './session-config.js';

/** Tokens that the models have counted. */
export interface TokenCounts {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/** How a response ends. */
export type ResponseEnd =
  | { status: 'completed' }
  | { status: 'cancelled'; reason: 'turn_detected' | 'client_cancelled' }
  | { status: 'failed'; code: string; message: string };

export interface ResponseOptions {
  events: ServerEvents;
  items: ConversationItems;
  config: SessionConfig;
  conversationId: string;
  /** Of the `response.create`. */
  metadata: Readonly<Record<string, string>> | null;
  /** Whether the audio is in the events; over WebRTC it is in a track. */
  carriesAudio: boolean;
}

interface Message {
  item: ConversationItem;
  part: ItemPart;
  before: string | null;
  outputIndex: number;
  text: string;
  /** Milliseconds of its audio. */
  audioMs: number;
  audioDone: boolean;
}

/** One response: the agent's words with their audio, and its calls of the client's functions. */
export class RealtimeResponse {
  readonly id = newId('resp');
  readonly #options: ResponseOptions;
  readonly #output: ConversationItem[] = [];
  #message: Message | null = null;
  #isOver = false;

  /** Tells the client that it has begun. */
  constructor(options: ResponseOptions) {
    this.#options = options;
    options.events.send('response.created', { response: this.#wire('in_progress', null, null) });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isEmpty(): boolean {
    return this.#output.length === 0;
  }

  get hasCalls(): boolean {
    return this.#output.some(({ type }) => type === 'function_call');
  }

  /** The item that is being spoken; null = none yet. */
  get spoken(): { id: string; audioMs: number } | null {
    return this.#message === null ? null : { id: this.#message.item.id, audioMs: this.#message.audioMs };
  }

  /** More of the agent's words. */
  words(delta: string): void {
    if (delta === '') return;
    const message = this.#messageNow();
    message.text += delta;
    const isText = this.#options.config.modality === 'text';
    this.#send(isText ? 'response.output_text.delta' : 'response.output_audio_transcript.delta', message, { delta });
  }

  /** The audio of these words; `bytes` is null where it is not in the events. */
  audio(bytes: Buffer | null, ms: number): void {
    if (this.#options.config.modality === 'text') return;
    const message = this.#messageNow();
    message.audioMs += ms;
    if (bytes !== null) this.#send('response.output_audio.delta', message, { delta: bytes.toString('base64') });
  }

  /** The model calls a function of the client. */
  call({ callId, name, args }: { callId: string; name: string; args: string }): void {
    const { events, items } = this.#options;
    const item: ConversationItem = {
      id: newId('item'),
      object: 'realtime.item',
      type: 'function_call',
      status: 'in_progress',
      name,
      call_id: callId,
      arguments: '',
    };
    const outputIndex = this.#output.push(item) - 1;
    const place = { response_id: this.id, output_index: outputIndex };
    events.send('response.output_item.added', Object.assign({ item }, place));
    const before = items.add(item);
    const arguments_ = Object.assign({ item_id: item.id, call_id: callId }, place);
    events.send('response.function_call_arguments.delta', Object.assign({ delta: args }, arguments_));
    item.arguments = args;
    item.status = 'completed';
    events.send('response.function_call_arguments.done', Object.assign({ name, arguments: args }, arguments_));
    events.send('response.output_item.done', Object.assign({ item }, place));
    items.done(item, before);
  }

  /**
   * Ends it.
   * @param heard what the user has heard of the words, where that is less; default all
   */
  end(end: ResponseEnd, usage: TokenCounts, heard?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endMessage(end.status === 'completed' ? 'completed' : 'incomplete', heard);
    this.#options.events.send('response.done', { response: this.#wire(end.status, detailsOf(end), usage) });
  }

  #endMessage(status: 'completed' | 'incomplete', heard: string | undefined): void {
    const message = this.#message;
    if (message === null) return;
    const { events, items, config, carriesAudio } = this.#options;
    const { item, part } = message;
    const text = heard ?? message.text;
    if (config.modality === 'text') {
      part.text = text;
      this.#send('response.output_text.done', message, { text });
    } else {
      part.transcript = text;
      if (carriesAudio) this.#send('response.output_audio.done', message, {});
      this.#send('response.output_audio_transcript.done', message, { transcript: text });
    }
    this.#send('response.content_part.done', message, { part: wirePart(part) });
    item.status = status;
    const place = { response_id: this.id, output_index: message.outputIndex };
    events.send('response.output_item.done', Object.assign({ item }, place));
    items.done(item, message.before);
  }

  #messageNow(): Message {
    if (this.#message !== null) return this.#message;
    const { events, items, config } = this.#options;
    const part: ItemPart =
      config.modality === 'text' ? { type: 'output_text', text: '' } : { type: 'output_audio', transcript: '' };
    const item: ConversationItem = {
      id: newId('item'),
      object: 'realtime.item',
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
    };
    const outputIndex = this.#output.push(item) - 1;
    events.send('response.output_item.added', { response_id: this.id, output_index: outputIndex, item });
    const before = items.add(item);
    const message = { item, part, before, outputIndex, text: '', audioMs: 0, audioDone: false };
    this.#message = message;
    this.#send('response.content_part.added', message, { part: wirePart(part) });
    item.content = [part];
    return message;
  }

  #send(type: string, { item, outputIndex }: Message, more: object): void {
    const place = { response_id: this.id, item_id: item.id, output_index: outputIndex, content_index: 0 };
    this.#options.events.send(type, Object.assign(place, more));
  }

  #wire(status: string, details: object | null, usage: TokenCounts | null): object {
    const { config, conversationId, metadata, events } = this.#options;
    const both = {
      object: 'realtime.response',
      id: this.id,
      status,
      status_details: details,
      output: this.#output,
      conversation_id: conversationId,
      metadata,
      usage: usage === null ? null : wireUsage(usage),
    };
    const shape = config.wire(events.isBeta) as Readonly<Record<string, unknown>>;
    if (events.isBeta) return Object.assign(both, pick(shape, ['modalities', 'voice', 'output_audio_format']));
    const output = { format: (shape['audio'] as { output: { format: object } }).output.format, voice: config.voice };
    return Object.assign(both, {
      output_modalities: [config.modality],
      max_output_tokens: 'inf',
      audio: { output },
    });
  }
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

/** Parts of events have the short names of the types. */
function wirePart(part: ItemPart): object {
  return part.type === 'output_text'
    ? { type: 'text', text: part.text }
    : { type: 'audio', transcript: part.transcript };
}

function detailsOf(end: ResponseEnd): object | null {
  if (end.status === 'completed') return null;
  if (end.status === 'cancelled') return { type: 'cancelled', reason: end.reason };
  return { type: 'failed', error: { type: 'server_error', code: end.code, message: end.message } };
}

function wireUsage({ promptTokens, cachedTokens, completionTokens }: TokenCounts): object {
  return {
    total_tokens: promptTokens + completionTokens,
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    input_token_details: { text_tokens: promptTokens, audio_tokens: 0, image_tokens: 0, cached_tokens: cachedTokens },
    output_token_details: { text_tokens: completionTokens, audio_tokens: 0 },
  };
}
