import type { TalkTurnTimes } from '../../transports/talk-protocol.js';
import { el } from '../shared/elements.js';
import { turnTimesElement } from './turn-times.js';

/** Within this distance of the end the view follows the conversation. */
const FOLLOW_WITHIN_PX = 40;

/** The user's words from the talk socket. */
export interface UserWords {
  text: string;
  isFinal: boolean;
  /** Both count up during the call. A segment has one text, the latest, and belongs to one turn. */
  turn: number;
  segment: number;
}

interface UserBubble {
  element: HTMLElement;
  turn: number;
  segments: Map<number, { text: string; isFinal: boolean }>;
}

interface AgentBubble {
  element: HTMLElement;
  text: HTMLElement;
  /** It was interrupted. Its heard part has not arrived yet. */
  cut: boolean;
  isFinal: boolean;
}

/** A message in the models' format. */
export interface SpokenMessage {
  role: 'user' | 'assistant';
  content: string;
}

/**
 * Elements for a transcript: a list in a scrolling log, which screen readers read out. The list keeps its own role,
 * because a list with another role has no items.
 * @param empty shown while the transcript is empty
 */
export function transcriptElements(
  className: string,
  ...empty: HTMLElement[]
): { list: HTMLElement; scroller: HTMLElement } {
  const list = el('ol', { class: 'transcript' });
  const attributes = { class: className, tabindex: '0', role: 'log', 'aria-label': 'Transcript' };
  return { list, scroller: el('div', attributes, list, ...empty) };
}

/**
 * The live transcript of both sides. Each turn of the user and each answer has one bubble, found by its number: late
 * words change their bubble, wherever it is.
 */
export class Transcript {
  readonly #list: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #userName: string;
  #agentName = 'Agent';
  readonly #turns = new Map<number, UserBubble>();
  readonly #segments = new Map<number, UserBubble>();
  readonly #answers = new Map<number, AgentBubble>();
  #latestAnswer: AgentBubble | null = null;
  #keyed: HTMLElement | null = null;
  /** Whether the end is visible: then the view follows it. */
  #following = true;
  #top = 0;

