import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAgentFile } from '../../../../src/agent/agent-file.js';
import { packageFile } from '../../../../src/package-files.js';
import { scriptedProvider, speechHints, type AgentScriptInput } from '../../../../src/providers/llm/scripted/index.js';
import { Dialogue, END_CALL, toolNamed } from './dialogue.js';

/** The demo agent in text: whole conversations, each as what is said and what has to come back. */
const agent = JSON.parse(readFileSync(packageFile('examples/restaurant/agent.json'), 'utf8')) as {
  script: AgentScriptInput;
  config: { first_message: string; tools: { name: string; params: { name: string }[] }[] };
};

/** `say` or a tool's `result`; then what the reply holds, the call's arguments, or that the agent hangs up. */
interface Step {
  say?: string;
  result?: string;
  reply?: RegExp;
  books?: Record<string, unknown>;
  ends?: true;
}

const BOOKED = '{"reference":"R101"}';
const table = { party: 4, date: '2026-11-22', time: '19:30', name: 'Miller' };

/** How people ask for a table who have not read the script. */
const OPENINGS: [string, RegExp][] = [
  ['Is there any availability for Saturday at eight?', /how many/],
  ['Could we squeeze in four people at seven?', /Which day|For which|What day/],
  ["Reservation for tomorrow please, the two of us at eight o'clock", /name/],
  [
    'Please reserve under Jones, two people, tonight at eight',
    /table for two, today.* at eight o'clock, under the name Jones/,
  ],
  ["I'm calling to see whether you've got room for four on Saturday at seven", /name/],
  ['I need to see if you can take six of us on Friday', /time/],
  ['There is a party of six that wants to see you on Friday at eight', /name/],
  ['We are half a dozen on Friday at eight', /name/],
];

