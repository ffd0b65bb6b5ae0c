import { escapedXml, responseXml } from '../media-socket/response-xml.js';
import { type CallRefusal, isBusyTone } from '../carrier.js';

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
  const stream = `<Stream ${form}>${escapedXml(streamUrl)}</Stream>`;
  return responseXml(`${stream}<Redirect method="POST">${escapedXml(nextUrl)}</Redirect>`);
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
    `action="${escapedXml(actionUrl)}" method="POST" callbackUrl="${escapedXml(toldUrl)}" callbackMethod="POST"`,
    `timeout="${String(ringS)}" callerId="${escapedXml(plivoNumber(from))}" dialMusic="real"`,
  ].join(' ');
  return responseXml(`<Dial ${dial}><${noun}>${escapedXml(plivoNumber(target))}</${noun}></Dial>`);
}

/** The far end goes into a room where whoever is connected to it is, or will be; either of them ends it by leaving. */
export function conferenceXml(room: string): string {
  const rules = 'startConferenceOnEnter="true" endConferenceOnExit="true"';
  return responseXml(`<Conference ${rules}>${escapedXml(room)}</Conference>`);
}

export const HANG_UP_XML = responseXml('<Hangup/>');
/** The caller hears that the line is busy, or that the call is rejected, and pays nothing. */
export function rejectXml(refusal: CallRefusal): string {
  return responseXml(`<Hangup reason="${isBusyTone(refusal) ? 'busy' : 'rejected'}"/>`);
}

/** For what is told without being asked. */
export const EMPTY_XML = responseXml('');

/** Plivo writes numbers without the plus. */
export function plivoNumber(number: string): string {
  return number.replace(/^\+/, '');
}