  /** @param userName the user's name */
  constructor(list: HTMLElement, scroller: HTMLElement, userName = 'You') {
    this.#userName = userName;
    this.#list = list;
    this.#scroller = scroller;
    scroller.addEventListener('scroll', () => {
      const { scrollTop, scrollHeight, clientHeight } = scroller;
      // New content also moves the end away: only scrolling up by the reader counts.
      if (scrollHeight - scrollTop - clientHeight < FOLLOW_WITHIN_PX) this.#following = true;
      else if (scrollTop < this.#top) this.#following = false;
      this.#top = scrollTop;
    });
    const observer = new ResizeObserver(() => {
      this.#follow();
    });
    observer.observe(scroller);
    observer.observe(list);
  }

  /** A new call starts. `note` separates it from earlier calls. */
  begin(agentName: string, note = 'New call'): void {
    this.#agentName = agentName;
    this.end();
    this.#turns.clear();
    this.#segments.clear();
    this.#answers.clear();
    this.#latestAnswer = null;
    if (this.#list.childElementCount > 0) this.note(note);
  }

  /** The user's words in a segment: replaces earlier words of it. */
  user({ text, isFinal, turn, segment }: UserWords): void {
    if (text.trim() === '') return;
    this.#dropUnheard();
    const bubble = this.#bubbleOf(turn);
    this.#move(segment, bubble);
    bubble.segments.set(segment, { text: text.trim(), isFinal });
    show(bubble);
  }

  /** All words of the user in a turn. */
  userTurn(turn: number, text: string): void {
    this.#dropUnheard();
    const bubble = this.#bubbleOf(turn);
    bubble.segments.clear();
    bubble.segments.set(-1, { text: text.trim(), isFinal: true });
    show(bubble);
  }

  /** A message that the user typed. */
  typed(text: string): void {
    this.#dropUnheard();
    this.#settle();
    this.#bubble('user', 'You, typing').querySelector('.text')?.append(text);
    this.#following = true;
  }

  /** A key that the user pressed; consecutive keys share a bubble. */
  keyed(digit: string): void {
    if (this.#keyed !== this.#list.lastElementChild) this.#keyed = null;
    if (this.#keyed === null) {
      this.#dropUnheard();
      this.#settle();
      this.#keyed = this.#bubble('user', 'You, on the keypad');
    }
    this.#keyed.querySelector('.text')?.append(digit);
    this.#following = true;
  }

  /** The agent's words, from the beginning of an answer. */
  agent(text: string, isFinal: boolean, answer: number): void {
    let bubble = this.#answers.get(answer);
    if (bubble === undefined) {
      this.#dropUnheard();
      this.#settle();
      const element = this.#bubble('agent', this.#agentName);
      bubble = { element, text: element.querySelector('.text') as HTMLElement, cut: false, isFinal: false };
      this.#answers.set(answer, bubble);
      this.#latestAnswer = bubble;
    }
    const { element, text: body, cut } = bubble;
    if (bubble.isFinal) return;
    const shown = body.textContent;
    if (text.startsWith(shown)) body.append(el('span', { class: 'fresh' }, text.slice(shown.length)));
    else body.textContent = text;
    bubble.isFinal = isFinal;
    element.setAttribute('aria-busy', String(!isFinal));
    if (isFinal && cut) markCut(element);
  }

  /** The agent was interrupted; the heard part of its answer arrives as its final text, if there is any. */
  interrupted(): void {
    if (this.#latestAnswer?.isFinal === false) this.#latestAnswer.cut = true;
  }

  /** The response time of the latest answer. */
  times(times: TalkTurnTimes): void {
    const element = turnTimesElement(times);
    if (element !== null) this.#latestAnswer?.element.append(element);
  }

  /** A line between the bubbles. */
  note(text: string): void {
    this.#list.append(el('li', { class: 'note' }, text));
  }

  /** The open bubbles do not change any more. */
  end(): void {
    this.#dropUnheard();
    this.#settle();
    this.#latestAnswer?.element.removeAttribute('aria-busy');
  }

  /** All messages in order: spoken, typed and pressed. */
  get messages(): SpokenMessage[] {
    return [...this.#list.querySelectorAll('.bubble')].flatMap((bubble) => {
      const content = bubble.querySelector('.text')?.textContent.trim() ?? '';
      const role = bubble.classList.contains('agent') ? 'assistant' : 'user';
      return content === '' ? [] : [{ role, content } as const];
    });
  }

  /** The same as text, with names. */
  get text(): string {
    const lines = [...this.#list.children].map((element) => {
      const name = element.querySelector('.name')?.textContent;
      const said = element.querySelector('.text')?.textContent.trim();
      return name === undefined || said === undefined ? `-- ${element.textContent}` : `${name}: ${said}`;
    });
    return lines.join('\n');
  }

  #bubble(side: 'user' | 'agent', name: string, before: Element | null = null): HTMLElement {
    const element = el('li', { class: `bubble ${side}` });
    element.append(el('span', { class: 'name' }, name), el('p', { class: 'text' }));
    this.#list.insertBefore(element, before);
    return element;
  }

  /** The bubble of a turn; a new one is inserted before later turns. */
  #bubbleOf(turn: number): UserBubble {
    const known = this.#turns.get(turn);
    if (known !== undefined) return known;
    const later = [...this.#turns.values()].filter((bubble) => bubble.turn > turn);
    const next = later.reduce<UserBubble | null>((a, b) => (a !== null && a.turn < b.turn ? a : b), null);
    const bubble = { element: this.#bubble('user', this.#userName, next?.element), turn, segments: new Map() };
    this.#turns.set(turn, bubble);
    return bubble;
  }

  /** A segment moves to this bubble: its turn may turn out to be the previous one, which had not been over. */
  #move(segment: number, bubble: UserBubble): void {
    const before = this.#segments.get(segment);
    this.#segments.set(segment, bubble);
    if (before === undefined || before === bubble) return;
    before.segments.delete(segment);
    if (before.segments.size > 0) {
      show(before);
      return;
    }
    before.element.remove();
    this.#turns.delete(before.turn);
  }

  /** The shown words of the user become final. */
  #settle(): void {
    for (const { element } of this.#turns.values()) {
      element.removeAttribute('aria-busy');
      for (const words of element.querySelectorAll('.interim')) words.classList.remove('interim');
    }
  }

  /** An answer that was interrupted before any of it was heard came too soon: the user's turn continues. */
  #dropUnheard(): void {
    const answer = this.#latestAnswer;
    if (answer === null || !answer.cut || answer.isFinal) return;
    answer.element.remove();
    answer.isFinal = true;
    this.#latestAnswer = null;
  }

  #follow(): void {
    if (!this.#following) return;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#top = this.#scroller.scrollTop;
  }
}

/** Shows the words of a turn, in the order of its segments. */
function show({ element, segments }: UserBubble): void {
  const words = [...segments].sort(([a], [b]) => a - b).map(([, segment]) => segment);
  const isOpen = words.some(({ isFinal }) => !isFinal);
  element.setAttribute('aria-busy', String(isOpen));
  const parts = words.flatMap(({ text, isFinal }, at) => [
    ...(at === 0 ? [] : [' ']),
    isFinal ? el('span', {}, text) : el('span', { class: 'interim' }, text),
  ]);
  element.querySelector('.text')?.replaceChildren(...parts);
}

function markCut(element: HTMLElement): void {
  element.classList.add('cut');
  element.append(el('span', { class: 'tag' }, 'interrupted'));
}
