/** Encodes a text as one part of a URL (RFC 3986). Unlike `encodeURIComponent`, replaces lone surrogates by U+FFFD. */
export function encodeUrlText(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
