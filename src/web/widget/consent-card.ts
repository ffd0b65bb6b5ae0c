import { el } from './dom.js';

/** Asks the user to agree before the first call. */
export class ConsentCard {
  readonly element = el('div', { class: 'consent', role: 'group', 'aria-label': 'Before the call' });

  constructor() {
    this.element.hidden = true;
  }

  get asks(): boolean {
    return !this.element.hidden;
  }

  /** @param url more about it: an address of a page, or null */
  ask(text: string, url: string | null, onAnswer: (agreed: boolean) => void): void {
    const agree = el('button', { class: 'form-send', type: 'button' }, 'Agree and start');
    const decline = el('button', { class: 'form-skip', type: 'button' }, 'Not now');
    const words = el('p', { id: 'consent' }, text);
    if (url !== null) words.append(' ', el('a', { href: url, target: '_blank', rel: 'noopener' }, 'More about this'));
    agree.setAttribute('aria-describedby', 'consent');
    this.element.replaceChildren(words, el('div', { class: 'form-row' }, agree, decline));
    this.element.hidden = false;
    agree.focus();
    const answer = (agreed: boolean): void => {
      this.withdraw();
      onAnswer(agreed);
    };
    agree.addEventListener('click', () => answer(true));
    decline.addEventListener('click', () => answer(false));
  }

  withdraw(): void {
    this.element.hidden = true;
    this.element.replaceChildren();
  }
}
