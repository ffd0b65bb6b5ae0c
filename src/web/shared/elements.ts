/** A new element with attributes and children; text is never parsed as markup. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string | null>> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Text with `code` between backticks marked as code. */
export function prose(text: string): (Node | string)[] {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : el('code', {}, part)));
}

/** The page's element with this id. */
export function byId<T extends HTMLElement>(id: string, kind: abstract new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`index.html has no ${kind.name} "${id}"`);
  return element;
}
