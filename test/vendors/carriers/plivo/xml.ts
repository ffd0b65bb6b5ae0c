import { type KnownVerbs, readResponse, type Verb } from '../xml-reader.js';

/** What may be where, of the elements that the double does (docs.plivo.com/docs/voice/xml; npm plivo 4.79.0, plivoxml). */
const KNOWN: KnownVerbs = {
  Stream: {
    attributes: [
      'bidirectional',
      'audioTrack',
      'streamTimeout',
      'statusCallbackUrl',
      'statusCallbackMethod',
      'contentType',
      'extraHeaders',
      'keepCallAlive',
      'noiseCancellation',
      'noiseCancellationLevel',
    ],
    nouns: [],
  },
  Redirect: { attributes: ['method'], nouns: [] },
  Dial: {
    attributes: [
      'action',
      'method',
      'hangupOnStar',
      'timeLimit',
      'timeout',
      'callerId',
      'callerName',
      'confirmSound',
      'confirmKey',
      'confirmTimeout',
      'dialMusic',
      'callbackUrl',
      'callbackMethod',
      'redirect',
      'digitsMatch',
      'digitsMatchBLeg',
      'sipHeaders',
    ],
    nouns: ['Number', 'User'],
  },
  Number: { attributes: ['sendDigits', 'sendOnPreanswer'], nouns: [] },
  User: { attributes: ['sendDigits', 'sendOnPreanswer', 'sipHeaders'], nouns: [] },
  Conference: {
    attributes: [
      'muted',
      'enterSound',
      'exitSound',
      'startConferenceOnEnter',
      'endConferenceOnExit',
      'stayAlone',
      'waitSound',
      'maxMembers',
      'timeLimit',
      'hangupOnStar',
      'action',
      'method',
      'callbackUrl',
      'callbackMethod',
    ],
    nouns: [],
  },
  Hangup: { attributes: ['reason', 'schedule'], nouns: [] },
};

/** The elements of a document. Throws where Plivo would hang up with 8011, Invalid Answer XML. */
export function readPlivoXml(text: string): Verb[] {
  return readResponse(text, KNOWN);
}
