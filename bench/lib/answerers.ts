import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ScriptStep } from '../../dist/telephony/carriers/simulated/script.js';
import { packageFile } from '../../dist/package-files.js';
import { readFixtureLabels } from '../../dist/testing/labels/labels.js';
import { answerTone, modemSignal } from '../../dist/testing/doubles/fax-signals.js';

/** What answers a call. `full`: a mailbox that takes no message. `menu`: keys are to be pressed. */
export type Kind = 'person' | 'voicemail' | 'full' | 'screening' | 'fax' | 'menu';

export interface Answerer {
  kind: Kind;
  name: string;
  voice: string;
  steps: readonly ScriptStep[];
  /** There is a beep: the message begins behind it. */
  beeps: boolean;
  /** It has recorded for so long when the script notes that it does. */
  recordedMs: number;
}

/** Makes a sound that a step can play. */
type Sound = (samples: Int16Array) => Promise<string>;

const RATE = 8000;
const VOICES = ['slt', 'rms', 'awb', 'kal16'];
const RECORDINGS = packageFile('fixtures/audio/voicemail/');

/** What people say who pick up, each with what they say when the agent has spoken. */
const PEOPLE: readonly (readonly ScriptStep[])[] = [
  [{ say: 'Hello?' }],
  [{ say: 'Yes?' }],
  [{ say: 'Miller.' }],
  [{ say: 'Hello, hello? Who is there?' }],
  [{ say: 'Miller residence, who is this?' }],
  [{ say: 'This is Tom speaking.' }],
  [{ say: 'Hi, you have reached Tom, what is up?' }],
  [{ say: 'Hello, this is Anna.' }, { wait: 700 }, { say: 'Who is calling please?' }],
  [{ wait: 4000 }, { say: 'Hello? Is anybody there?' }],
  [{ wait: 7000 }, { say: 'Hello?' }],
  [{ say: 'He is not here right now, can I take a message?' }],
  [{ say: 'Good morning, the flower shop, this is Anna speaking, how can I help you?' }],
  [{ say: 'You have reached the law firm of Miller and Sons, this is Jennifer speaking, how may I help you today?' }],
  [{ say: 'Thank you for calling Springfield Dental, my name is Jennifer, how may I direct your call?' }],
  [
    {
      say: 'Hello, this is Margaret, I am sorry that it took me so long to get to the phone, I was in the garden with the dog and I could not find my shoes, who is this please?',
    },
  ],
  [{ say: 'Front desk, please hold.' }, { wait: 6000 }, { say: 'Thank you for holding, how can I help you?' }],
  [{ say: 'I am driving right now, can you call me back later?' }],
  [{ say: 'Sorry I missed your call this morning, I was in a meeting, what is it about?' }],
  [{ say: 'Tom can not come to the phone right now, he is in the shower, who is calling?' }],
  [{ say: 'I am in a meeting, I will call you back.' }],
  [{ say: 'Mrs Miller is not available at the moment, would you like to leave a message?' }],
  [{ say: 'Oh hi, I got your voicemail, I was about to call you back.' }],
  [
    {
      say: 'Oh hi, yes, wait a second, I am just getting off the bus and there is so much noise here, let me walk round the corner, just a moment, so, now I think that I can hear you.',
    },
  ],
  [
    {
      say: 'No, no, put that down, put it down I said. Sorry, I have the children here and they are all over the place, one has the cat and the other one has the scissors. Now, yes, hello.',
    },
  ],
  [{ say: 'Hello?' }, { wait: 1200 }, { say: 'Hello? I can not hear you very well, can you speak up a little?' }],
];

