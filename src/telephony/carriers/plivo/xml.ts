import { type DialVerb, escapedXml, responseXml, type StreamRequest } from '../media-socket/response-xml.js';
import { type CallRefusal, isBusyTone } from '../carrier.js';

/** Plivo XML: what Plivo is to do with a call next. @see https://docs.plivo.com/docs/voice/xml (2026-11-22) */

/** The call's sound goes over a media socket, both ways, until that is closed; then we are asked what is next. */
export function streamXml({ streamUrl, nextUrl }: StreamRequest): string {
  const form = 'bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000"';
  const stream = `<Stream ${form}>${escapedXml(streamUrl)}</Stream>`;
  return responseXml(`${stream}<Redirect method="POST">${escapedXml(nextUrl)}</Redirect>`);
}

/** The far end is connected to somebody else; it hears that one ring. */
export function dialXml({ target, from, ringS, statusUrl, actionUrl }: DialVerb): string {
  const noun = /^sips?:/i.test(target) ? 'User' : 'Number';
  const dial = [
    `action="${escapedXml(actionUrl)}" method="POST" callbackUrl="${escapedXml(statusUrl)}" callbackMethod="POST"`,
    `timeout="${String(ringS)}" callerId="${escapedXml(plivoNumber(from))}" dialMusic="real"`,
  ].join(' ');
  return responseXml(`<Dial ${dial}><${noun}>${escapedXml(plivoNumber(target))}</${noun}></Dial>`);
}

/** The far end goes into a room where whoever is connected to it is, or will be; either of them ends it by leaving. */
export function conferenceXml(room: string): string {
  const rules = 'startConferenceOnEnter="true" endConferenceOnExit="true"';
  return responseXml(`<Conference ${rules}>${escapedXml(room)}</Conference>`);
}

/** The caller hears that the line is busy, or that the call is rejected, and pays nothing. */
export function rejectXml(refusal: CallRefusal): string {
  return responseXml(`<Hangup reason="${isBusyTone(refusal) ? 'busy' : 'rejected'}"/>`);
}

/** Plivo writes numbers without the plus. */
export function plivoNumber(number: string): string {
  return number.replace(/^\+/, '');
}
