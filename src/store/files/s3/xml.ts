const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** The contents of all elements of a name, as XML: S3's answers have neither attributes that matter nor nested equals. */
export function elements(xml: string, name: string): string[] {
  return Array.from(
    xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, 'g')),
    ([, content = '']) => content,
  );
}

/** The text of the first element of a name; null = there is none. */
export function textIn(xml: string, name: string): string | null {
  const [content] = elements(xml, name);
  return content === undefined ? null : unescaped(content);
}

/** A text inside an element. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal?: string, hex?: string, name = '') => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return ENTITIES[String(name)] ?? whole;
  });
}
