import { Parser } from 'htmlparser2';

/** A verb of TwiML, or a noun in one. */
export interface Verb {
  name: string;
  attributes: Record<string, string>;
  text: string;
  nouns: Verb[];
}

/** What may be where, of the verbs that the double does. */
const KNOWN: Record<string, { attributes: string[]; nouns: string[] }> = {
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
  const stack: Verb[] = [];
  let root: Verb | null = null;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        const verb: Verb = { name, attributes, text: '', nouns: [] };
        if (stack.length === 0) root = verb;
        else stack.at(-1)?.nouns.push(verb);
        stack.push(verb);
      },
      ontext: (data) => {
        const verb = stack.at(-1);
        if (verb !== undefined) verb.text += data;
      },
      onclosetag: () => void stack.pop(),
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(text);
  const response = root as Verb | null;
  if (response?.name !== 'Response') throw new Error('12100: document parse failure');
  for (const verb of response.nouns) check(verb);
  return response.nouns;
}

function check({ name, attributes, nouns }: Verb): void {
  const known = KNOWN[name];
  if (known === undefined) throw new Error(`12200: ${name} is no verb`);
  for (const attribute of Object.keys(attributes)) {
    if (!known.attributes.includes(attribute)) throw new Error(`12200: ${name} has no attribute ${attribute}`);
  }
  for (const noun of nouns) {
    if (!known.nouns.includes(noun.name)) throw new Error(`12200: ${noun.name} cannot be in ${name}`);
    check(noun);
  }
}
