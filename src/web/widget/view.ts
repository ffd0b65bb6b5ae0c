import { Keypad } from '../page/keypad.js';
import { Notice } from '../page/notice.js';
import { type Phase, PHASE_WORDS } from '../page/phase.js';
import { transcriptElements, TranscriptView } from '../page/transcript-view.js';
import { el } from '../shared/elements.js';
import {
  buttonName,
  buttonTitle,
  DEFAULT_LOOKS,
  type Display,
  displayOf,
  inkOn,
  type Looks,
  pictureAddress,
} from './looks.js';
import type { WidgetOptions } from './options.js';

/** Asks the user for consent before the first call. */
export class ConsentCard {
  readonly element = el('div', { class: 'consent', role: 'group', 'aria-label': 'Before the call' });

  constructor() {
    this.element.hidden = true;
  }

  get asks(): boolean {
    return !this.element.hidden;
  }

  /** @param url address of a page with details, or null */
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
    this.element.onkeydown = (event) => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      answer(false);
    };
    agree.addEventListener('click', () => answer(true));
    decline.addEventListener('click', () => answer(false));
  }

  withdraw(): void {
    this.element.hidden = true;
    this.element.replaceChildren();
  }
}

const ICONS: Readonly<Record<Display, IconName>> = { idle: 'talk', connecting: 'wait', running: 'hangup' };

/** The button that starts and ends calls, with the agent's embed settings. */
export class Launcher {
  readonly element: HTMLButtonElement;
  #looks: Looks;
  #display: Display = 'idle';

  constructor(looks: Looks, onClick: () => void) {
    this.element = el('button', { class: 'launcher', type: 'button' });
    this.element.addEventListener('click', onClick);
    this.#looks = looks;
    this.looks = looks;
  }

  set looks(looks: Looks) {
    this.#looks = looks;
    const { style } = this.element;
    // By CSSOM, because a Content Security Policy may forbid style attributes.
    style.cssText = looks.buttonCss ?? '';
    if (looks.background !== null) style.background = looks.background;
    if (looks.background !== null && style.color === '') style.color = inkOn(plainColour(looks.background));
    if (looks.size !== null) style.setProperty('--size', `${String(looks.size)}px`);
    this.#show();
  }

  set display(display: Display) {
    if (display === this.#display) return;
    this.#display = display;
    this.#show();
  }

  #show(): void {
    const display = this.#display;
    const title = buttonTitle(this.#looks, display);
    this.element.setAttribute('aria-label', buttonName(title, display));
    this.element.classList.toggle('bare', title === '');
    this.element.replaceChildren(this.#picture(display), el('span', { class: 'title' }, title));
  }

  #picture(display: Display): Element {
    const address = pictureAddress(this.#looks.icons[display]);
    if (address === null) return icon(ICONS[display]);
    const image = el('img', { class: 'icon', src: address, alt: '' });
    image.addEventListener('error', () => image.replaceWith(icon(ICONS[display])));
    return image;
  }
}

/** A colour as `#rrggbb` if possible; black for others, such as a gradient. */
function plainColour(background: string): string {
  const context = document.createElement('canvas').getContext('2d');
  if (context === null) return '';
  context.fillStyle = background;
  const { fillStyle } = context;
  return typeof fillStyle === 'string' ? fillStyle : '';
}

const BARS = 4;
/** Range of shown levels, in dB of full scale. */
const LOWEST_DB = -50;
const HIGHEST_DB = -12;

/** Bars that show the level of both sides: the agent's in colour, the user's in ink. */
export class Meter {
  readonly element = el('span', { class: 'meter', 'aria-hidden': 'true' });
  readonly #bars: HTMLElement[] = [];
  readonly #levels: number[] = Array.from({ length: BARS }, () => 0);

  constructor() {
    for (let at = 0; at < BARS; at++) this.#bars.push(el('i'));
    this.element.append(...this.#bars);
  }

  /** Adds levels, root mean squares from 0 to 1. */
  add(agent: number, user: number): void {
    this.element.classList.toggle('user', user > agent);
    this.#levels.unshift(heightOf(Math.max(agent, user)));
    this.#levels.length = BARS;
    this.#show();
  }

  /** Shows silence. */
  rest(): void {
    this.#levels.fill(0);
    this.#show();
  }

  #show(): void {
    for (const [at, bar] of this.#bars.entries()) {
      bar.style.transform = `scaleY(${(0.14 + 0.86 * (this.#levels[at] ?? 0)).toFixed(2)})`;
    }
  }
}

function heightOf(level: number): number {
  const db = 20 * Math.log10(Math.max(level, 1e-6));
  return Math.max(0, Math.min(1, (db - LOWEST_DB) / (HIGHEST_DB - LOWEST_DB)));
}

export interface ViewEvents {
  /** The button: starts or ends a call. */
  onTalk(): void;
  onMute(muted: boolean): void;
  onDigit(digit: string): void;
  /** A message was typed; never empty. */
  onText(text: string): void;
}

const SPOKEN_STATES = { idle: 'Call ended', connecting: 'Connecting', running: 'On the line' } as const;

/** The visible parts of a widget: the button, and the panel with transcript, input and forms. */
export class WidgetView {
  readonly root: HTMLElement;
  readonly transcript: TranscriptView;
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
    const nothing = el('p', { class: 'empty' }, 'What is said appears here. You can also type.');
    const { list, scroller } = transcriptElements('scroller', nothing);
    this.transcript = new TranscriptView(list, scroller, null);
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

  /** Whether the transcript is shown. */
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
    this.#showPhase();
    if (before !== undefined && before !== display) this.#state.textContent = SPOKEN_STATES[display];
    this.#keypadToggle.disabled = display !== 'running';
    if (display === 'running') return;
    this.#keypad.open = false;
    this.hasMicrophone = false;
    if (display === 'idle') this.meter.rest();
  }

  set hasMicrophone(has: boolean) {
    this.#mute.disabled = !has;
    this.muted = false;
  }

  set muted(muted: boolean) {
    this.#mute.setAttribute('aria-pressed', String(muted));
    this.#showPhase();
  }

  get #isMuted(): boolean {
    return this.#mute.getAttribute('aria-pressed') === 'true';
  }

