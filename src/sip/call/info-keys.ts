const KEYS = /^[0-9A-D*#]$/;
/** Event codes by number (RFC 4733, 3.2), as some send them. */
const CODES = '0123456789*#ABCD';

/**
 * The keys of an INFO: `application/dtmf-relay` with `Signal=5`, or `application/dtmf` with the key alone. Both are
 * widely used and in no RFC.
 * @returns null for bodies of other types; empty where there is no key in it
 */
export function infoKeys(contentType: string, body: string): string | null {
  let key: string | undefined;
  if (contentType === 'application/dtmf-relay')
    key = /^Signal[ \t]*=[ \t]*([0-9A-D*#]{1,2})[ \t]*\r?$/im.exec(body)?.[1];
  else if (contentType === 'application/dtmf') key = body.trim();
  else return null;
  const upper = key?.toUpperCase() ?? '';
  if (KEYS.test(upper)) return upper;
  return /^1[0-5]$/.test(upper) ? (CODES[Number(upper)] ?? '') : '';
}
