/**
 * Parses parts of header values (RFC 3261, 25.1). Strings have one character per byte of the message, so that copies in
 * responses are exact; `utf8Of` makes them readable.
 */

const TOKEN = /^[A-Za-z0-9\-.!%*_+`'~]+$/;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Trims spaces and tabs. */
export function trimmed(text: string): string {
  // Not a regular expression: one for the end takes quadratic time with spaces in the middle.
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

/** Decodes bytes as UTF-8, for people. */
export function utf8Of(wire: string): string {
  return Buffer.from(wire, 'latin1').toString('utf8');
}

/** The inverse. */
export function wireOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/**
 * An unsigned integer.
 * @returns null if invalid or above `most`
 */
export function numberOf(text: string, most: number): number | null {
  if (!/^\d{1,15}$/.test(text)) return null;
  const number = Number(text);
  return number <= most ? number : null;
}

/**
 * Splits at each `separator` outside quoted strings and angle brackets. Parts are trimmed; empty ones are kept.
 * @returns null for an unterminated quoted string or bracket
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

/** Parameters by lower-case name; null = without a value. */
export type Parameters = ReadonlyMap<string, string | null>;

/**
 * Parses `;name=value;name`, from the first semicolon on.
 * @returns null for a parameter without a name or with an invalid value
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

/** The content of a quoted string, or unquoted text unchanged; null for invalid quotes. */
export function unquoted(text: string): string | null {
  if (!text.startsWith('"')) return text.includes('"') ? null : text;
  if (text.length < 2 || !/^"(?:[^"\\]|\\[\s\S])*"$/.test(text)) return null;
  return text.slice(1, -1).replaceAll(/\\([\s\S])/g, '$1');
}

export function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (char) => `\\${char}`)}"`;
}

/** `;name=value;name` in order; values are quoted as needed. */
export function parametersText(parameters: Parameters): string {
  let text = '';
  for (const [name, value] of parameters) {
    if (value === null) text += `;${name}`;
    else text += `;${name}=${isToken(value) || /^\[[\da-f:.]+\]$/i.test(value) ? value : quoted(value)}`;
  }
  return text;
}