  #showPhase(): void {
    const phase = this.#shownPhase;
    const words = phase === 'idle' ? 'Not in a call' : PHASE_WORDS[phase];
    this.#phase.textContent = phase === 'listening' && this.#isMuted ? 'Muted' : words;
  }

  focusText(): void {
    this.#typing.querySelector('input')?.focus();
  }

  focusTalk(): void {
    this.#launcher.element.focus();
  }

  #listen(events: ViewEvents): void {
    this.#panel.addEventListener('keydown', (event) => {
      // Escape first closes what is open in the panel, such as the keypad.
      if (event.key === 'Escape' && !event.defaultPrevented && !this.#fills) this.open = false;
    });
    this.#chat.addEventListener('click', () => {
      this.open = !this.open;
      if (this.open) this.focusText();
    });
    this.#hide.addEventListener('click', () => {
      this.open = false;
    });
    this.#mute.addEventListener('click', () => {
      const muted = !this.#isMuted;
      this.muted = muted;
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

/** The focused element in the same tree as an element. */
function focusIn(element: Node): Element | null {
  const root = element.getRootNode();
  return root instanceof ShadowRoot || root instanceof Document ? root.activeElement : null;
}

function button(className: string, label: string, ...children: Node[]): HTMLButtonElement {
  const name = label === '' ? null : label;
  return el('button', { class: className, type: 'button', 'aria-label': name, title: name }, ...children);
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

const SVG = 'http://www.w3.org/2000/svg';

/** Icons as paths in a square of 24. */
const PATHS = {
  talk: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3',
  hangup:
    'M3.2 14.6c-.5-1-.3-2.2.6-3 2.3-2 5.2-3.1 8.2-3.1s5.9 1.1 8.2 3.1c.9.8 1.1 2 .6 3l-.6 1.1a1.5 1.5 0 0 1-1.9.7l-2.5-1a1.5 1.5 0 0 1-.9-1.2l-.2-1.6a10 10 0 0 0-5.4 0l-.2 1.6a1.5 1.5 0 0 1-.9 1.2l-2.5 1a1.5 1.5 0 0 1-1.9-.7z',
  slash: 'M4 4l16 16',
  dots: 'M6 6h.01M12 6h.01M18 6h.01M6 12h.01M12 12h.01M18 12h.01M6 18h.01M12 18h.01M18 18h.01',
  chat: 'M5 4.5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-4.5 4v-4H5a2 2 0 0 1-2-2v-8a2 2 0 0 1 2-2z',
  down: 'M6 9.5l6 6 6-6',
  send: 'M12 19V5M5.5 11.5 12 5l6.5 6.5',
  wait: 'M12 3.5a8.5 8.5 0 1 1-8.5 8.5',
} as const;

type IconName = keyof typeof PATHS;

/** A line icon of one or more paths. */
function icon(...names: IconName[]): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', `icon icon-${names.join('-')}`);
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  for (const name of names) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', PATHS[name]);
    svg.append(path);
  }
  return svg;
}
