/**
 * The script of the embed snippet: defines `<parley-widget>`, and adds one to the page with the script tag's options.
 */
import { defineWidget, WIDGET_TAG } from './element.js';
import { ATTRIBUTES } from './options.js';

const script = document.currentScript instanceof HTMLScriptElement ? document.currentScript : null;
/** The daemon that served the script. */
const home = script === null ? location.origin : new URL('.', script.src).href;

defineWidget(home);
if (script?.hasAttribute('data-frame') === true) {
  // The page of the frame, with its options in the address.
  const query = new URLSearchParams(location.search);
  place((name) => query.get(name.replaceAll('-', '_')), { position: 'fill', server: home });
} else if (script?.hasAttribute('data-agent-id') === true) {
  place((name) => script.getAttribute(`data-${name}`), {});
}

function place(get: (name: string) => string | null, fixed: Readonly<Record<string, string>>): void {
  const element = document.createElement(WIDGET_TAG);
  for (const name of ATTRIBUTES) {
    const value = fixed[name] ?? get(name) ?? (name === 'server' ? home : null);
    if (value !== null) element.setAttribute(name, value);
  }
  if (element.getAttribute('position') === 'inline') script?.after(element);
  else if (document.readyState === 'loading') {
    document.addEventListener('DOMContentLoaded', () => document.body.append(element), { once: true });
  } else document.body.append(element);
}
