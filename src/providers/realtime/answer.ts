import type { ParleyError } from '../../base/errors.js';
import type { LlmPiece } from '../llm/llm.js';
import { Mailbox } from '../tts/flite/mailbox.js';
import { PcmBytes } from '../tts/pcm.js';
import { type JsonObject, numberOf, objectOf, textOf } from '../wire/json.js';
import type { LineListener, RealtimeSocket } from './realtime-socket.js';
import { realtimeError } from './realtime-error.js';
import { REALTIME_RATE_HZ } from './session-settings.js';

export interface RealtimeAnswerOptions {
  provider: string;
  secrets: readonly string[];
  line: RealtimeSocket;
  /** Tells this response from others; it comes back as metadata. */
  id: string;
  /** What the answer has to be a call of; null = it may be anything. */
  requiredTool: string | null;
  /** It is over, or nothing more is wanted of it and the server has confirmed that. Called once. */
  onOver: () => void;
}

/** A spoken item of the answer, and where its audio lies in the answer's. In samples. */
interface SpokenItem {
  id: string;
  start: number;
  length: number;
}

const SAMPLES_PER_MS = REALTIME_RATE_HZ / 1000;

/** One response of a Realtime session in its conversation: what the server sends of it, as pieces of a reply. */
export class RealtimeAnswer implements LineListener {
  /** What comes of it. Leaving it early cancels the response. */
  readonly pieces: Mailbox<LlmPiece>;
  readonly #options: RealtimeAnswerOptions;
  readonly #spoken: SpokenItem[] = [];
  readonly #begun: string[] = [];
  readonly #pcm = new PcmBytes();
  readonly #createEvent: string;
  readonly #unlisten: () => void;
  #responseId: string | null = null;
  #samples = 0;
  /** It was not cancelled. */
  #wanted = true;
  /** What was heard of it, where that is not all; null = all, as far as is known. */
  #heardSamples: number | null = null;
  #over = false;

  constructor(options: RealtimeAnswerOptions) {
    this.#options = options;
    const { line, id, requiredTool } = options;
    this.pieces = new Mailbox(() => this.cancel());
    this.#unlisten = line.listen(this);
    const choice = requiredTool === null ? {} : { tool_choice: { type: 'function', name: requiredTool } };
    this.#createEvent = line.send({ type: 'response.create', response: { metadata: { request: id }, ...choice } });
  }

