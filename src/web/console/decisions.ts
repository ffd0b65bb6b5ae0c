import type { NoteData } from '../../session/record/event-log.js';

/** How important a decision is for the reader of a call. */
export type Weight = 'turn' | 'minor' | 'trouble';

export interface LoggedDecision {
  text: string;
  weight: Weight;
}

type Words = (data: NoteData) => string;

const REASONS: Readonly<Record<string, Words>> = {
  'turn.scored': scored,
  'turn.ignored': ({ text }) => `Not answered: ${quoted(text)} was an acknowledgement, or nothing that was understood`,
  'turn.echo': ({ text }) => `Not answered: ${quoted(text)} was the agent's own voice`,
  'turn.stuck': ({ text }) => `Taken as a turn although no final words came: ${quoted(text)}`,
  'turn.continued': ({ turn }) => `Turn ${say(turn)} had not been over: the user went on`,
  interruption: () => 'The user interrupts: the rest of the answer is dropped',
  'interruption.falseAlarm': ({ words, heldMs }) =>
    `False alarm (${words === 'none' ? 'no words' : say(words)}): held for ${ms(heldMs)}, then the agent goes on`,
  'interruption.cameToNothing': ({ sentences }) =>
    `The interruption came to nothing: ${say(sentences)} sentences are said after all`,
  'speculation.started': ({ completeness, early }) =>
    early === true
      ? 'The model is asked early: the words so far may be all'
      : `The model is asked early: the turn looks ${percent(completeness)} complete`,
  'speculation.confirmed': ({ headStartMs }) => `The early answer is the right one: ${ms(headStartMs)} gained`,
  'speculation.dropped': ({ reason, modelChars, voiceChars }) =>
    `The early answer is dropped (${say(reason)}): ${say(modelChars)} characters of the model, ${say(voiceChars)} of the voice for nothing`,
  filler: ({ phase }) => `A filler bridges the wait (${say(phase)})`,
  'reply.failed': ({ reason }) => `No answer from the model: ${say(reason)}`,
  'speech.failed': ({ reason }) => `The voice failed: ${say(reason)}`,
  'speech.stalled': () => 'The voice has stopped in the middle: the utterance is given up',
  'ears.failed': ({ reason }) => `Speech recognition is lost: ${say(reason)}`,
  givingUp: () => 'Too much has failed: the agent gives up',
  'tool.timeout': () => 'The tool took too long',
  'tool.abandoned': () => 'The tool is not waited for any more',
  'tool.result': ({ ok }) => (ok === true ? 'The tool has answered' : 'The tool failed'),
  'digits.refused': () => 'Keys are not pressed: not allowed, or none',
  transfer: ({ target }) => `The user is to be connected to ${say(target)}`,
  'transfer.result': ({ ok, reason }) => (ok === true ? 'The transfer is made' : `The transfer failed: ${say(reason)}`),
  'transfer.refused': () => 'The transfer is refused: no such target',
  'transfer.timeout': () => 'The transfer took too long',
  'opening.userSilent': () => 'The user says nothing: the agent opens',
  inactivity: ({ prompts }) => `Silence: the agent asks whether the user is still there (${say(prompts)})`,
  limit: ({ limit }) => `A limit is reached: ${say(limit)}`,
  language: ({ from, to }) => `The language changes from ${say(from)} to ${say(to)}`,
  'language.refused': () => 'The language is not changed: not among the agent’s',
  ending: ({ status, reversible }) =>
    `The call is about to end (${say(status)})${reversible === true ? ', unless the user says something' : ''}`,
  'ending.reopened': () => 'The user goes on: the call does not end',
  'ending.stalled': () => 'The goodbye takes too long: the call ends without it',
  ended: ({ status }) => `The call has ended: ${say(status)}`,
  'voicemail.suspected': ({ by }) => `This may be a machine (${say(by)})`,
  'voicemail.screening': () => 'A machine screens the call',
  'voicemail.detected': ({ class: kind, by }) => `A machine: ${say(kind)}, known by ${say(by)}`,
  'voicemail.person': ({ reason }) => `A person, after all: ${say(reason)}`,
  'voicemail.waiting': () => 'Waits for the beep',
  'voicemail.beep': () => 'The beep',
  'trace.full': ({ bytes }) => `The trace is full (${say(bytes)} bytes)`,
};

const TURN = new Set(['turn.ignored', 'turn.echo', 'turn.stuck', 'turn.continued', 'interruption', 'ended', 'ending']);
const TROUBLE = /failed|stalled|timeout|givingUp|trace\.full|limit/;

/** A decision of the conversation and its reason. Unknown names are shown unchanged. */
export function decision(name: string, data: NoteData): LoggedDecision {
  const words = REASONS[name];
  const text = words === undefined ? unknown(name, data) : words(data);
  const isTrouble = TROUBLE.test(name) || (name.endsWith('.result') && data['ok'] === false);
  const weight = isTrouble
    ? 'trouble'
    : TURN.has(name) || /^(interruption|voicemail|transfer)/.test(name)
      ? 'turn'
      : 'minor';
  return { text, weight };
}

/** The reasons for waiting before the end of a turn. */
function scored({ completeness, dictating, final, judged, waitMs }: NoteData): string {
  const reasons = [
    `${percent(completeness)} complete`,
    final === true ? 'final words' : 'words may change',
    ...(typeof judged === 'number' ? [`by its sound ${percent(judged)} over`] : []),
    ...(dictating === true ? ['the user is dictating'] : []),
  ];
  return `${reasons.join(', ')}: ends after ${ms(waitMs)} of silence`;
}

function unknown(name: string, data: NoteData): string {
  const members = Object.entries(data).map(([key, value]) => `${key} ${String(value)}`);
  return [name, ...members].join(', ');
}

function say(value: NoteData[string] | undefined): string {
  return value === undefined || value === null || value === '' ? '–' : String(value);
}

function quoted(value: NoteData[string] | undefined): string {
  return value === undefined || value === null || value === '' ? 'what was heard' : `“${String(value)}”`;
}

function percent(value: NoteData[string] | undefined): string {
  return typeof value === 'number' ? `${(value * 100).toFixed(0)} %` : '–';
}

function ms(value: NoteData[string] | undefined): string {
  return typeof value === 'number' ? `${value.toFixed(0)} ms` : '–';
}
