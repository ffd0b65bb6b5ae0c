import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgentScriptInput } from '../../../../src/providers/llm/scripted/index.js';
import { fallbackScript, scriptedProvider } from '../../../../src/providers/llm/scripted/index.js';
import { Dialogue, END_CALL, SYSTEM, toolNamed } from './dialogue.js';

const SCRIPT: AgentScriptInput = {
  greeting: 'Hello, this is the shop.',
  slots: {
    count: { type: 'number', min: 1, max: 9, invalid: '{value} is too many.' },
    size: { type: 'enum', values: { small: ['little'], large: ['big'] } },
    gift: { type: 'yesno' },
    note: { type: 'text' },
    day: { type: 'date' },
  },
  start: 'shop',
  states: {
    shop: { prompt: 'What would you like?', rules: [] },
    bye: { otherwise: { say: 'Goodbye then.', end: true } },
  },
  rules: [
    { when: ['^hours', 'opening hours'], say: ['We open at nine, close at six, and sleep at night.', 'Nine to six.'] },
    { when: 'order [{count}] [cakes]', form: 'order' },
    { when: 'stop it', say: 'Fine.', goto: 'bye' },
    { when: 'lucky', set: { count: 7 }, say: 'Your number is {count}.' },
  ],
  forms: {
    order: {
      slots: [
        { slot: 'count', ask: ['How many cakes?', 'Just the number, please.'] },
        { slot: 'size', ask: 'Small or large?' },
        { slot: 'gift', ask: 'Is it a present?' },
        { slot: 'note', ask: 'Any message on the cake?', optional: true },
        { slot: 'day', optional: true },
      ],
      fill: ['{count} cakes', 'write {note} on it'],
      confirm: ['{count} {size} cakes[, {day}][, saying {note}]. All right?', 'Shall I order that?'],
      done: {
        say: 'I am ordering.',
        call: {
          tool: 'order',
          arguments: { count: '{count}', what: 'a {size} cake', gift: '{gift}', note: '{note}', day: '{day}', shop: 3 },
          ok: { say: 'Ordered as {result.order.id}, ready {result.missing} soon.' },
          failed: { say: 'That failed.' },
        },
      },
    },
  },
};

function start(script = SCRIPT, tools = [toolNamed('order'), END_CALL], system = SYSTEM): Dialogue {
  return new Dialogue(scriptedProvider(script), tools, system);
}

async function upToCall(dialogue: Dialogue): Promise<void> {
  for (const text of ['order', 'two', 'big', 'yes it is', 'no thanks', 'yes']) await dialogue.say(text);
}

describe('a conversation of which texts alone were kept', () => {
  const texts = ['order', 'two', 'big', 'yes it is', 'no thanks', 'yes'];
  const retold = async (last: string): Promise<Dialogue> => {
    const original = start();
    for (const text of texts) await original.say(text);
    const dialogue = start();
    dialogue.messages.push(...original.messages.slice(1).map(({ role, content }) => ({ role, content }) as never));
    dialogue.messages.splice(-1, 1, { role: 'assistant', content: last });
    return dialogue;
  };

  it('tells by what the agent said that a call was made', async () => {
    const dialogue = await retold('I am ordering. Ordered as 77, ready soon.');
    expect((await dialogue.say('opening hours')).text).toBe(
      'We open at nine, close at six, and sleep at night. What would you like?',
    );
    expect((await dialogue.say('order')).text).toBe('How many cakes?');
  });

  it('takes a call whose end nobody reported for broken off', async () => {
    const dialogue = await retold('I am ordering.');
    expect((await dialogue.say('opening hours')).text).toMatch(/(All right|order that)\?$/);
  });
});

