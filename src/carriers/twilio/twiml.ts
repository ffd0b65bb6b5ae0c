/** TwiML: what Twilio is to do with a call next. @see https://www.twilio.com/docs/voice/twiml (2026-11-22) */

export interface Connecting {
  /** Where the media socket is, wss. */
  streamUrl: string;
  /** What Twilio asks when the stream is over without the call being over. */
  nextUrl: string;
}

/**
 * The call's sound goes over a media socket, both ways, until that is closed; then we are asked what is next.
 * @param first keys that are pressed before it
 */
export function connectTwiml({ streamUrl, nextUrl }: Connecting, first = ''): string {
  const play = first === '' ? '' : `<Play digits="${escaped(first)}"/>`;
  const stream = `<Connect><Stream url="${escaped(streamUrl)}"/></Connect>`;
  return response(`${play}${stream}<Redirect method="POST">${escaped(nextUrl)}</Redirect>`);
}

export interface Dialling {
  target: string;
  /** Who the target is shown. */
  from: string;
  ringS: number;
  /** Told when the target answers. */
  answeredUrl: string;
  /** Asked for what is next when the two have finished, or never got together. */
  actionUrl: string;
}

/** The far end is connected to somebody else; it hears that one ring. */
export function dialTwiml({ target, from, ringS, answeredUrl, actionUrl }: Dialling): string {
  const noun = /^sips?:/i.test(target) ? 'Sip' : 'Number';
  const told = `statusCallbackEvent="answered" statusCallback="${escaped(answeredUrl)}" statusCallbackMethod="POST"`;
  const dial = `timeout="${String(ringS)}" callerId="${escaped(from)}" action="${escaped(actionUrl)}" method="POST"`;
  return response(`<Dial ${dial}><${noun} ${told}>${escaped(target)}</${noun}></Dial>`);
}

/** The far end goes into a room where whoever is connected to it is, or will be; either of them ends it by leaving. */
export function conferenceTwiml(room: string): string {
  const rules = 'beep="false" startConferenceOnEnter="true" endConferenceOnExit="true" waitUrl=""';
  return response(`<Dial><Conference ${rules}>${escaped(room)}</Conference></Dial>`);
}

export const HANG_UP_TWIML = response('<Hangup/>');
/** The caller hears that the line is busy, and pays nothing. */
export const REJECT_TWIML = response('<Reject reason="busy"/>');
/** For what is asked about calls that need nothing. */
export const EMPTY_TWIML = response('');

function response(verbs: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Response>${verbs}</Response>`;
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => names[character] ?? '');
}