  /** Nothing more is wanted of it. It is over when the server has confirmed that. May be called twice. */
  cancel(): void {
    if (this.#over || !this.#wanted) return;
    this.#wanted = false;
    // Before it has a name: the one that runs in the conversation is this one.
    const which = this.#responseId === null ? {} : { response_id: this.#responseId };
    this.#options.line.send({ type: 'response.cancel', ...which });
  }

  /** The server does not confirm that the response is over: nothing is waited for any more. */
  abandon(): void {
    this.#end();
  }

  onMessage(message: JsonObject): void {
    const type = (textOf(message['type']) ?? '').replace(BETA_NAMES, 'response.output_$1');
    if (type === 'error') {
      this.#onError(objectOf(message['error']));
      return;
    }
    if (type === 'response.created') {
      const response = objectOf(message['response']);
      if (objectOf(response?.['metadata'])?.['request'] === this.#options.id)
        this.#responseId = textOf(response?.['id']);
      return;
    }
    if (type === 'response.done') {
      const response = objectOf(message['response']);
      if (response !== null && textOf(response['id']) === this.#responseId) this.#onDone(response);
      return;
    }
    if (this.#responseId === null || textOf(message['response_id']) !== this.#responseId) return;
    this.#onPart(type, message);
  }

  onLost(error: ParleyError): void {
    this.#fail(error);
  }

  #onPart(type: string, message: JsonObject): void {
    const itemId = textOf(message['item_id']);
    switch (type) {
      case 'response.output_item.added':
        this.#onItem(objectOf(message['item']));
        return;
      case 'response.output_audio.delta':
        if (itemId !== null) this.#onAudio(itemId, textOf(message['delta']) ?? '');
        return;
      case 'response.output_audio_transcript.delta':
        this.#onWords(itemId, textOf(message['delta']) ?? '');
        return;
      case 'response.output_text.delta':
        if (itemId !== null) this.#options.line.items.says(itemId, textOf(message['delta']) ?? '');
        if (this.#wanted) this.pieces.push({ type: 'text', text: textOf(message['delta']) ?? '' });
        return;
      case 'response.output_item.done':
        this.#onItemDone(objectOf(message['item']));
    }
  }

  #onItem(item: JsonObject | null): void {
    const id = textOf(item?.['id']);
    if (id === null) return;
    this.#begun.push(id);
    const { items } = this.#options.line;
    const callId = textOf(item?.['call_id']);
    if (item?.['type'] === 'message') items.began(id, { kind: 'said' });
    else if (callId !== null) items.began(id, { kind: 'call', callId, name: textOf(item?.['name']) ?? '' });
  }

  #onAudio(itemId: string, delta: string): void {
    const samples = this.#pcm.push(Buffer.from(delta, 'base64'));
    const last = this.#spoken.at(-1);
    if (last?.id !== itemId) this.#spoken.push({ id: itemId, start: this.#samples, length: samples.length });
    else last.length += samples.length;
    this.#samples += samples.length;
    // Audio of an answer that was cut already is beyond what was heard of it.
    if (this.#wanted) this.#voice('', samples);
  }

  #onWords(itemId: string | null, text: string): void {
    if (itemId !== null) this.#options.line.items.says(itemId, text);
    if (this.#wanted) this.#voice(text, null);
  }

  #onItemDone(item: JsonObject | null): void {
    const [id, name] = [textOf(item?.['call_id']), textOf(item?.['name'])];
    if (item?.['type'] !== 'function_call' || id === null || name === null || !this.#wanted) return;
    if (item['status'] === 'incomplete') return;
    this.pieces.push({ type: 'toolCall', call: { id, name, arguments: textOf(item['arguments']) ?? '{}' } });
  }

  #voice(text: string, samples: Int16Array | null, isLast = false): void {
    this.pieces.push({
      type: 'voice',
      text,
      isLast,
      audio: samples === null ? null : { samples, sampleRateHz: REALTIME_RATE_HZ },
      cut: (heardMs) => this.#cut(heardMs),
    });
  }

  #onDone(response: JsonObject): void {
    const { provider, secrets } = this.#options;
    const usage = usageOf(objectOf(response['usage']));
    if (usage !== null) this.pieces.push(usage);
    if (this.#samples > 0 && this.#wanted) this.#voice('', null, true);
    const details = objectOf(response['status_details']);
    const status = textOf(response['status']);
    const isCutOff = status === 'incomplete' && details?.['reason'] === 'content_filter';
    if (this.#wanted && (status === 'failed' || isCutOff)) {
      const error = isCutOff ? { code: 'content_filter', message: 'the content filter withheld the answer' } : null;
      this.#fail(realtimeError(provider, error ?? objectOf(details?.['error']), secrets));
      return;
    }
    this.#end();
    this.#tellCut();
  }

  #onError(error: JsonObject | null): void {
    const cause = textOf(error?.['event_id']);
    if (cause === this.#createEvent) this.#fail(realtimeError(this.#options.provider, error, this.#options.secrets));
  }

  /** Only so much was heard: the rest goes, of the server's conversation, too. */
  #cut(heardMs: number): void {
    if (this.#heardSamples !== null) return;
    this.#heardSamples = Math.max(0, Math.floor(heardMs * SAMPLES_PER_MS));
    this.cancel();
    // While it runs, the server may not have all of what was heard; it has when it has confirmed the end.
    if (this.#over) this.#tellCut();
  }

  #tellCut(): void {
    const { line } = this.#options;
    const heard = this.#heardSamples;
    if (heard === null && !this.#wanted) {
      // Nobody wanted it, and nobody says that they heard some of it: it was never said.
      for (const id of this.#begun) for (const event of line.items.removed(id)) line.send(event);
    }
    if (heard === null) return;
    for (const { id, start, length } of this.#spoken) {
      if (!line.items.has(id)) continue; // of a connection that was lost
      if (heard <= start) for (const event of line.items.removed(id)) line.send(event);
      else if (heard < start + length) {
        const audioEndMs = Math.floor((heard - start) / SAMPLES_PER_MS);
        line.send({ type: 'conversation.item.truncate', item_id: id, content_index: 0, audio_end_ms: audioEndMs });
      }
    }
  }

  #fail(error: ParleyError): void {
    if (this.#over) return;
    this.pieces.fail(error);
    this.#end();
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#unlisten();
    this.pieces.close();
    this.#options.onOver();
  }
}

/** What the API called its events before it was generally available. */
const BETA_NAMES = /^response\.(audio_transcript|audio|text)(?=\.)/;

/** Counts of a response, those of audio among them. */
function usageOf(usage: JsonObject | null): Extract<LlmPiece, { type: 'usage' }> | null {
  const [promptTokens, completionTokens] = [numberOf(usage?.['input_tokens']), numberOf(usage?.['output_tokens'])];
  if (promptTokens === null || completionTokens === null) return null;
  const input = objectOf(usage?.['input_token_details']);
  const cached = objectOf(input?.['cached_tokens_details']);
  return {
    type: 'usage',
    promptTokens,
    completionTokens,
    cachedTokens: numberOf(input?.['cached_tokens']) ?? 0,
    audio: {
      promptTokens: numberOf(input?.['audio_tokens']) ?? 0,
      cachedTokens: numberOf(cached?.['audio_tokens']) ?? 0,
      completionTokens: numberOf(objectOf(usage?.['output_token_details'])?.['audio_tokens']) ?? 0,
    },
  };
}
