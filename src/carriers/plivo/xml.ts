/** Plivo XML: what Plivo is to do with a call next. @see https://docs.plivo.com/docs/voice/xml (2026-11-22) */

export interface Connecting {
  /** Where the media socket is, wss. */
  streamUrl: string;
  /** What Plivo asks when the stream is over without the call being over. */
  nextUrl: string;
}

/** The call's sound goes over a media socket, both ways, until that is closed; then we are asked what is next. */
export function streamXml({ streamUrl, nextUrl }: Connecting): string {
  const form = 'bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000"';
  const stream = `<Stream ${form}>${escaped(streamUrl)}</Stream>`;
  return response(`${stream}<Redirect method="POST">${escaped(nextUrl)}</Redirect>`);
}

export interface Dialling {
  target: string;
  /** Who the target is shown. */
  from: string;
  ringS: number;
  /** Told what becomes of the target's leg. */
  toldUrl: string;
  /** Asked for what is next when the two have finished, or never got together. */
  actionUrl: string;
}

/** The far end is connected to somebody else; it hears that one ring. */
export function dialXml({ target, from, ringS, toldUrl, actionUrl }: Dialling): string {
  const noun = /^sips?:/i.test(target) ? 'User' : 'Number';
  const dial = [
    `action="${escaped(actionUrl)}" method="POST" callbackUrl="${escaped(toldUrl)}" callbackMethod="POST"`,
    `timeout="${String(ringS)}" callerId="${escaped(plivoNumber(from))}" dialMusic="real"`,
  ].join(' ');
  return response(`<Dial ${dial}><${noun}>${escaped(plivoNumber(target))}</${noun}></Dial>`);
}

/** The far end goes into a room where whoever is connected to it is, or will be; either of them ends it by leaving. */
export function conferenceXml(room: string): string {
  const rules = 'enterSound="" exitSound="" startConferenceOnEnter="true" endConferenceOnExit="true"';
  return response(`<Conference ${rules}>${escaped(room)}</Conference>`);
}

export const HANG_UP_XML = response('<Hangup/>');
/** The caller hears that the line is busy, and pays nothing. */
export const REJECT_XML = response('<Hangup reason="busy"/>');
/** For what is told without being asked. */
export const EMPTY_XML = response('');

/** Plivo writes numbers without the plus. */
export function plivoNumber(number: string): string {
  return number.replace(/^\+/, '');
}

function response(elements: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Response>${elements}</Response>`;
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => names[character] ?? '');
}
