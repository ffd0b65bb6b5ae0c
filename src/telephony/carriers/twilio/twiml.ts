import { type DialVerb, escapedXml, responseXml, type StreamRequest } from '../media-socket/response-xml.js';
import { type CallRefusal, isBusyTone } from '../carrier.js';

/** TwiML: what Twilio is to do with a call next. @see https://www.twilio.com/docs/voice/twiml (2026-11-22) */

/**
 * The call's sound goes over a media socket, both ways, until that is closed; then we are asked what is next.
 * @param first keys that are pressed before it
 */
export function connectTwiml({ streamUrl, nextUrl }: StreamRequest, first = ''): string {
  const play = first === '' ? '' : `<Play digits="${escapedXml(first)}"/>`;
  const stream = `<Connect><Stream url="${escapedXml(streamUrl)}"/></Connect>`;
  return responseXml(`${play}${stream}<Redirect method="POST">${escapedXml(nextUrl)}</Redirect>`);
}

/** The far end is connected to somebody else; it hears that one ring. */
export function dialTwiml({ target, from, ringS, statusUrl, actionUrl }: DialVerb): string {
  const noun = /^sips?:/i.test(target) ? 'Sip' : 'Number';
  const told = `statusCallbackEvent="answered" statusCallback="${escapedXml(statusUrl)}" statusCallbackMethod="POST"`;
  const dial = `timeout="${String(ringS)}" callerId="${escapedXml(from)}" action="${escapedXml(actionUrl)}" method="POST"`;
  return responseXml(`<Dial ${dial}><${noun} ${told}>${escapedXml(target)}</${noun}></Dial>`);
}

/** The far end goes into a room where whoever is connected to it is, or will be; either of them ends it by leaving. */
export function conferenceTwiml(room: string): string {
  const rules = 'beep="false" startConferenceOnEnter="true" endConferenceOnExit="true" waitUrl=""';
  return responseXml(`<Dial><Conference ${rules}>${escapedXml(room)}</Conference></Dial>`);
}

/** The caller hears that the line is busy, or not in service, and pays nothing. */
export function rejectTwiml(refusal: CallRefusal): string {
  return responseXml(`<Reject reason="${isBusyTone(refusal) ? 'busy' : 'rejected'}"/>`);
}