const MAILBOXES: readonly string[] = [
  "Hi, you have reached Carol. I can't come to the phone right now. Please leave a message after the tone.",
  'This is Dave. I am not available at the moment. Leave your name and number and I will call you back.',
  'Your call has been forwarded to an automatic voice message system. Five five five, zero one two three, is not available. At the tone, please record your message. When you have finished recording, you may hang up.',
  "You have reached the Smiths. We can't come to the phone. Leave a message after the beep.",
  "Sorry I missed your call. Leave me a message and I'll get back to you as soon as I can. Thanks!",
  'The person you are trying to reach is not available. Please leave your message after the tone.',
  'Hey, it is Mike, you know what to do.',
  'Thank you for calling Baker Dental. Our office is closed. Please leave your name, your number and a brief message, and we will return your call on the next business day.',
  'Hi, this is Laura. I am away from my desk or on the other line. Please leave your name, number and the reason for your call.',
  'You have reached the voice mailbox of Peter Parker. To leave a message, wait for the tone.',
  'Hi there, this is Sam. If you hear this I am up on some mountain or down in some valley, or I have left the thing in the car again. You know how it works. Talk to you soon.',
  'Hello. This is the family Jones. We are out in the garden or on the road. Tell us who you are after the signal.',
];
/** Also without a beep: the last of these can then be recognised by its silence alone. */
const BEEPLESS = new Set([1, 4, 7, 8, 10]);
const BEEPS: readonly { hz: number[]; ms: number }[] = [
  { hz: [440], ms: 300 },
  { hz: [620], ms: 180 },
  { hz: [850], ms: 1000 },
  { hz: [1000], ms: 500 },
  { hz: [1400], ms: 250 },
  { hz: [425, 850], ms: 400 },
];

const FULL: readonly string[] = [
  'The mailbox you have called is full and cannot accept any messages at this time. Goodbye.',
  'The mailbox of this customer is full. Please try again later.',
  'The person you have called has a voice mailbox that has not been set up yet. Goodbye.',
];

const SCREENERS: readonly (readonly ScriptStep[])[] = [
  [
    {
      say: "Hi, the person you're calling is using a screening service, and will get a copy of this conversation. Go ahead and say your name, and why you're calling.",
    },
  ],
  [{ say: "Hi! If you record your name and reason for calling, I'll see if this person is available." }],
  [
    { say: 'Please say your name after the tone, and we will try to connect you.' },
    { wait: 300 },
    { tone: { hz: [800], ms: 300 } },
  ],
  [{ say: 'Calls to this number are being screened. Please state your name and the reason for your call.' }],
  [{ say: 'This is the call assistant of Peter. Who is calling please, and what is it about?' }],
];

const MENUS: readonly string[] = [
  'Thank you for calling Harbour Hotels. For reservations, press one. For billing, press two. To speak to a person, press zero.',
  'Welcome to the city library. If you know the extension of the person you are calling, please enter it now. For opening hours, press one. For all other questions, press nine.',
  'Thank you for calling. This call may be recorded. Please listen to the following options. Press one for sales. Press two for support. To hear this again, press star.',
];

const flags = (count: number): Int16Array =>
  modemSignal(count, [0xff, 0x13, 0x80, 0x00, 0xee, 0xf8, 0xc4, 0x7e, 0x7e], RATE);
const FAXES: readonly { name: string; waitMs: number; sounds: readonly Int16Array[] }[] = [
  { name: 'CED, then its modem', waitMs: 400, sounds: [answerTone(3000, RATE), flags(37)] },
  {
    name: 'CED with its phase reversed',
    waitMs: 1500,
    sounds: [answerTone(3300, RATE, { reversals: true }), flags(37)],
  },
  { name: 'ANSam', waitMs: 800, sounds: [answerTone(4000, RATE, { reversals: true, modulated: true })] },
  { name: 'its modem alone', waitMs: 600, sounds: [flags(37)] },
];

