import { type DialVerb, escapedXml, responseXml, type StreamRequest } from '../media-socket/response-xml.js';
import { type CallRefusal, isBusyTone } from '../carrier.js';

/** Plivo XML instructions. @see https://docs.plivo.com/docs/voice/xml (2026-11-22) */

/** Connects the audio to a media socket, both ways, until it closes; then Plivo asks for instructions. */
export function streamXml({ streamUrl, nextUrl }: StreamRequest): string {
  const form = 'bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000"';
  const stream = `<Stream ${form}>${escapedXml(streamUrl)}</Stream>`;
  return responseXml(`${stream}<Redirect method="POST">${escapedXml(nextUrl)}</Redirect>`);
}

/** Connects the far end to a target, with ringback. */
export function dialXml({ target, from, ringS, statusUrl, actionUrl }: DialVerb): string {
  const noun = /^sips?:/i.test(target) ? 'User' : 'Number';
  const dial = [
    `action="${escapedXml(actionUrl)}" method="POST" callbackUrl="${escapedXml(statusUrl)}" callbackMethod="POST"`,
    `timeout="${String(ringS)}" callerId="${escapedXml(plivoNumber(from))}" dialMusic="real"`,
  ].join(' ');
  return responseXml(`<Dial ${dial}><${noun}>${escapedXml(plivoNumber(target))}</${noun}></Dial>`);
}

/** Moves the far end to a conference with the party that it is connected to; it ends when either leaves. */
export function conferenceXml(room: string): string {
  const rules = 'startConferenceOnEnter="true" endConferenceOnExit="true"';
  return responseXml(`<Conference ${rules}>${escapedXml(room)}</Conference>`);
}

/** The caller hears a busy tone, or the call is rejected, free of charge. */
export function rejectXml(refusal: CallRefusal): string {
  return responseXml(`<Hangup reason="${isBusyTone(refusal) ? 'busy' : 'rejected'}"/>`);
}

/** Plivo writes numbers without the plus. */
export function plivoNumber(number: string): string {
  return number.replace(/^\+/, '');
}
