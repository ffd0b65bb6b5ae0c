import type { ConversationItem, ConversationItems, ItemPart } from './items.js';
import { newId, type ServerEvents } from './server-events.js';
import type { SessionConfig } from './session-config.js';

export interface UserSpeechOptions {
  events: ServerEvents;
  items: ConversationItems;
  config: SessionConfig;
  /** Milliseconds of audio that the client has sent so far. */
  audioMs: () => number;
}

/** In place of the number of a turn that its client has ended. */
const COMMITTED = -1;

/** What the user says, as items. A turn of the user is one item, however often the user pauses. */
export class UserSpeech {
  readonly #options: UserSpeechOptions;
  /** The item of the turn that goes on. */
  #id: string | null = null;
  #isSpeaking = false;
  /** The client knows that the user speaks. */
  #isTold = false;
  /** Words of a turn that its client has not ended yet. */
  #early = '';
  /** The item of the last turn, which may turn out not to be over. */
  #last: { turn: number; item: ConversationItem; part: ItemPart } | null = null;

  constructor(options: UserSpeechOptions) {
    this.#options = options;
  }

  /**
   * The user starts or stops speaking.
   * @param agentSpeaks clients drop the agent's audio when the user starts, so they hear of it only once it is a real
   * interruption
   */
  speaks(isSpeaking: boolean, agentSpeaks: boolean): void {
    this.#isSpeaking = isSpeaking;
    if (this.#options.config.turnDetection === null) return;
    if (isSpeaking && !agentSpeaks) this.#tellStarted();
    else if (!isSpeaking && this.#isTold) this.#tellStopped();
  }

  /** The user has interrupted the agent. */
  interrupts(): void {
    if (this.#isTold || this.#options.config.turnDetection === null) return;
    this.#tellStarted();
    if (!this.#isSpeaking) this.#tellStopped();
  }

  /** The client ends the turn itself. */
  commit(): void {
    const { item, part } = this.#added();
    this.#last = { turn: COMMITTED, item, part };
    if (this.#early !== '') this.#transcribed('');
  }

  /** The client starts its turn anew. */
  clear(): void {
    this.#early = '';
  }

  /** A turn is answered; the same turn again if it had not been over. */
  said(text: string, turn: number): void {
    if (this.#options.config.turnDetection === null) {
      if (this.#last?.turn === COMMITTED) this.#transcribed(text);
      else this.#early = joined(this.#early, text);
      return;
    }
    const isSame = this.#last?.turn === turn;
    const { item, part } = isSame && this.#last !== null ? this.#last : this.#added();
    this.#last = { turn, item, part };
    this.#transcribed(text);
  }

  /** The words of the last item. */
  #transcribed(text: string): void {
    const { events, config } = this.#options;
    if (this.#last === null) return;
    const { item, part } = this.#last;
    const words = joined(this.#early, text);
    this.#early = config.turnDetection === null ? words : '';
    if (config.transcription === null) return;
    part.transcript = words;
    const place = { item_id: item.id, content_index: 0 };
    events.send('conversation.item.input_audio_transcription.delta', Object.assign({ delta: words }, place));
    events.send(
      'conversation.item.input_audio_transcription.completed',
      Object.assign({ transcript: words, usage: { type: 'duration', seconds: 0 } }, place),
    );
  }

  #added(): { item: ConversationItem; part: ItemPart } {
    const { events, items } = this.#options;
    if (this.#isTold) this.#tellStopped();
    const part: ItemPart = { type: 'input_audio', transcript: null };
    const item: ConversationItem = {
      id: this.#id ?? newId('item'),
      object: 'realtime.item',
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [part],
    };
    this.#id = null;
    events.send('input_audio_buffer.committed', { previous_item_id: items.last, item_id: item.id });
    items.done(item, items.add(item));
    return { item, part };
  }

  #tellStarted(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#id ??= newId('item');
    const audio_start_ms = Math.round(this.#options.audioMs());
    this.#options.events.send('input_audio_buffer.speech_started', { audio_start_ms, item_id: this.#id });
  }

  #tellStopped(): void {
    this.#isTold = false;
    const audio_end_ms = Math.round(this.#options.audioMs());
    this.#options.events.send('input_audio_buffer.speech_stopped', { audio_end_ms, item_id: this.#id });
  }
}

function joined(...texts: string[]): string {
  return texts.filter((text) => text !== '').join(' ');
}