describe('forms', () => {
  it('ask, take every kind of slot, read back and call the tool with typed arguments', async () => {
    const dialogue = start();
    expect((await dialogue.say('I want to order')).text).toBe('How many cakes?');
    expect((await dialogue.say('two')).text).toBe('Small or large?');
    expect((await dialogue.say('the big one')).text).toBe('Is it a present?');
    expect((await dialogue.say('yes it is')).text).toBe('Any message on the cake?');
    expect((await dialogue.say('yes please, Happy Birthday')).text).toContain(
      'Two large cakes, saying happy birthday.',
    );
    expect((await dialogue.say('for tomorrow')).text).toContain('Two large cakes, tomorrow, saying happy birthday.');
    const { text, calls } = await dialogue.say('yes');
    expect(text).toBe('I am ordering.');
    expect(JSON.parse(calls[0]?.arguments ?? '')).toEqual({
      count: 2,
      what: 'a large cake',
      gift: true,
      note: 'happy birthday',
      day: '2026-11-22',
      shop: 3,
    });
    expect((await dialogue.result('{"order":{"id":"A1"}}')).text).toBe(
      'Ordered as A1, ready soon. What would you like?',
    );
  });

  it('leave out what was declined', async () => {
    const dialogue = start();
    await upToCall(dialogue);
    const call = dialogue.messages.flatMap((m) => (m.role === 'assistant' ? (m.toolCalls ?? []) : []))[0];
    expect(Object.keys(JSON.parse(call?.arguments ?? '') as object)).toEqual(['count', 'what', 'gift', 'shop']);
  });

  it('ask again in other words, and say why a value is not possible', async () => {
    const dialogue = start();
    await dialogue.say('order');
    expect((await dialogue.say('hm well')).text).toContain('Just the number');
    expect((await dialogue.say('twenty')).text).toBe('Twenty is too many. How many cakes?');
  });

  it('keep an answer in free words from being taken for a question, unless it is one', async () => {
    const dialogue = start();
    for (const text of ['order', 'two', 'big', 'no']) await dialogue.say(text);
    expect((await dialogue.say('what are your opening hours')).text).toContain('We open at nine');
    expect((await dialogue.say('stop it you are killing me')).text).toContain('saying stop it you are killing me');
  });

  it('go on where the tool is not offered', async () => {
    const dialogue = start(SCRIPT, [END_CALL]);
    for (const text of ['order', 'two', 'big', 'no', 'nothing']) await dialogue.say(text);
    const { text, calls } = await dialogue.say('yes');
    expect(text).toContain('That failed.');
    expect(calls).toEqual([]);
  });

  it('hand days on in words where today is not known', async () => {
    const dialogue = start(SCRIPT, [toolNamed('order')], 'You are a shop.');
    for (const text of ['order two cakes for next friday', 'big', 'no', 'no thanks']) await dialogue.say(text);
    const { calls } = await dialogue.say('yes');
    expect(JSON.parse(calls[0]?.arguments ?? '')).toMatchObject({ day: 'next friday' });
  });

  it.each([
    ['It is now Saturday, 21 November 2026 at 11:29 (Europe/Berlin).', '2026-11-22'],
    ['Today is Monday, 2026-11-23.', '2026-11-24'],
    ['Today we have soup. Founded on 1 May 1999.\n\nIt is now Sunday, 31 December 2028 at 23:59 (UTC).', '2029-01-01'],
  ])('knows today from: %s', async (system, expected) => {
    const dialogue = start(SCRIPT, [toolNamed('order')], system);
    for (const text of ['order two cakes for tomorrow', 'big', 'no', 'no thanks']) await dialogue.say(text);
    expect(JSON.parse((await dialogue.say('yes')).calls[0]?.arguments ?? '')).toMatchObject({ day: expected });
  });
});