const dialogues: [string, Step[]][] = [
  [
    'everything in one sentence',
    [
      {
        say: 'A table for four tomorrow at seven thirty under the name Miller',
        reply: /table for four, tomorrow, at seven thirty, under the name Miller\. Is that right\?/,
      },
      { say: 'yes please', books: table },
      { result: BOOKED, reply: /booked, Miller.*R101.*anything else/ },
      { say: 'no thank you', reply: /Goodbye/, ends: true },
    ],
  ],
  [
    'step by step, with fillers',
    [
      { say: "um hi i'd like to book a table", reply: /how many people/ },
      { say: 'uh four', reply: /Four.*Which day/ },
      { say: 'tomorrow', reply: /what time/ },
      { say: 'er half past seven', reply: /name/ },
      { say: "it's miller", reply: /Miller.*Is that right/ },
      { say: "yeah that's right", books: table },
      { result: BOOKED, reply: /R101/ },
      { say: "that's all thanks bye", ends: true },
    ],
  ],
  [
    'a greeting and an offer',
    [
      { say: 'hello', reply: /A table, perhaps/ },
      { say: 'yes', reply: /how many/ },
      { say: 'just the two of us', reply: /Two/ },
      { say: 'next friday', reply: /what time/ },
      { say: 'eight p m', reply: /name/ },
      { say: 'my name is Garcia', reply: /Friday the twenty seventh of November, at eight o'clock/ },
      { say: 'perfect', books: { party: 2, date: '2026-11-27', time: '20:00', name: 'Garcia' } },
    ],
  ],
  [
    'corrections while it is read back',
    [
      { say: 'table for four tomorrow at seven thirty name is Miller', reply: /Is that right/ },
      { say: 'no for five people', reply: /table for five, tomorrow/ },
      { say: 'actually at eight', reply: /eight o'clock/ },
      { say: 'no, the name is Martinez', reply: /under the name Martinez/ },
      { say: 'and on monday instead', reply: /Monday the twenty third of November/ },
      { say: 'correct', books: { party: 5, date: '2026-11-23', time: '20:00', name: 'Martinez' } },
    ],
  ],
  [
    'a correction by the name of what is wrong',
    [
      { say: 'table for four tomorrow at seven thirty under the name Miller' },
      { say: 'no', reply: /What should I change/ },
      { say: 'the time', reply: /what time/ },
      { say: 'half past eight', reply: /eight thirty/ },
      { say: 'change the name please', reply: /name/ },
      { say: 'Smith', reply: /under the name Smith/ },
      { say: 'yes thank you', books: { ...table, time: '20:30', name: 'Smith' } },
    ],
  ],
  [
    'a correction within one sentence',
    [
      {
        say: 'a table for four no wait five people on friday the fourth of december at quarter to eight',
        reply: /name/,
      },
      { say: 'Taylor', reply: /table for five, Friday the fourth of December, at seven forty five/ },
      { say: 'yes', books: { party: 5, date: '2026-12-04', time: '19:45', name: 'Taylor' } },
    ],
  ],
  [
    'questions in the middle',
    [
      { say: 'book a table please', reply: /how many people/ },
      { say: 'when do you open', reply: /five in the evening.*How many of you/ },
      { say: 'for four', reply: /Which day/ },
      { say: 'do you have vegan food', reply: /vegan.*day/ },
      { say: 'tomorrow and is there parking', reply: /behind the house.*time/ },
      { say: 'seven thirty', reply: /name/ },
      { say: 'can I bring my dog', reply: /terrace.*name/ },
      { say: 'Miller', reply: /Is that right/ },
      { say: 'where are you', reply: /Harbour Lane.*Shall I book it like that/ },
      { say: 'yes', books: table },
    ],
  ],
  [
    'the tool fails, then works',
    [
      { say: 'table for four tomorrow at seven thirty under the name Miller' },
      { say: 'yes', books: table },
      { result: 'The service answered with status 500', reply: /not booked yet.*try once more/ },
      { say: 'yes', reply: /table for four, tomorrow/ },
      { say: 'yes', books: table },
      { result: BOOKED, reply: /R101/ },
    ],
  ],
  [
    'the tool fails and the guest gives up',
    [
      { say: 'table for four tomorrow at seven thirty under the name Miller' },
      { say: 'yes', books: table },
      { result: 'book_table failed. It gave nothing within 5000 ms.', reply: /try once more/ },
      { say: 'no', reply: /sorry.*anything else/ },
      { say: 'no thanks', ends: true },
    ],
  ],
  [
    'the tool takes its time',
    [
      { say: 'table for four tomorrow at seven thirty under the name Miller' },
      { say: 'yes', books: table },
      { result: 'Still running; the result will follow.' },
      { say: 'hello?', reply: /still on it/ },
    ],
  ],
  [
    'speech that nobody understood',
    [
      { say: '[inaudible]', reply: /could not hear/ },
      { say: '[inaudible]', reply: /line is bad/ },
      { say: 'table for two', reply: /Which day/ },
      { say: '[inaudible]', reply: /could not hear.*day/ },
      { say: 'glorp zap blarg', reply: /went past me.*day/ },
      { say: 'tomorrow', reply: /time/ },
    ],
  ],
  [
    'what the house does not do',
    [
      { say: 'a table for fifteen', reply: /Fifteen would be a revolution.*how many people/ },
      { say: 'okay twelve then', reply: /Twelve.*Which day/ },
      { say: 'tomorrow', reply: /time/ },
      { say: 'at three in the afternoon', reply: /three in the afternoon the kitchen is asleep.*time/ },
      { say: 'seven', reply: /name/ },
      { say: "o'brien", reply: /O'Brien.*Is that right/ },
      { say: 'yes', books: { party: 12, date: '2026-11-22', time: '19:00', name: "O'Brien" } },
    ],
  ],
  [
    'never mind, then another table',
    [
      { say: 'table for two tonight at eight', reply: /name/ },
      { say: 'never mind', reply: /crossed that out/ },
      { say: 'a table for three', reply: /Which day/ },
      { say: 'today', reply: /time/ },
    ],
  ],
  [
    'a second booking after the first',
    [
      { say: 'table for four tomorrow at seven thirty under the name Miller' },
      { say: 'yes', books: table },
      { result: BOOKED },
      { say: 'yes another table please for two', reply: /Which day/ },
      { say: 'tonight', reply: /time/ },
    ],
  ],
  [
    'a phone number and a wish, offered',
    [
      { say: 'reserve for two tomorrow at six', reply: /name/ },
      { say: 'the name is lee and can we have a high chair', reply: /with this wish: a high chair/ },
      { say: 'you can reach me at five five five one two three four', reply: /phone 5 5 5, 1 2 3, 4/ },
      {
        say: 'yes',
        books: { party: 2, date: '2026-11-22', time: '18:00', name: 'Lee', phone: '5551234', wishes: 'a high chair' },
      },
    ],
  ],
  [
    'a few words, and a change of mind before the name',
    [
      { say: 'two people', reply: /Two.*Which day/ },
      { say: 'tomorrow', reply: /what time/ },
      { say: "I don't know", reply: /No hurry.*What time/ },
      { say: 'half past seven', reply: /name/ },
      { say: 'actually make it five', reply: /five.*name/ },
      { say: 'm i l l e r', reply: /table for five.*Miller/ },
      { say: 'yes', books: { ...table, party: 5 } },
      { result: BOOKED, reply: /R101/ },
      { say: "what's my reference", reply: /R101.*\?/ },
      { say: 'change the time please', reply: /pencil/ },
      { say: 'cheers, bye', ends: true },
    ],
  ],
  [
    'what is asked before anything is booked',
    [
      { say: 'sorry?', reply: /^Good evening/ },
      { say: 'book a room', reply: /no beds.*table/ },
      { say: 'no', reply: /No table, no problem/ },
      { say: 'cancel that', reply: /Nothing to cross out/ },
      { say: 'I want to cancel my table', reply: /pencil/ },
      { say: 'can I talk to a human', reply: /kitchen/ },
      { say: 'guten tag', reply: /English/ },
      { say: 'no', reply: /fine/ },
      { say: 'hello', reply: /table/ },
      { say: 'hello', reply: /still here/ },
      { say: 'table on the terrace for four tomorrow at half past seven', reply: /name/ },
      { say: 'Miller', reply: /table on the terrace/ },
      { say: 'yes', books: { ...table, wishes: 'a table on the terrace' } },
    ],
  ],
  [
    'questions only',
    [
      { say: 'what time do you close', reply: /eleven/ },
      { say: "what's on the menu", reply: /lemon cake/ },
      { say: 'are kids welcome', reply: /high chairs/ },
      { say: 'are you a robot', reply: /machine/ },
      { say: 'mm-hm', reply: /book a table/ },
      { say: 'thank you very much goodbye', reply: /Goodbye/, ends: true },
    ],
  ],
  [
    'a name out of turn',
    [
      { say: 'a table for four tomorrow', reply: /time/ },
      { say: 'miller', reply: /Miller.*time/ },
      { say: 'seven thirty', reply: /four, tomorrow, at seven thirty, under the name Miller/ },
    ],
  ],
  [
    'asking to repeat and to wait',
    [
      { say: 'book a table', reply: /how many/ },
      { say: 'four', reply: /Which day/ },
      { say: 'sorry, what did you say?', reply: /Which day/ },
      { say: 'hold on', reply: /^Take your time\. I will polish some glasses\.$/ },
      { say: 'tomorrow', reply: /time/ },
    ],
  ],
];

/** A call in which the greeting has been heard. */
function start(): Dialogue {
  const dialogue = new Dialogue(scriptedProvider(agent.script), [toolNamed('book_table'), END_CALL]);
  dialogue.messages.push({ role: 'assistant', content: agent.config.first_message });
  return dialogue;
}

describe('the demo agent', () => {
  it.each(dialogues)('%s', async (_name, steps) => {
    const dialogue = start();
    for (const step of steps) {
      const turn = step.result === undefined ? await dialogue.say(step.say ?? '') : await dialogue.result(step.result);
      if (step.reply !== undefined) expect(turn.text).toMatch(step.reply);
      const call = turn.calls[0];
      if (step.books !== undefined)
        expect([call?.name, JSON.parse(call?.arguments ?? '{}')]).toEqual(['book_table', step.books]);
      else expect(call?.name).toBe(step.ends === true ? 'end_call' : undefined);
    }
  });

  it.each(OPENINGS)('understands "%s"', async (words, reply) => {
    const { text, calls } = await start().say(words);
    expect(text).toMatch(reply);
    expect(calls).toEqual([]);
  });

  it.each([
    ['Put it under Mary', 'Mary'],
    ['Put Mary', 'Mary'],
    ["The name's Bond, James Bond", 'James Bond'],
  ])('takes the name from "%s"', async (words, name) => {
    const dialogue = start();
    await dialogue.say('table for four tomorrow at seven thirty');
    expect((await dialogue.say(words)).text).toContain(`under the name ${name}.`);
  });

  it('asks for the letters of a name that it did not get twice', async () => {
    const dialogue = start();
    await dialogue.say('table for four tomorrow at seven thirty');
    await dialogue.say('[inaudible]');
    expect((await dialogue.say('[inaudible]')).text).toMatch(/spell/);
    expect((await dialogue.say('n o v a k')).text).toContain('under the name Novak');
  });

  it.each([
    ['mm-hm'],
    ['glorp zap blarg'],
    ['[inaudible]'],
    ['what is on the menu'],
    ['are you a robot'],
    ['hello'],
    ['no'],
    ['at three in the morning'],
    ['hold on'],
  ])('never says the same twice running, however often it hears "%s"', async (words) => {
    for (const opener of [null, 'a table for two tomorrow']) {
      const dialogue = start();
      if (opener !== null) await dialogue.say(opener);
      let last = '';
      for (let i = 0; i < 8; i++) {
        const { text } = await dialogue.say(words);
        expect(text).not.toBe('');
        expect(text).not.toBe(last);
        last = text;
      }
    }
  });

  it('is a valid agent file', () => {
    expect(parseAgentFile(agent).name).toBe('The Crooked Fork');
  });

  it('passes only arguments that its tool has', async () => {
    const dialogue = start();
    await dialogue.say('table for four tomorrow at seven thirty under the name Miller');
    const { calls } = await dialogue.say('yes');
    const known = agent.config.tools[0]?.params.map((param) => param.name) ?? [];
    expect(known).toEqual(expect.arrayContaining(Object.keys(JSON.parse(calls[0]?.arguments ?? '{}') as object)));
  });

  it('says nothing that is awkward to speak', () => {
    for (const text of speechHints(agent.script).texts) {
      expect(text.replace(/\{[\w.]+\}/g, 'x')).not.toMatch(/[*_#<>&/\\"|{}0-9]/);
      expect(Math.max(...text.split(/[.!?:;,]/).map((part) => part.trim().split(' ').length))).toBeLessThanOrEqual(18);
    }
  });

  it('gives the recogniser several hundred sentences, always the same', () => {
    const { phrases, keywords } = speechHints(agent.script);
    expect(phrases.length).toBeGreaterThan(500);
    expect(phrases.length).toBeLessThan(2_000);
    expect(new Set(phrases).size).toBe(phrases.length);
    expect(speechHints(agent.script).phrases).toEqual(phrases);
    expect(phrases.join('\n')).toMatch(/^[a-z' \n]+$/);
    for (const wanted of [
      'yes please',
      "i'd like to book a table for",
      "that's right",
      "what's on the menu",
      'half past seven',
      'tomorrow',
      'do you have parking',
      'goodbye',
    ]) {
      expect(phrases.some((phrase) => phrase.includes(wanted.replace('do you have ', '')))).toBe(true);
    }
    expect(keywords.get('miller')).toBeGreaterThan(1);
  });
});
