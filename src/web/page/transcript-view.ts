import type { TranscriptEntry, TurnTimes } from '@parley-voice/web';
import { el } from '../shared/elements.js';

/** Within this distance of the end the view follows the conversation. */
const FOLLOW_WITHIN_PX = 40;

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

type TimesOf = (times: TurnTimes) => HTMLElement | null;

/** Shows the transcripts of calls, one after the other: one bubble for each entry, and notes between them. */
export class TranscriptView {
  readonly #list: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #timesOf: TimesOf | null;
  readonly #userName: string;
  #agentName = 'Agent';
  /** The bubbles of the current call, by the entry's id. */
  readonly #bubbles = new Map<number, { entry: TranscriptEntry; element: HTMLElement }>();
  /** Whether the end is visible: then the view follows it. */
  #following = true;
  #top = 0;

  /**
   * @param timesOf shows the response times of an answer; null = they are not shown: they are the operator's business
   * @param userName the user's name
   */
  constructor(list: HTMLElement, scroller: HTMLElement, timesOf: TimesOf | null, userName = 'You') {
    this.#timesOf = timesOf;
    this.#userName = userName;
    this.#list = list;
    this.#scroller = scroller;
    scroller.addEventListener('scroll', () => {
      const { scrollTop, scrollHeight, clientHeight } = scroller;
      // New content also moves the end away: only scrolling up by the reader counts.
      const fromEnd = scrollHeight - scrollTop - clientHeight;
      // Browsers scroll in steps: the first one up is near the end still.
      if (scrollTop < this.#top && fromEnd >= 1) this.#following = false;
      else if (fromEnd < FOLLOW_WITHIN_PX) this.#following = true;
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
    this.#bubbles.clear();
    if (this.#list.childElementCount > 0) this.note(note);
  }

  /** Shows the entries of the current call. New ones come after the notes so far, unless a later entry is shown. */
  show(entries: readonly TranscriptEntry[]): void {
    const ids = new Set(entries.map(({ id }) => id));
    for (const [id, { element }] of this.#bubbles) {
      if (ids.has(id)) continue;
      element.remove();
      this.#bubbles.delete(id);
    }
    let next: Element | null = null;
    for (const entry of entries.toReversed()) {
      const shown = this.#bubbles.get(entry.id);
      const element: HTMLElement = shown?.element ?? this.#bubble(entry, next);
      if (shown?.entry !== entry) {
        update(element, entry, shown?.entry ?? null);
        const times = entry.times === null || entry.times === shown?.entry.times ? null : this.#timesOf?.(entry.times);
        if (times != null) element.append(times);
        this.#bubbles.set(entry.id, { entry, element });
      }
      next = element;
    }
  }

  /** A line between the bubbles. */
  note(text: string): void {
    this.#list.append(el('li', { class: 'note' }, text));
  }

  /** All calls as text, with names. */
  get text(): string {
    const lines = [...this.#list.children].map((element) => {
      const name = element.querySelector('.name')?.textContent;
      const said = element.querySelector('.text')?.textContent.trim();
      return name === undefined || said === undefined ? `-- ${element.textContent}` : `${name}: ${said}`;
    });
    return lines.join('\n');
  }

  #bubble({ role, via }: TranscriptEntry, before: Element | null): HTMLElement {
    const element = el('li', { class: `bubble ${role}` });
    const user = via === 'speech' ? this.#userName : VIA_WORDS[via];
    element.append(
      el('span', { class: 'name' }, role === 'agent' ? this.#agentName : user),
      el('p', { class: 'text' }),
    );
    this.#list.insertBefore(element, before);
    if (via !== 'speech') this.#following = true;
    return element;
  }

  #follow(): void {
    if (!this.#following) return;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#top = this.#scroller.scrollTop;
  }
}

const VIA_WORDS = { text: 'You, typing', keys: 'You, on the keypad' } as const;

function update(element: HTMLElement, entry: TranscriptEntry, before: TranscriptEntry | null): void {
  element.setAttribute('aria-busy', String(!entry.isFinal));
  const body = element.querySelector('.text');
  if (entry.role === 'user') {
    const parts = entry.words.flatMap(({ text, isFinal }, at) => [
      ...(at === 0 ? [] : [' ']),
      el('span', isFinal ? {} : { class: 'interim' }, text),
    ]);
    body?.replaceChildren(...parts);
    return;
  }
  const shown = before?.text ?? '';
  if (!entry.text.startsWith(shown)) body?.replaceChildren(entry.text);
  else if (entry.text !== shown) body?.append(el('span', { class: 'fresh' }, entry.text.slice(shown.length)));
  if (entry.isInterrupted && before?.isInterrupted !== true) {
    element.classList.add('cut');
    element.append(el('span', { class: 'tag' }, 'interrupted'));
  }
}