export async function answerers(sound: Sound): Promise<Answerer[]> {
  const all: Answerer[] = [];
  const add = (
    kind: Kind,
    name: string,
    voice: string,
    steps: readonly ScriptStep[],
    beeps = false,
    recordedMs = 0,
  ): void => void all.push({ kind, name, voice, steps, beeps, recordedMs });
  const voiceOf = (index: number): string => VOICES[index % VOICES.length] ?? 'slt';
  PEOPLE.forEach((opening, index) => {
    for (const offset of [0, 1]) add('person', wordsOf(opening), voiceOf(index + offset), talks(opening, 400));
  });
  MAILBOXES.forEach((words, index) => {
    for (const offset of [0, 1]) {
      const beep = BEEPS[(index + 3 * offset) % BEEPS.length];
      const isBeepless = offset === 1 && BEEPLESS.has(index);
      const tone: ScriptStep[] =
        beep === undefined || isBeepless ? [] : [{ wait: 300 + 300 * (index % 3) }, { tone: beep }];
      const steps: ScriptStep[] = [{ wait: 400 }, { say: words }, ...tone, { note: 'recording' }, { record: {} }];
      const name = `${words} ${isBeepless ? '(no beep)' : `(${String(beep?.ms)} ms of ${String(beep?.hz.join(' + '))} Hz)`}`;
      add('voicemail', name, voiceOf(index + 2 * offset), steps, !isBeepless);
    }
  });
  FULL.forEach((words, index) => add('full', words, voiceOf(index), [{ wait: 400 }, { say: words }, { wait: 3000 }]));
  SCREENERS.forEach((question, index) => {
    add('screening', wordsOf(question), voiceOf(index), [
      { wait: 400 },
      ...question,
      { listen: { orMs: 10_000 } },
      { say: 'Thank you. Please stay on the line.' },
      { wait: 3000 },
      ...talks([{ say: 'Hello?', voice: voiceOf(index + 1) }], 0),
    ]);
  });
  for (const { name, waitMs, sounds } of FAXES) {
    const played = await Promise.all(sounds.map(async (samples) => ({ play: await sound(samples) })));
    add('fax', name, 'slt', [
      { wait: waitMs },
      { repeat: { times: 3, steps: [...played.flatMap((step) => [step, { wait: 75 }]), { wait: 2900 }] } },
    ]);
  }
  MENUS.forEach((words, index) => {
    const menu: ScriptStep = { repeat: { times: 2, steps: [{ menu: { say: words, options: {} } }] } };
    add('menu', words, voiceOf(index), [{ wait: 400 }, menu]);
  });
  for (const file of readdirSync(RECORDINGS).filter((name) => name.endsWith('.wav'))) {
    const url = new URL(file, RECORDINGS).href;
    const name = fileURLToPath(url).split('/').slice(-2).join('/');
    if (file.startsWith('person-')) add('person', name, 'slt', talks([{ play: url }], 0));
    else if (file.startsWith('no-beep')) add('full', name, 'slt', [{ play: url }, { wait: 3000 }]);
    else {
      const { durationMs, events = [] } = readFixtureLabels(fileURLToPath(url).replace(/wav$/, 'json'));
      const beepMs = events.find((event) => event.kind === 'beep')?.endMs ?? durationMs;
      add('voicemail', name, 'slt', [{ play: url }, { note: 'recording' }, { record: {} }], true, durationMs - beepMs);
    }
  }
  return all;
}

/** Somebody who talks with the agent, after a moment. */
function talks(opening: readonly ScriptStep[], waitMs: number): ScriptStep[] {
  const voice = opening.flatMap((step) => ('say' in step && step.voice !== undefined ? { voice: step.voice } : []))[0];
  return [
    { wait: waitMs },
    { note: 'opening' },
    ...opening,
    { note: 'opened' },
    { listen: {} },
    { say: 'Yes, that is right.', ...voice },
    { note: 'answered' },
    { listen: { orMs: 6000 } },
    { hangUp: true },
  ];
}

function wordsOf(steps: readonly ScriptStep[]): string {
  const late = steps.find((step) => 'wait' in step);
  const said = steps.flatMap((step) => ('say' in step ? [step.say] : [])).join(' … ');
  return late === steps[0] && late !== undefined && 'wait' in late
    ? `(after ${String(late.wait / 1000)} s) ${said}`
    : said;
}
