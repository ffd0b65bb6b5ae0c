/** A text as one part of an address (RFC 3986). `encodeURIComponent` throws on half a surrogate pair; this replaces it by U+FFFD. */
export function encodeUrlText(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
