import type { ParleyError } from '../../../../base/errors.js';
import type { LlmPiece } from '../../llm.js';
import { Mailbox } from '../../../mailbox.js';
import { PcmBytes } from '../../../tts/pcm.js';
import { type JsonObject, numberOf, objectOf, textOf } from '../../../wire/json.js';
import { type LineListener, type RealtimeSocket, realtimeError } from './realtime-socket.js';
import { REALTIME_RATE_HZ } from './session-settings.js';

export interface RealtimeAnswerOptions {
  provider: string;
  secrets: readonly string[];
  line: RealtimeSocket;
  /** Identifies the response; the server returns it as metadata. */
  id: string;
  /** The tool that the answer has to call; null = no restriction. */
  requiredTool: string | null;
  /** The response is over, or the server has confirmed its cancellation. Called once. */
  onOver: () => void;
}

/** A spoken item of the answer, and the position of its audio within the answer, in samples. */
interface SpokenItem {
  id: string;
  start: number;
  length: number;
}

const SAMPLES_PER_MS = REALTIME_RATE_HZ / 1000;

/** One response of a Realtime session: converts the server's events to pieces of a reply. */
export class RealtimeAnswer implements LineListener {
  /** The pieces of the reply. Leaving the iterator early cancels the response. */
  readonly pieces: Mailbox<LlmPiece>;
  readonly #options: RealtimeAnswerOptions;
  readonly #spoken: SpokenItem[] = [];
  readonly #begun: string[] = [];
  readonly #pcm = new PcmBytes();
  readonly #createEvent: string;
  readonly #unlisten: () => void;
  #responseId: string | null = null;
  #samples = 0;
  /** The response has not been cancelled. */
  #wanted = true;
  /** How much of it the user heard; null = all, as far as is known. */
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

  /** Cancels the response. It is over when the server confirms. Idempotent. */
  cancel(): void {
    if (this.#over || !this.#wanted) return;
    this.#wanted = false;
    // Before the response has an id: cancels the one that is running in the conversation.
    const which = this.#responseId === null ? {} : { response_id: this.#responseId };
    this.#options.line.send({ type: 'response.cancel', ...which });
  }

  /** Ends the wait: the server does not confirm that the response is over. */
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
    // Audio of a truncated answer is beyond what the user heard.
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

  /** Truncates the answer to what the user heard, in the server's conversation too. */
  #cut(heardMs: number): void {
    if (this.#heardSamples !== null) return;
    this.#heardSamples = Math.max(0, Math.floor(heardMs * SAMPLES_PER_MS));
    this.cancel();
    // While the response runs, the server may not have all of the audio that was heard; after it confirms the end, it
    // has.
    if (this.#over) this.#tellCut();
  }

  #tellCut(): void {
    const { line } = this.#options;
    const heard = this.#heardSamples;
    if (heard === null && !this.#wanted) {
      // Cancelled and not heard: removed from the conversation.
      for (const id of this.#begun) for (const event of line.items.removed(id)) line.send(event);
    }
    if (heard === null) return;
    for (const { id, start, length } of this.#spoken) {
      if (!line.items.has(id)) continue; // of a lost connection
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

/** Event names before general availability. */
const BETA_NAMES = /^response\.(audio_transcript|audio|text)(?=\.)/;

/** Usage of a response, including audio tokens. */
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
