import type { Random } from '../../dist/base/random.js';

/** What a caller wants, each value as they say it. */
export interface Wish {
  party: Fact;
  day: Fact;
  time: Fact;
  name: Fact;
}

export interface Fact {
  /** As the tool gets it. For names the surname, in lower case. */
  value: string | number;
  /** The caller's words; a caller may use several for one value. */
  words: readonly string[];
  /** What a right read-back contains, one of these regular expressions, in lower case. */
  readBack: readonly string[];
}

export type Slot = keyof Wish;

const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');
const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
/** Two groups of callers have no name in common. */
const NAMES = {
  tuning: [
    'Anna Bennett',
    'Peter Walsh',
    'Laura Gibson',
    'David Palmer',
    'Susan Fletcher',
    'George Nelson',
    'Emma Lawson',
    'Frank Barton',
    'Helen Porter',
    'Kevin Doyle',
    'Maria Santos',
    'Jason Webb',
    'Carol Jenkins',
    'Brian Keller',
    'Nicole Foster',
    'Eric Lindgren',
    'Sophie Carter',
    'Henry Dawson',
    'Alice Romero',
    'Patrick Boyle',
  ],
  'held-out': [
    'Sarah Thompson',
    'Mark Novak',
    'Jane Cooper',
    'Daniel Nguyen',
    'Lucy Parker',
    'Steve Martin',
    'Karen Johnson',
    'Oliver Hughes',
    'Rachel Griffin',
    'Tom Whitaker',
    'Julia Ferrari',
    'Adam Sinclair',
    'Nancy Hoffman',
    'Robert Chandler',
    'Emily Watson',
    'Ryan Murphy',
    'Linda Becker',
    'Simon Hayward',
    'Grace Coleman',
    'Victor Petrov',
  ],
} as const;

export type Group = keyof typeof NAMES;

/** A caller's wish by chance. The call is on Monday, 15 June 2026. */
export function wishOf(random: Random, group: Group, caller: number): Wish {
  const names = NAMES[group];
  const [first = '', last = ''] = (names[caller % names.length] ?? '').split(' ');
  return {
    party: partyOf(random),
    day: dayOf(random),
    time: timeOf(random),
    name: { value: last.toLowerCase(), words: [last, `${first} ${last}`], readBack: [last.toLowerCase()] },
  };
}

function partyOf(random: Random): Fact {
  const count = random.int(2, 9);
  const word = NUMBERS[count] ?? '';
  return { value: count, words: [word], readBack: [word, String(count)] };
}

function dayOf(random: Random): Fact {
  const offset = random.int(0, 6);
  const date = new Date(Date.UTC(2026, 5, 15 + offset));
  const value = date.toISOString().slice(0, 10);
  const weekday = WEEKDAYS[(date.getUTCDay() + 6) % 7] ?? '';
  const ordinal = `${String(date.getUTCDate())}th`;
  const readBack = [weekday.toLowerCase(), ordinal, value];
  if (offset === 0)
    return { value, words: ['tonight', 'this evening', 'today'], readBack: ['tonight', 'today', 'this evening'] };
  if (offset === 1)
    return { value, words: ['tomorrow', 'tomorrow night', 'tomorrow evening'], readBack: ['tomorrow', ...readBack] };
  return {
    value,
    words: [weekday, `on ${weekday}`, `this ${weekday}`, `${weekday} night`, `${weekday} evening`],
    readBack,
  };
}

function timeOf(random: Random): Fact {
  const hour = random.int(6, 8);
  const minute = random.pick([0, 0, 30, 30, 15]);
  const [word = '', next = ''] = [NUMBERS[hour], NUMBERS[hour + 1]];
  const value = `${String(hour + 12)}:${String(minute).padStart(2, '0')}`;
  if (minute === 0) {
    const words = [word, `${word} o'clock`, `${word} p m`, `${word} in the evening`];
    return { value, words, readBack: [`at ${word}(?! (fifteen|thirty|forty|oh))`, `${word} o'clock`] };
  }
  if (minute === 30) {
    return { value, words: [`${word} thirty`, `half past ${word}`], readBack: [`${word} thirty`, `half past ${word}`] };
  }
  const words = [`${word} fifteen`, `a quarter past ${word}`, `quarter past ${word}`];
  return {
    value,
    words,
    readBack: [`${word} fifteen`, `quarter past ${word}`, `quarter after ${word}`, `to ${next} forty five`],
  };
}