describe('rules', () => {
  it('say their wordings in turn, and ask the open question again', async () => {
    const dialogue = start();
    expect((await dialogue.say('opening hours')).text).toBe(
      'We open at nine, close at six, and sleep at night. What would you like?',
    );
    expect((await dialogue.say('hours')).text).toBe('Nine to six. What would you like?');
    expect((await dialogue.say('hours')).text).toContain('We open at nine');
  });

  it('take words that sound like the number that was asked for, with what it counts', async () => {
    const dialogue = start();
    expect((await dialogue.say('order cakes')).text).toContain('How many cakes?');
    expect((await dialogue.say('for cakes')).text).toBe('Small or large?');
  });

  it('set values and change states; a state can answer whatever is said', async () => {
    const dialogue = start();
    expect((await dialogue.say('am I lucky')).text).toContain('Your number is 7.');
    await dialogue.say('stop it');
    const turn = await dialogue.say('flurb');
    expect(turn.text).toBe('Goodbye then.');
    expect(turn.calls).toMatchObject([{ name: 'end_call', arguments: '{}' }]);
  });

  it('end without the tool where it is not offered, with the goodbye in it where it has to be', async () => {
    expect(await start(SCRIPT, []).say('bye')).toEqual({ text: 'Goodbye!', calls: [] });
    const demanding = { ...END_CALL, parameters: { type: 'object', required: ['message'] } };
    const { calls } = await start(SCRIPT, [demanding]).say('bye');
    expect(calls[0]?.arguments).toBe('{"message":"Goodbye!"}');
  });

  it('open the conversation where the session asks for it', async () => {
    expect((await start().request()).text).toBe('Hello, this is the shop.');
    expect((await start({ rules: [] }).request()).text).not.toBe('');
  });
});

describe('interruption', () => {
  const hours = 'We open at nine, close at six, and sleep at night. What would you like?';

  it('an acknowledgement goes on with the clause that was cut', async () => {
    const dialogue = start();
    await dialogue.sayAndCut('hours', () => 'We open at nine, clo');
    expect((await dialogue.say('mm-hm')).text).toBe('close at six, and sleep at night. What would you like?');
  });

  it('an acknowledgement of nothing heard gets all of it', async () => {
    const dialogue = start();
    await dialogue.sayAndCut('hours', () => '');
    expect((await dialogue.say('okay')).text).toBe(hours);
  });

  it('after the whole reply it is asked again, or taken for a yes', async () => {
    const dialogue = start();
    await dialogue.say('hours');
    expect((await dialogue.say('okay')).text).toBe('What would you like?');
    for (const text of ['order', 'two', 'big', 'no', 'no thanks']) await dialogue.say(text);
    expect((await dialogue.say('okay')).calls).toHaveLength(1);
  });

  it('a read-back that was cut is no agreement to the rest', async () => {
    const dialogue = start();
    for (const text of ['order', 'two', 'big', 'no']) await dialogue.say(text);
    await dialogue.sayAndCut('no thanks', () => 'Two large');
    const turn = await dialogue.say('mm-hm');
    expect(turn.calls).toEqual([]);
    expect(turn.text).toBe('Two large cakes. All right?');
    expect((await dialogue.say('yes')).calls).toHaveLength(1);
  });

  it('real words are answered, whatever was cut', async () => {
    const dialogue = start();
    await dialogue.sayAndCut('order', () => 'How ma');
    expect((await dialogue.say('three')).text).toBe('Small or large?');
  });

  it('words of somebody else in between do not matter', async () => {
    const dialogue = start();
    await dialogue.say('order');
    dialogue.messages.push({ role: 'assistant', content: 'Are you still there?' });
    expect((await dialogue.say('two')).text).toBe('Small or large?');
  });

  it('goes on where nobody said anything', async () => {
    const dialogue = start();
    await dialogue.sayAndCut('hours', () => 'We open at nine,');
    expect((await dialogue.request()).text).toBe('close at six, and sleep at night. What would you like?');
  });

  it('a call that was broken off has not happened', async () => {
    const dialogue = start();
    for (const text of ['order', 'two', 'big', 'no', 'no thanks']) await dialogue.say(text);
    await dialogue.sayAndCut('yes', () => '');
    expect((await dialogue.say('three cakes')).text).toContain('Three large cakes');
  });

  it('the outcome of a call is said before anything else', async () => {
    const dialogue = start();
    await upToCall(dialogue);
    const call = dialogue.messages.at(-1);
    const id = call?.role === 'assistant' ? (call.toolCalls?.[0]?.id ?? '') : '';
    dialogue.messages.push({ role: 'tool', toolCallId: id, content: '{"order":{"id":"A1"}}' });
    expect((await dialogue.say('opening hours')).text).toMatch(/^Ordered as A1, .* We open at nine/);
  });

  it('asking twice, or asking ahead, changes nothing', async () => {
    const dialogue = start();
    await dialogue.say('order');
    dialogue.messages.push({ role: 'user', content: 'fo' });
    await dialogue.request();
    dialogue.messages.pop();
    dialogue.messages.push({ role: 'user', content: 'four' });
    const first = await dialogue.request();
    expect(await dialogue.request()).toEqual(first);
    expect(first.text).toBe('Small or large?');
  });
});

