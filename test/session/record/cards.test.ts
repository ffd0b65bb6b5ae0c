import { describe, expect, it } from 'vitest';
import type { ConversationEvent } from '../../../src/conversation/events.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { CardListener, CardNumbers } from '../../../src/session/record/cards.js';
import type { ToolContext, ToolResult } from '../../../src/tools/tool.js';

const CARD = '4242424242424242';
const TOKEN = '[card number ending in 4242]';
const SPOKEN = 'four two '.repeat(8).trim();
const WRONG = '[card number that is not valid]';
const FLOW = { steps: [{ id: 'pay', collect: [{ name: 'card', type: 'card' as const }] }] };

/** A listener of an agent whose flow asks for a card, now or at another time. */
function listener(isAsked: boolean): CardListener {
  const steps = { flow: FLOW, startUnixMs: 0, timezone: 'UTC' };
  return new CardListener(
    { steps },
    new VirtualClock(),
    () => isAsked,
    () => undefined,
  );
}

/** What is left of each segment of speech, numbered from 0. */
const heard = (cards: CardListener, ...said: string[]): string[] =>
  said.map((text, segment) => {
    const masked = cards.heard(segment, text);
    const event: ConversationEvent = { type: 'transcript', segment, text: masked, isFinal: true, understood: true };
    expect(cards.take(event)).toEqual(event);
    return masked;
  });

describe('while a card is asked for', () => {
  it('takes a number in several segments for one', () => {
    expect(heard(listener(true), '4242 4242', '4242 4242.')).toEqual(['0000 0000', TOKEN]);
    expect(heard(listener(true), 'It is four two four two,', 'four two four two', '4242', 'double four')).toEqual([
      'It is zero zero zero zero,',
      'zero zero zero zero',
      '0000',
      'zero zero',
    ]);
  });

  it('takes one that is said in pairs', () => {
    const pairs = Array.from({ length: 8 }, () => 'forty-two');
    expect(heard(listener(true), ...pairs)).toEqual([...pairs.slice(1).map(() => 'zero-zero'), TOKEN]);
  });

  it('leaves other words as they are, and goes on after them', () => {
    expect(heard(listener(true), 'One moment, please.', 'Yes.')).toEqual(['One moment, please.', 'Yes.']);
    const [, between, last] = heard(listener(true), '4242 4242', 'One moment, please.', '4242 4242');
    expect(between).toBe('zero moment, please.');
    expect(last).toBe(TOKEN);
  });

  it('takes a number before other digits', () => {
    expect(heard(listener(true), `${SPOKEN} and it expires oh four twenty eight`)).toEqual([TOKEN]);
    const typed = { type: 'text', text: `${CARD}, 04/28` } as const;
    expect(listener(true).take(typed)).toEqual({ type: 'text', text: TOKEN });
  });
});

describe('while no card is asked for', () => {
  it.each([
    [SPOKEN, TOKEN],
    [
      `My card is ${SPOKEN} and it expires oh four twenty eight`,
      `My card is ${TOKEN} and it expires oh four twenty eight`,
    ],
    ['Forty-two forty-two, forty-two forty-two, forty-two forty-two, forty-two forty-two.', TOKEN],
    ['It is four two four two, let me see, 4242 and then 4242 4242.', TOKEN],
    [`It is ${'four two '.repeat(7)}four`, `It is ${WRONG}`],
    [`It is ${CARD}.`, TOKEN],
    ['It is 4242, 4242, 4242, 4242 until May 28.', `It is ${TOKEN} until May 28.`],
  ])('makes of "%s": %s', (said, left) => {
    expect(heard(listener(false), said)).toEqual([left]);
    expect(listener(false).take({ type: 'participant.said', participant: 'p', text: said })).toMatchObject({
      text: left,
    });
    expect(listener(false).take({ type: 'text', text: said })).toMatchObject({ text: left });
  });

  it.each([
    'My number is two oh two, five five five, oh one four three.',
    'From 2026-11-28 14:00 to 2026-11-28 15:00, 22 or 23 people.',
    'Call 0171 1234567.',
  ])('leaves "%s" as it is', (said) => {
    expect(heard(listener(false), said)).toEqual([said]);
  });
});

describe('tools with card numbers', () => {
  const context: ToolContext = { sessionId: 's', metadata: {}, signal: new AbortController().signal };
  const call = { id: 'c', name: 'charge', arguments: `{"number":"${TOKEN}"}` };

  const run = async (answer: (args: string, context: ToolContext) => Promise<ToolResult>, told = context) => {
    const cards = new CardNumbers();
    cards.keep(CARD);
    const toolbox = cards.toolbox({ specs: [], run: ({ arguments: args }, given) => answer(args, given) });
    return toolbox.run(call, told);
  };

  it('get them, and answer without them, however they write them', async () => {
    const content = '4242-4242-4242-4242, 4242 4242 4242 4242, {"card":"4242424242424242","at":1764374400123}';
    const got: string[] = [];
    const result = await run((args) => {
      got.push(args);
      return Promise.resolve({ ok: false, content, cause: `Error: ${CARD} was refused` });
    });
    expect(got).toEqual([`{"number":"${CARD}"}`]);
    expect(result).toEqual({
      ok: false,
      content: `${TOKEN}, ${TOKEN}, {"card":"${TOKEN}","at":1764374400123}`,
      cause: `Error: ${TOKEN} was refused`,
    });
  });

  it('fail and report their progress without them', async () => {
    const progress: string[] = [];
    const failing = run(
      (_args, given) => {
        given.progress?.(`Charging ${CARD}.`, true);
        return Promise.reject(new Error(`4242 4242 4242 4242 was refused`));
      },
      { ...context, progress: (text) => progress.push(text) },
    );
    expect(await failing).toEqual({ ok: false, content: `The tool failed: ${TOKEN} was refused` });
    expect(progress).toEqual([`Charging ${TOKEN}.`]);
  });
});
