import type { TalkTurnTimes } from '../../transports/talk-protocol.js';
import { make } from './elements.js';
import { turnTimesElement } from './turn-times.js';
import { type HeardWords, withWords } from './words.js';

/** Closer to the end than this, the view follows what is said. */
const FOLLOW_WITHIN_PX = 40;

interface UserBubble {
  element: HTMLElement;
  words: HeardWords;
}

/** What both sides say, as it is said. */
export class Transcript {
  readonly #list: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #userName: string;
  #agentName = 'Agent';
  /** The bubbles that still change. */
  #user: UserBubble | null = null;
  #agent: { element: HTMLElement; text: HTMLElement; cut: boolean; after: UserBubble | null } | null = null;
  #keyed: HTMLElement | null = null;
  #lastAnswer: HTMLElement | null = null;
  /** Whether the end is in view: then it stays there. */
  #following = true;

  /** @param userName what the user is called */
  constructor(list: HTMLElement, scroller: HTMLElement, userName = 'You') {
    this.#userName = userName;
    this.#list = list;
    this.#scroller = scroller;
    scroller.addEventListener('scroll', () => {
      const { scrollTop, scrollHeight, clientHeight } = scroller;
      this.#following = scrollHeight - scrollTop - clientHeight < FOLLOW_WITHIN_PX;
    });
    const observer = new ResizeObserver(() => {
      this.#follow();
    });
    observer.observe(scroller);
    observer.observe(list);
  }

  /** A new call begins. `note` tells it from what was said before. */
  begin(agentName: string, note = 'New call'): void {
    this.#agentName = agentName;
    this.#closeUser();
    this.#agent = null;
    this.#lastAnswer = null;
    if (this.#list.childElementCount > 0) this.note(note);
  }

  /** What was heard of the user: replaces what was taken for it before. */
  user(text: string, isFinal: boolean): void {
    if (text.trim() === '') return;
    this.#dropUnheard();
    this.#user ??= {
      element: this.#bubble('user', this.#userName),
      words: { settled: '', latest: '', isFinal: false },
    };
    this.#user.words = withWords(this.#user.words, text, isFinal);
    const { element, words } = this.#user;
    element.setAttribute('aria-busy', String(!words.isFinal));
    const body = element.querySelector('.text');
    const latest = make('span', words.isFinal ? '' : 'interim', words.latest);
    body?.replaceChildren(...(words.settled === '' ? [latest] : [`${words.settled} `, latest]));
  }

  /** What the user typed. */
  typed(text: string): void {
    this.#dropUnheard();
    this.#closeUser();
    this.#bubble('user', 'You, typing').querySelector('.text')?.append(text);
    this.#following = true;
  }

  /** A key that the user pressed; those in a row stand together. */
  keyed(digit: string): void {
    if (this.#keyed !== this.#list.lastElementChild) this.#keyed = null;
    if (this.#keyed === null) {
      this.#dropUnheard();
      this.#closeUser();
      this.#keyed = this.#bubble('user', 'You, on the keypad');
    }
    this.#keyed.querySelector('.text')?.append(digit);
    this.#following = true;
  }

  /** What the agent says, from the beginning of its answer. */
  agent(text: string, isFinal: boolean): void {
    if (!isFinal) this.#dropUnheard();
    if (this.#agent === null) {
      const after = this.#user;
      this.#closeUser();
      const element = this.#bubble('agent', this.#agentName);
      this.#agent = { element, text: element.querySelector('.text') as HTMLElement, cut: false, after };
      this.#lastAnswer = element;
    }
    const { element, text: body, cut } = this.#agent;
    const shown = body.textContent;
    if (text.startsWith(shown)) body.append(make('span', 'fresh', text.slice(shown.length)));
    else body.textContent = text;
    element.setAttribute('aria-busy', String(!isFinal));
    if (isFinal) {
      if (cut) markCut(element);
      this.#agent = null;
    }
  }

  /** The agent is cut off; what was heard of its answer comes as its final text, if anything was. */
  interrupted(): void {
    if (this.#agent !== null) this.#agent.cut = true;
  }

  /** What the user said was no turn of its own: what they say next is another. */
  falseAlarm(): void {
    this.#closeUser();
  }

  /** How long the latest answer took. */
  times(times: TalkTurnTimes): void {
    const element = turnTimesElement(times);
    if (element !== null) this.#lastAnswer?.append(element);
  }

  /** A line between the bubbles. */
  note(text: string): void {
    this.#list.append(make('li', 'note', text));
  }

  /** Nothing of what is open will change any more. */
  end(): void {
    this.#dropUnheard();
    this.#closeUser();
    this.#agent?.element.removeAttribute('aria-busy');
    this.#agent = null;
  }

  #bubble(side: 'user' | 'agent', name: string): HTMLElement {
    const element = make('li', `bubble ${side}`);
    element.append(make('span', 'name', name), make('p', 'text'));
    this.#list.append(element);
    return element;
  }

  #closeUser(): void {
    this.#user?.element.removeAttribute('aria-busy');
    this.#user?.element.querySelector('.interim')?.classList.remove('interim');
    this.#user = null;
  }

  /** An answer that was cut off before a word of it was heard came too soon: the user's turn goes on. */
  #dropUnheard(): void {
    if (this.#agent?.cut !== true) return;
    this.#agent.element.remove();
    this.#user ??= this.#agent.after;
    this.#agent = null;
  }

  #follow(): void {
    if (this.#following) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }
}

function markCut(element: HTMLElement): void {
  element.classList.add('cut');
  element.append(make('span', 'tag', 'interrupted'));
}
