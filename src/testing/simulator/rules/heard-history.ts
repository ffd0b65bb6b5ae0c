import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../../conversation/events.js';
import { historyMessages, INAUDIBLE } from '../../../conversation/speech/history.js';
import type { ConversationState } from '../../../conversation/state.js';
import { check, type Rule, type Step } from './rule.js';

interface Said {
  text: string;
  audible: boolean;
  /** Null while it is queued or playing; afterwards the characters that the line has played. */
  heardChars: number | null;
}

/** The history contains exactly what was heard, to the word. */
export class HeardHistory implements Rule {
  readonly #said = new Map<number, Said>();
  readonly #turns = new Map<number, string>();
  /** The turn that continues after a premature answer. */
  #continued: number | null = null;
  #machine = false;

  onStep({ event, position, effects, state }: Step): void {
    if ('utteranceId' in event) this.#end(event, position);
    for (const effect of effects) this.#see(effect, position);
    if (state.line === 'closed') this.#drop(position);
  }

  onPlayed(utteranceId: number): void {
    const said = this.#said.get(utteranceId);
    check(said !== undefined, 'only requested utterances play');
    check(said.heardChars === null, 'a finished utterance does not play again');
    said.audible = true;
  }

  onEnd({ history }: Readonly<ConversationState>): void {
    const parts = new Map<number, number | null>();
    for (const entry of history) {
      if (entry.role === 'assistant') for (const part of entry.parts) parts.set(part.utteranceId, part.heardChars);
    }
    for (const [id, { text, audible, heardChars }] of this.#said) {
      const noted = parts.get(id);
      check(noted !== undefined, 'the history contains every utterance', () => text);
      check(
        noted === heardChars,
        'the history holds what was heard',
        () => `${JSON.stringify(text)}: ${String(heardChars)} characters were heard, ${String(noted)} are noted`,
      );
      check(audible || heardChars === 0, 'audio that never played was not heard', () => text);
    }
    const turns = [...this.#turns.values()];
    const said = history.filter(({ role }) => role !== 'added' && role !== 'participant');
    const messages = historyMessages(said, { expected: false, keepInterrupted: true });
    const noted = messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []));
    // A machine's words are in the history, but they are not turns.
    const left = [...turns];
    const others = noted.filter((content) => content !== left[0] || left.shift() === undefined);
    check(
      left.length === 0 && (this.#machine || others.length === 0),
      "the turns are the user's messages",
      () => `${JSON.stringify(turns)}, but the history holds ${JSON.stringify(noted)}`,
    );
  }

  #end(event: Extract<ConversationEvent, { utteranceId: number }>, position: PlayoutPosition): void {
    const said = this.#said.get(event.utteranceId);
    if (said?.heardChars !== null) return;
    if (event.type === 'utterance.finished') said.heardChars = said.audible ? said.text.length : 0;
    else if (event.type === 'utterance.failed') said.heardChars = heardNow(event.utteranceId, position);
  }

  #see(effect: ConversationEffect, position: PlayoutPosition): void {
    if (effect.type === 'speak') {
      check(!this.#said.has(effect.utteranceId), 'utterances have unique ids');
      this.#said.set(effect.utteranceId, { text: effect.text, audible: false, heardChars: null });
    } else if (effect.type === 'speak.more') {
      this.#growth(effect.utteranceId, effect.text);
    } else if (effect.type === 'speak.cancel') {
      const said = this.#said.get(effect.utteranceId);
      if (said !== undefined) said.heardChars ??= heardNow(effect.utteranceId, position);
    } else if (effect.type === 'playout.drop') this.#drop(position);
    else if (effect.type === 'user.said') {
      check(this.#continued === null || this.#continued === effect.turn, 'a continued turn ends');
      this.#continued = null;
      this.#turns.delete(effect.turn);
      this.#turns.set(effect.turn, effect.text);
    } else if (effect.type === 'trace' && effect.name === 'voicemail.detected') {
      this.#machine = true;
      this.#continued = null; // a machine gets no answer
    } else if (effect.type === 'trace' && effect.name === 'turn.continued') {
      const turn = Number(effect.data['turn']);
      this.#continued = this.#turns.get(turn) === INAUDIBLE ? null : turn;
      this.#turns.delete(turn);
    }
  }

  /** A speech-to-speech model continues an utterance; if it was heard completely, it still is. */
  #growth(utteranceId: number, text: string): void {
    const said = this.#said.get(utteranceId);
    if (said === undefined) return;
    const wasWhole = said.heardChars === said.text.length;
    said.text += text;
    if (wasWhole) said.heardChars = said.text.length;
  }

  #drop(position: PlayoutPosition): void {
    for (const [id, said] of this.#said) said.heardChars ??= heardNow(id, position);
  }
}

function heardNow(utteranceId: number, position: PlayoutPosition): number {
  return position.utteranceId === utteranceId ? position.heardChars : 0;
}
