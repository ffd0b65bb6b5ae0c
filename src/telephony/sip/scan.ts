/**
 * Reading the parts of header values (RFC 3261, 25.1). Text here has one character for each byte of the message, so that
 * what is copied into an answer comes back to the bit; `utf8Of` makes it readable.
 */

const TOKEN = /^[A-Za-z0-9\-.!%*_+`'~]+$/;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Without spaces and tabs at both ends. */
export function trimmed(text: string): string {
  // No pattern: one for the end alone takes quadratic time over spaces in the middle.
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text, start)) start++;
  while (end > start && isSpace(text, end - 1)) end--;
  return text.slice(start, end);
}

function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09;
}

/** What people read: the bytes as UTF-8. */
export function utf8Of(wire: string): string {
  return Buffer.from(wire, 'latin1').toString('utf8');
}

/** The other way round. */
export function wireOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/**
 * A whole number without a sign.
 * @returns null where it is none, or above `most`
 */
export function numberOf(text: string, most: number): number | null {
  if (!/^\d{1,15}$/.test(text)) return null;
  const number = Number(text);
  return number <= most ? number : null;
}

/**
 * Cuts at each `separator` outside quoted strings and angle brackets. Pieces are trimmed; empty ones are kept.
 * @returns null where a quoted string or a bracket does not end
 */
export function splitOutside(text: string, separator: ',' | ';'): string[] | null {
  if (!/["<]/.test(text)) return text.split(separator).map(trimmed);
  const pieces: string[] = [];
  let start = 0;
  let inQuotes = false;
  let bracketed = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (inQuotes) {
      if (char === '\\') at++;
      else if (char === '"') inQuotes = false;
    } else if (char === '"') inQuotes = true;
    else if (char === '<') bracketed = true;
    else if (char === '>') bracketed = false;
    else if (char === separator && !bracketed) {
      pieces.push(trimmed(text.slice(start, at)));
      start = at + 1;
    }
  }
  if (inQuotes || bracketed) return null;
  pieces.push(trimmed(text.slice(start)));
  return pieces;
}

/** Parameters by their names in lower case; null = one without a value. */
export type Parameters = ReadonlyMap<string, string | null>;

/**
 * Reads `;name=value;name`, from the first semicolon on.
 * @returns null where a parameter has no name or an unreadable value
 */
export function parametersOf(text: string): Parameters | null {
  const parameters = new Map<string, string | null>();
  if (trimmed(text) === '') return parameters;
  const pieces = splitOutside(text, ';');
  if (pieces === null || pieces[0] !== '') return null;
  for (const piece of pieces.slice(1)) {
    const equals = piece.indexOf('=');
    const name = trimmed(equals < 0 ? piece : piece.slice(0, equals)).toLowerCase();
    if (!isToken(name)) return null;
    const value = equals < 0 ? null : unquoted(trimmed(piece.slice(equals + 1)));
    if (equals >= 0 && value === null) return null;
    if (!parameters.has(name)) parameters.set(name, value);
  }
  return parameters;
}

/** What a quoted string says, or the text itself where it is not quoted; null where the quotes are broken. */
export function unquoted(text: string): string | null {
  if (!text.startsWith('"')) return text.includes('"') ? null : text;
  if (text.length < 2 || !/^"(?:[^"\\]|\\[\s\S])*"$/.test(text)) return null;
  return text.slice(1, -1).replaceAll(/\\([\s\S])/g, '$1');
}

export function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (char) => `\\${char}`)}"`;
}

/** `;name=value;name` for what is given, in its order; values that need it are quoted. */
export function parametersText(parameters: Parameters): string {
  let text = '';
  for (const [name, value] of parameters) {
    if (value === null) text += `;${name}`;
    else text += `;${name}=${isToken(value) || /^\[[\da-f:.]+\]$/i.test(value) ? value : quoted(value)}`;
  }
  return text;
}
