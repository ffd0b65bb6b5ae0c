/** A document for a carrier with XML instructions. */
export function responseXml(verbs: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Response>${verbs}</Response>`;
}

/** Escapes text, also for attributes in double quotes. */
export function escapedXml(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => names[character] ?? '');
}

export const HANG_UP_XML = responseXml('<Hangup/>');
/** For requests that need no answer. */
export const EMPTY_XML = responseXml('');

/** Connects the audio to a media socket, both ways, until it closes. */
export interface StreamRequest {
  /** The media socket's address, wss. */
  streamUrl: string;
  /** The address that the carrier asks when the stream is over and the call is not. */
  nextUrl: string;
}

/** Connects the far end to a target, with ringback. */
export interface DialVerb {
  target: string;
  /** The number that the target sees. */
  from: string;
  ringS: number;
  /** The address for reports on the target's leg. */
  statusUrl: string;
  /** The address that the carrier asks after the connection, or after its failure. */
  actionUrl: string;
}
