import { type KnownVerbs, readResponse, type Verb } from '../xml-reader.js';

/** What may be where, of the verbs that the double does. */
const KNOWN: KnownVerbs = {
  Connect: { attributes: [], nouns: ['Stream'] },
  Stream: { attributes: ['url', 'name', 'track', 'statusCallback', 'statusCallbackMethod'], nouns: ['Parameter'] },
  Redirect: { attributes: ['method'], nouns: [] },
  Play: { attributes: ['digits', 'loop'], nouns: [] },
  Dial: {
    attributes: ['timeout', 'callerId', 'action', 'method', 'answerOnBridge', 'timeLimit'],
    nouns: ['Number', 'Sip', 'Conference'],
  },
  Number: { attributes: ['statusCallbackEvent', 'statusCallback', 'statusCallbackMethod'], nouns: [] },
  Sip: { attributes: ['statusCallbackEvent', 'statusCallback', 'statusCallbackMethod'], nouns: [] },
  Conference: {
    attributes: ['beep', 'startConferenceOnEnter', 'endConferenceOnExit', 'waitUrl'],
    nouns: [],
  },
  Hangup: { attributes: [], nouns: [] },
  Reject: { attributes: ['reason'], nouns: [] },
};

/** The verbs of a document. Throws where Twilio would say 12100 or 12200: no XML, or verbs that are none. */
export function readTwiml(text: string): Verb[] {
  return readResponse(text, KNOWN);
}
