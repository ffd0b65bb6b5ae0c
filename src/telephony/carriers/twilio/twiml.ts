import { type DialVerb, escapedXml, responseXml, type StreamRequest } from '../media-socket/response-xml.js';
import { type CallRefusal, isBusyTone } from '../carrier.js';

/** TwiML instructions. @see https://www.twilio.com/docs/voice/twiml (2026-11-22) */

/**
 * Connects the audio to a media socket, both ways, until it closes; then Twilio asks for instructions.
 * @param first keys to press before
 */
export function connectTwiml({ streamUrl, nextUrl }: StreamRequest, first = ''): string {
  const play = first === '' ? '' : `<Play digits="${escapedXml(first)}"/>`;
  const stream = `<Connect><Stream url="${escapedXml(streamUrl)}"/></Connect>`;
  return responseXml(`${play}${stream}<Redirect method="POST">${escapedXml(nextUrl)}</Redirect>`);
}

/** Connects the far end to a target, with ringback. */
export function dialTwiml({ target, from, ringS, statusUrl, actionUrl }: DialVerb): string {
  const noun = /^sips?:/i.test(target) ? 'Sip' : 'Number';
  const callback = `statusCallbackEvent="answered" statusCallback="${escapedXml(statusUrl)}" statusCallbackMethod="POST"`;
  const dial = `timeout="${String(ringS)}" callerId="${escapedXml(from)}" action="${escapedXml(actionUrl)}" method="POST"`;
  return responseXml(`<Dial ${dial}><${noun} ${callback}>${escapedXml(target)}</${noun}></Dial>`);
}

/** Moves the far end to a conference with the party that it is connected to; it ends when either leaves. */
export function conferenceTwiml(room: string): string {
  const rules = 'beep="false" startConferenceOnEnter="true" endConferenceOnExit="true" waitUrl=""';
  return responseXml(`<Dial><Conference ${rules}>${escapedXml(room)}</Conference></Dial>`);
}

/** The caller hears a busy tone or that the number is not in service, free of charge. */
export function rejectTwiml(refusal: CallRefusal): string {
  return responseXml(`<Reject reason="${isBusyTone(refusal) ? 'busy' : 'rejected'}"/>`);
}
