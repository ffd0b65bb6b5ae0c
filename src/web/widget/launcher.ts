import { el, icon, type IconName } from './dom.js';
import { buttonName, buttonTitle, type Display, inkOn, type Looks, pictureAddress } from './looks.js';

const ICONS: Readonly<Record<Display, IconName>> = { idle: 'talk', connecting: 'wait', running: 'hangup' };

/** The button that calls and hangs up, as the agent's embed configuration wants it. */
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
    // By CSSOM: a page's Content Security Policy may forbid style attributes.
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

/** A colour as `#rrggbb` where it can be written so; black for what is none, such as a gradient. */
function plainColour(background: string): string {
  const context = document.createElement('canvas').getContext('2d');
  if (context === null) return '';
  context.fillStyle = background;
  const { fillStyle } = context;
  return typeof fillStyle === 'string' ? fillStyle : '';
}
