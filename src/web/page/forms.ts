import type { CallAction } from '@parley-voice/web';
import { FormCard } from './form-card.js';

/** The open forms of the agent. */
export class Forms {
  readonly #root: HTMLElement;
  readonly #onResult: (id: string, value: unknown) => void;
  readonly #cards = new Map<string, FormCard>();

  constructor(root: HTMLElement, onResult: (id: string, value: unknown) => void) {
    this.#root = root;
    this.#onResult = onResult;
  }

  /** Shows or withdraws a form. Returns whether the action requests anything. */
  take({ id, type, data, withdrawn }: CallAction): boolean {
    if (type === undefined) return false;
    this.#remove(id);
    if (withdrawn === true) return true;
    if ((type !== 'webform' && type !== 'web_form') || data === undefined) {
      // A function for a custom client, which this page does not have.
      this.#onResult(id, { error: 'this page cannot do that' });
      return true;
    }
    const card = new FormCard(id, data, (value) => {
      this.#remove(id);
      this.#onResult(id, value);
    });
    this.#cards.set(id, card);
    this.#root.append(card.element);
    card.focus();
    return true;
  }

  /** The call is over. */
  clear(): void {
    for (const id of this.#cards.keys()) this.#remove(id);
  }

  #remove(id: string): void {
    const card = this.#cards.get(id);
    if (card === undefined) return;
    this.#cards.delete(id);
    card.element.remove();
  }
}