describe('results of tools', () => {
  it.each([
    ['{"id":1}', true],
    ['Done. The service sent nothing back.', true],
    ['[1,2]', true],
    ['{"status":201}', true],
    ['{"error":"full"}', false],
    ['{"ok":false}', false],
    ['{"success":false}', false],
    ['{"status":503}', false],
    ['{"errors":["a"]}', false],
    ['order failed. It gave nothing within 5000 ms.', false],
    ['The service answered with status 500 and said: no', false],
    ["The service's reply could not be read: it is broken JSON.", false],
    ['Interrupted before its result was known.', false],
  ])('%s', async (content, ok) => {
    const dialogue = start();
    await upToCall(dialogue);
    const { text } = await dialogue.result(content);
    expect(text.startsWith('Ordered')).toBe(ok);
  });
});

describe('whatever comes', () => {
  it('the apology of the fallback script keeps the call alive and lets it end', async () => {
    const dialogue = start(fallbackScript, [END_CALL]);
    expect((await dialogue.say('what is the meaning of life')).text).toMatch(/technical problem/);
    expect((await dialogue.say('what is the meaning of life')).text).toMatch(/still having trouble/);
    expect((await dialogue.say('hello are you there')).text).toMatch(/I am here/);
    expect((await dialogue.say('okay')).text).not.toBe('');
    expect((await dialogue.say('bye')).calls).toMatchObject([{ name: 'end_call' }]);
  });

  it('there is always an answer, and always the same', async () => {
    const words = fc.constantFrom(
      'order',
      'two',
      'no',
      'yes',
      'big',
      'tomorrow',
      'cancel',
      'bye',
      'hours',
      'what',
      'wait',
      'change',
      'size',
      '[inaudible]',
      'mm',
      '',
      'ß🎉',
      'write',
      'on',
      'it',
    );
    const turns = fc.array(
      fc.array(words, { maxLength: 5 }).map((list) => list.join(' ')),
      { minLength: 1, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(turns, async (texts) => {
        const [first, second] = [start(), start()];
        for (const text of texts) {
          const turn = await first.say(text);
          expect(turn.text !== '' || turn.calls.length > 0).toBe(true);
          expect(turn.text).not.toMatch(/[{}[\]]/);
          expect(await second.say(text)).toEqual(turn);
          if (turn.calls[0]?.name === 'order') {
            await first.result('{"order":{"id":"X"}}');
            await second.result('{"order":{"id":"X"}}');
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('free times of a calendar', () => {
  const CALENDAR: AgentScriptInput = {
    slots: { day: { type: 'date' }, time: { type: 'time', between: ['08:00', '17:00'] } },
    rules: [{ when: ['what about {day}', 'another day'], unset: ['time'], form: 'visit' }],
    forms: {
      visit: {
        slots: [{ slot: 'day', ask: 'Which day?' }],
        done: {
          call: {
            tool: 'free',
            arguments: { date: '{day}' },
            ok: { say: 'For {day} I have {result.slots.0.time}[ or {result.slots.1.time}].', form: 'booking' },
            empty: { say: 'Nothing is free {day}.', form: 'visit' },
            failed: { say: 'No calendar.' },
          },
        },
      },
      booking: {
        slots: [{ slot: 'time', ask: 'What time?' }],
        confirm: '{day} at {time}?',
        done: {
          call: {
            tool: 'book',
            arguments: { start: '{result.slots.0.date} {result.slots.0.time}' },
            ok: {},
            failed: {},
          },
        },
      },
    },
  };
  const begin = (): Dialogue => start(CALENDAR, [toolNamed('free'), toolNamed('book')]);
  const free = (...slots: string[]): string => JSON.stringify({ timezone: 'UTC', slots });

  it('are said as times, and handed on as they came', async () => {
    const dialogue = begin();
    await dialogue.say('what about monday');
    const { text } = await dialogue.result(free('2026-11-23T09:00', '2026-11-23T14:30'));
    expect(text).toBe(
      'For Monday the twenty third of November I have nine in the morning or two thirty in the afternoon. What time?',
    );
    await dialogue.say('nine');
    expect((await dialogue.say('yes')).calls[0]?.arguments).toBe('{"start":"2026-11-23 09:00"}');
  });

  it.each([free(), '[]', '{}', 'null', '""'])(
    'where there are none (%s), `empty` is done in place of `ok`',
    async (none) => {
      const dialogue = begin();
      await dialogue.say('what about tomorrow');
      expect((await dialogue.result(none)).text).toBe('Nothing is free tomorrow. Which day?');
      await dialogue.say('monday');
      expect((await dialogue.result(free('2026-11-23T09:00'))).text).toContain(
        'I have nine in the morning. What time?',
      );
    },
  );

  it('are asked for again where `unset` has emptied the slot', async () => {
    const dialogue = begin();
    await dialogue.say('what about monday');
    await dialogue.result(free('2026-11-23T09:00'));
    expect((await dialogue.say('at nine')).text).toContain("at nine o'clock?");
    await dialogue.say('what about tuesday');
    expect((await dialogue.result(free('2026-11-24T10:00'))).text).toBe(
      'For Tuesday the twenty fourth of November I have ten in the morning. What time?',
    );
  });
});

it('a rule that calls a tool without a word asks nothing meanwhile', async () => {
  const dialogue = start({
    start: 'ask',
    states: {
      ask: { prompt: 'Shall we?', rules: [{ when: 'no', call: { tool: 'order', ok: { say: 'Done.' }, failed: {} } }] },
    },
  });
  const { text, calls } = await dialogue.say('no');
  expect([text, calls.length]).toEqual(['', 1]);
  expect((await dialogue.result('{}')).text).toBe('Done. Shall we?');
});

describe('words behind the yes, while the tool runs', () => {
  const DONE = '{"order":{"id":77}}';
  const spoken = async (): Promise<Dialogue> => {
    const dialogue = start();
    await upToCall(dialogue);
    dialogue.messages.push({ role: 'tool', toolCallId: lastCallId(dialogue), content: DONE });
    dialogue.messages.push({ role: 'user', content: 'please' });
    return dialogue;
  };

  it('get no apology together with the result', async () => {
    const dialogue = await spoken();
    expect((await dialogue.request()).text).toBe('Ordered as 77, ready soon. What would you like?');
  });

  it('do not lose the result when the user was asked to wait', async () => {
    const dialogue = await spoken();
    dialogue.messages.push({ role: 'assistant', content: 'One moment, I am still on it.' });
    expect((await dialogue.request()).text).toBe('Ordered as 77, ready soon. What would you like?');
    dialogue.messages.push({ role: 'assistant', content: 'Ordered as 77, ready soon. What would you like?' });
    expect((await dialogue.say('lucky')).text).toContain('Your number is 7.');
  });

  function lastCallId(dialogue: Dialogue): string {
    const calls = dialogue.messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []) : [],
    );
    return calls.at(-1)?.id ?? '';
  }
});
