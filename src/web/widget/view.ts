import { Keypad } from '../page/keypad.js';
import { Notice } from '../page/notice.js';
import { type Phase, PHASE_WORDS } from '../page/phase.js';
import { Transcript } from '../page/transcript.js';
import { ConsentCard } from './consent-card.js';
import { el, icon } from './dom.js';
import { Launcher } from './launcher.js';
import { DEFAULT_LOOKS, displayOf, type Looks } from './looks.js';
import { Meter } from './meter.js';
import type { WidgetOptions } from './options.js';

export interface ViewEvents {
  /** The button: calls or hangs up. */
  onTalk(): void;
  onMute(muted: boolean): void;
  onDigit(digit: string): void;
  /** A message was typed; never empty. */
  onText(text: string): void;
}

const SPOKEN_STATES = { idle: 'Call ended', connecting: 'Connecting', running: 'On the line' } as const;

/** All that is seen of a widget: the button, and the panel with what is said, typed and asked for. */
export class View {
  readonly root: HTMLElement;
  readonly transcript: Transcript;
  readonly notice: Notice;
  readonly consent = new ConsentCard();
  readonly forms = el('div', { class: 'forms' });
  readonly meter = new Meter();
  readonly #launcher: Launcher;
  readonly #chat = button('chat', 'Text and transcript', icon('chat'));
  readonly #panel = el('section', { class: 'panel', id: 'panel' });
  readonly #phase = el('span', { class: 'phase', 'aria-hidden': 'true' });
  readonly #state = el('span', { class: 'unseen', role: 'status' });
  readonly #mute = button('tool', 'Mute', icon('talk', 'slash'));
  readonly #keypadToggle = button('tool', 'Keypad', icon('dots'));
  readonly #hide = button('tool', 'Hide', icon('down'));
  readonly #keypad: Keypad;
  readonly #typing = typingForm();
  readonly #fills: boolean;
  #shownPhase: Phase = 'idle';

  constructor({ name, position }: WidgetOptions, events: ViewEvents) {
    this.#fills = position === 'fill';
    this.#launcher = new Launcher(DEFAULT_LOOKS, () => events.onTalk());
    const noticeText = el('p', { role: 'alert' });
    const noticeAction = button('notice-action', '');
    const noticeRoot = el('div', { class: 'notice' }, noticeText, noticeAction);
    noticeRoot.hidden = true;
    this.notice = new Notice(noticeRoot, noticeText, noticeAction);
    const list = el('ol', { class: 'transcript', role: 'log', 'aria-live': 'polite', 'aria-label': 'What is said' });
    const scroller = el(
      'div',
      { class: 'scroller', tabindex: '0', role: 'region', 'aria-label': 'Transcript' },
      list,
      el('p', { class: 'empty' }, 'What is said appears here. You can also type.'),
    );
    this.transcript = new Transcript(list, scroller);
    const keys = el('div', { class: 'keypad', id: 'keypad', role: 'group', 'aria-label': 'Keypad' });
    keys.hidden = true;
    this.#keypad = new Keypad(keys, this.#keypadToggle, (digit) => events.onDigit(digit));
    this.#keypadToggle.setAttribute('aria-controls', 'keypad');
    const bar = el('header', { class: 'head' }, this.meter.element, this.#phase);
    bar.append(this.#mute, this.#keypadToggle, this.#hide);
    this.#panel.setAttribute('aria-label', `Conversation with ${name ?? 'the agent'}`);
    this.#panel.append(bar, noticeRoot, this.consent.element, keys, scroller, this.forms, this.#typing);
    this.root = el('div', { class: 'widget', lang: 'en', 'data-position': position }, this.#panel);
    this.root.append(el('div', { class: 'dock' }, this.#state, this.#chat, this.#launcher.element));
    this.#chat.setAttribute('aria-controls', 'panel');
    this.#hide.hidden = this.#fills;
    this.#chat.hidden = this.#fills;
    this.#listen(events);
    this.open = this.#fills;
    this.phase = 'idle';
  }

  set looks(looks: Looks) {
    this.#launcher.looks = looks;
  }

  get open(): boolean {
    return !this.#panel.hidden;
  }

  set open(open: boolean) {
    const hadFocus = this.#panel.contains(focusIn(this.root));
    this.#panel.hidden = !open;
    this.#chat.setAttribute('aria-expanded', String(open));
    if (!open && hadFocus) this.#chat.focus();
  }

  /** Whether the text of what is said is shown. */
  set readable(readable: boolean) {
    this.root.classList.toggle('unread', !readable);
  }

  get phase(): Phase {
    return this.#shownPhase;
  }

  set phase(phase: Phase) {
    this.#shownPhase = phase;
    const display = displayOf(phase);
    const before = this.root.dataset['display'];
    this.root.dataset['display'] = display;
    this.root.dataset['phase'] = phase;
    this.#launcher.display = display;
    this.#phase.textContent = phase === 'idle' ? 'Not in a call' : PHASE_WORDS[phase];
    if (before !== undefined && before !== display) this.#state.textContent = SPOKEN_STATES[display];
    this.#keypadToggle.disabled = display !== 'running';
    if (display === 'running') return;
    this.#keypad.open = false;
    this.hasMicrophone = false;
    if (display === 'idle') this.meter.rest();
  }

  set hasMicrophone(has: boolean) {
    this.#mute.disabled = !has;
    this.#mute.setAttribute('aria-pressed', 'false');
  }

  set muted(muted: boolean) {
    this.#mute.setAttribute('aria-pressed', String(muted));
  }

  focusText(): void {
    this.#typing.querySelector('input')?.focus();
  }

  focusTalk(): void {
    this.#launcher.element.focus();
  }

  #listen(events: ViewEvents): void {
    this.#chat.addEventListener('click', () => {
      this.open = !this.open;
      if (this.open) this.focusText();
    });
    this.#hide.addEventListener('click', () => {
      this.open = false;
    });
    this.#mute.addEventListener('click', () => {
      const muted = this.#mute.getAttribute('aria-pressed') !== 'true';
      this.#mute.setAttribute('aria-pressed', String(muted));
      events.onMute(muted);
    });
    this.#typing.addEventListener('submit', (event) => {
      event.preventDefault();
      const input = this.#typing.querySelector('input');
      const text = input?.value.trim() ?? '';
      if (input === null || text === '') return;
      input.value = '';
      events.onText(text);
    });
  }
}

/** What has the focus in the tree that an element stands in. */
function focusIn(element: Node): Element | null {
  const root = element.getRootNode();
  return root instanceof ShadowRoot || root instanceof Document ? root.activeElement : null;
}

function button(className: string, label: string, ...children: Node[]): HTMLButtonElement {
  return el(
    'button',
    { class: className, type: 'button', ...(label !== '' && { 'aria-label': label, title: label }) },
    ...children,
  );
}

function typingForm(): HTMLFormElement {
  const attributes = { type: 'text', maxlength: '2000', placeholder: 'Type a message …', enterkeyhint: 'send' };
  return el(
    'form',
    { class: 'typing', autocomplete: 'off' },
    el('input', { ...attributes, 'aria-label': 'Message to the agent' }),
    el('button', { class: 'send', type: 'submit', 'aria-label': 'Send' }, icon('send')),
  );
}
