import type { CallStats } from '@parley-voice/web';
import { ATTRIBUTES, readOptions } from './options.js';
import { Widget } from './widget.js';

export const WIDGET_TAG = 'parley-widget';

/**
 * Defines `<parley-widget>`, once per page, however many scripts there are.
 * @param home the daemon of elements without a `server`
 */
export function defineWidget(home: string): void {
  if (customElements.get(WIDGET_TAG) !== undefined) return;

  customElements.define(
    WIDGET_TAG,
    /** A widget lives while it is in the document. When removed, it ends its call and leaves nothing. */
    class extends HTMLElement {
      static readonly observedAttributes = ATTRIBUTES;
      readonly #root = this.attachShadow({ mode: 'open' });
      #widget: Widget | null = null;

      /** Statistics of the current (or last) call; null = none. */
      get stats(): CallStats | null {
        return this.#widget?.stats ?? null;
      }

      connectedCallback(): void {
        this.#widget ??= new Widget(
          this.#root,
          readOptions((name) => this.getAttribute(name), home),
        );
      }

      disconnectedCallback(): void {
        this.#widget?.close();
        this.#widget = null;
      }

      attributeChangedCallback(_name: string, before: string | null, now: string | null): void {
        if (this.#widget === null || before === now) return;
        this.disconnectedCallback();
        this.connectedCallback();
      }
    },
  );
}
