/** A document for a carrier that takes its instructions as XML. */
export function responseXml(verbs: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Response>${verbs}</Response>`;
}

/** As text, or as an attribute between double quotes. */
export function escapedXml(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => names[character] ?? '');
}

export const HANG_UP_XML = responseXml('<Hangup/>');
/** For questions that need no answer. */
export const EMPTY_XML = responseXml('');

/** The call's sound goes over a media socket, both ways, until that is closed. */
export interface StreamRequest {
  /** Where the media socket is, wss. */
  streamUrl: string;
  /** What the carrier asks when the stream is over without the call being over. */
  nextUrl: string;
}

/** The far end is connected to somebody else, and hears that one ring. */
export interface DialVerb {
  target: string;
  /** Who the target is shown. */
  from: string;
  ringS: number;
  /** Where the carrier reports on the target's leg. */
  statusUrl: string;
  /** What the carrier asks when the two have finished, or never got together. */
  actionUrl: string;
}