/** Phrasings are lists of words in which `{party}`, `{day}`, `{time}`, `{name}` are values, and `(a|b|)` a choice. */
export const OPENINGS: readonly string[] = [
  "(Hi|Hello|Good evening|Hi there), (I'm calling to|I was hoping to|I'd love to) (make a reservation|book a table|reserve a table).",
  '(Hello|Hi), (can|could) I (reserve|book|get) a table(|, please)?',
  '(Hello, |Hi, |)do you (take|do) (reservations|bookings)?',
  '(Hi|Hello), I (need|want|would like) a table (for {party}|for {party} people).',
  "(Hi|Hello there), we're {party} and (we'd|we would) like to (come|eat with you|have dinner with you) {day}.",
  '(Hi|Hello|Good evening), (have you got|do you have|is there) (anything|a table|something|room) for {party} {day}?',
  '(Hi|Hello), (any chance of|what are the chances of) a table {day} for {party}?',
  '(Hello|Hi), could you (fit in|squeeze in) {party} (of us|people) {day} (around|at) {time}?',
  '(Hi|Hello), (a|) table for {party}, {day}, (at|around) {time}, please.',
  "(Hi|Hello), (I'd like|we'd like) to (come|dine|have dinner) {day} at {time}, (there are {party} of us|{party} people).",
  '(Hello|Hi), this is {name}, (can|could) I (book|have|get) a table (for {party} |){day}(|, please)?',
  "(Hi|Hello), I'd like to (book|reserve) (dinner|a table) {day} for {party}, (it's for {name}|the name is {name}).",
  "(Hi|Hello), (I'm looking for|I'd like|we need) a table at {time} {day}.",
];

/** Without any value: what a caller says who was not understood, or is asked what they want. */
export const PLAIN_OPENINGS: readonly string[] = [
  "I'd like to (book|reserve) a table(|, please).",
  'A table(|, please).',
  '(Can|Could) I (book|reserve) a table?',
  'I want to make a (reservation|booking).',
];

export const ANSWERS: Readonly<Record<Slot, readonly string[]>> = {
  party: [
    '{party}.',
    '{party}.',
    '{party}, please.',
    '{party} people.',
    "There'll be {party} of us.",
    'We are {party}.',
    "(It's|It'll be) for {party}.",
    'A party of {party}.',
    '{party} of us (altogether|in total).',
  ],
  day: [
    '{day}.',
    '{day}.',
    '{day}, please.',
    '{day} would be (great|nice|perfect).',
    "(Let's say|How about|Maybe) {day}.",
    'We were thinking {day}.',
    '{day}, if (you can|possible).',
  ],
  time: [
    '{time}.',
    '{time}.',
    'At {time}.',
    '{time}, please.',
    '(Around|About) {time}.',
    '{time} would be (great|perfect|good).',
    "(Let's say|How about|Could we do) {time}.",
    '{time}, if possible.',
  ],
  name: [
    '{name}.',
    '{name}.',
    "It's {name}.",
    "(The|My) name('s| is) {name}.",
    '{name}, please.',
    'Under {name}.',
    '(Put|You can put) it under {name}.',
    "(That would be|I'm) {name}.",
  ],
};

export const CORRECTIONS: Readonly<Record<Slot, readonly string[]>> = {
  party: ['No, for {party}.', 'No, {party} people.', 'No, there are {party} of us.', 'Not quite. {party} people.'],
  day: ['No, {day}.', 'No, I said {day}.', "No, it's {day}.", 'Sorry, I meant {day}.'],
  time: ['No, at {time}.', 'No, {time}, please.', 'No, I said {time}.', 'Not quite, at {time}.'],
  name: ['No, the name is {name}.', "No, it's {name}.", 'No, my name is {name}.'],
};

export const YES: readonly string[] = [
  'Yes.',
  'Yeah.',
  'Yes, please.',
  "Yes, that's right.",
  "That's right.",
  "That's correct.",
  'Yep, perfect.',
  "Yeah, that's perfect.",
  'Sounds good.',
  'Exactly.',
  'Yes, thank you.',
  'Correct.',
];

export const NOTHING_ELSE: readonly string[] = [
  'No.',
  'No, thank you.',
  "No, that's all.",
  "That's everything, thanks.",
  "Nope, that's it.",
  'No, thanks.',
  "That's all, thank you.",
];

/** Short things that are said whatever was asked, or where nothing was. */
export const EVERYDAY: readonly string[] = [
  'Hello.',
  'Yes.',
  'Yes, please.',
  'No, thanks.',
  'Okay.',
  'Hi there.',
  'No.',
  'Thank you.',
  'What?',
  'Hi.',
  'Sorry?',
  'Yeah.',
  'Hello?',
  'Could you repeat that, please?',
  'Pardon?',
  'Good morning.',
  'Sure.',
  'Can you hear me?',
  'Okay, thanks.',
  'Bye.',
];

export const HELLO_AGAIN = 'Hello? Are you still there?';

/** A phrase with its choices made and its values in place. Every other one is heard only from held-out callers. */
export function phrased(random: Random, phrases: readonly string[], wish: Wish, group: Group): string {
  const words = random
    .pick(group === 'tuning' ? phrases.filter((_, index) => index % 2 === 0) : phrases)
    .replace(/\(([^()]*)\)/g, (_, choices: string) => random.pick(choices.split('|')))
    .replace(/\{(\w+)\}/g, (_, slot: string) => random.pick(wish[slot as Slot].words));
  const tidy = words
    .replace(/\bfor on\b/gi, 'for')
    .replace(/\b(about|say) on\b/gi, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  return tidy.charAt(0).toUpperCase() + tidy.slice(1);
}

/** A name letter by letter, as people spell on the telephone. */
export function spelled(name: string): string {
  return `${Array.from(name.toUpperCase()).join(', ')}.`;
}
