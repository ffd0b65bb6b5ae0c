import type { CDPSession, Locator } from 'playwright-core';

/** A property of an element as the browser computes it. */
export function css(element: Locator, property: string): Promise<string | undefined> {
  return element.evaluate((it, name) => {
    const browser = globalThis as unknown as { getComputedStyle(of: unknown): Record<string, string> };
    return browser.getComputedStyle(it)[name];
  }, property);
}

const SPOKEN = new Set(['button', 'textbox', 'region', 'log', 'status', 'alert', 'group', 'link', 'image', 'img']);

/** What Chromium tells assistive technology, in order: role and name, or else the text. */
export async function accessible(session: CDPSession): Promise<string[]> {
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const under = (id: string): typeof nodes => {
    const node = byId.get(id);
    return node === undefined ? [] : [node, ...(node.childIds ?? []).flatMap(under)];
  };
  const textOf = (id: string): string =>
    under(id)
      .flatMap(({ role, name }) => (role?.value === 'StaticText' ? [String(name?.value)] : []))
      .join('');
  return under(nodes[0]?.nodeId ?? '')
    .filter(({ ignored, role }) => !ignored && SPOKEN.has(String(role?.value)))
    .map(({ role, name, nodeId }) => `${String(role?.value)}: ${String(name?.value) || textOf(nodeId)}`)
    .filter((line) => line !== 'status: ');
}
