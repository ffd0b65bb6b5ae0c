import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.js';
import { CallerError, type CallerMove, type CallerView } from '../../../src/eval/caller/caller.js';
import {
  ModelCaller,
  type ModelCallerOptions,
  personaMessages,
  personaPrompt,
} from '../../../src/eval/caller/model-caller.js';
import type { Persona } from '../../../src/eval/suite/caller-schema.js';
import { BAD_ANSWERS, calls, limited, MODEL, ModelServer } from '../model-server.js';

const PERSONA: Persona = { goal: 'Book a table for four on Saturday.', facts: { name: 'Ann Lee', party_size: 4 } };
const VIEW: CallerView = {
  agentSaid: 'For how many people?',
  transcript: [
    { who: 'caller', text: 'I need a table.' },
    { who: 'agent', text: 'For how\nmany people?' },
  ],
  turn: 1,
  agentIsSilent: false,
};

let server: ModelServer;
beforeEach(async () => {
  server = new ModelServer();
  await server.open();
});
afterEach(() => server.close());

function callerOf(persona: Partial<Persona> = {}, more: Partial<ModelCallerOptions> = {}): ModelCaller {
  return new ModelCaller({
    persona: { ...PERSONA, ...persona },
    model: MODEL,
    models: server.models,
    language: 'en-GB',
    isCalled: false,
    random: new Random(5),
    ...more,
  });
}

const { signal } = new AbortController();
function next(caller: ModelCaller, view: Partial<CallerView> = {}): Promise<readonly CallerMove[]> {
  return caller.next({ ...VIEW, ...view }, signal);
}

const say = (text: string, more: object = {}) => ({ action: 'say', text, ...more });
const act = (...moves: object[]) => calls('act', { moves });

describe('a persona that a model plays', () => {
  it('says what the model says', async () => {
    server.answers(act(say('For four, please.')));
    const caller = callerOf();
    expect(await next(caller)).toEqual([{ say: 'For four, please.' }]);
    expect(server.bodies).toMatchObject([
      {
        temperature: 0.7,
        messages: personaMessages({ persona: PERSONA, language: 'en-GB', isCalled: false }, VIEW, false),
      },
    ]);
    expect(caller).toMatchObject({ reactionMs: 700, patienceMs: 10_000 });
  });

  it('presses keys, stays silent, listens on and hangs up', async () => {
    server.answers(
      act({ action: 'press', keys: '12#' }),
      act({ action: 'wait', seconds: 1.5 }, say('Hello?')),
      act({ action: 'wait' }),
      act(say('Goodbye.'), { action: 'hang_up' }),
    );
    const caller = callerOf();
    expect(await next(caller)).toEqual([{ press: '12#' }]);
    expect(await next(caller)).toEqual([{ waitMs: 1500 }, { say: 'Hello?' }]);
    expect(await next(caller)).toEqual([]);
    expect(await next(caller)).toEqual([{ say: 'Goodbye.' }, { hangUp: true }]);
  });

  it('has the same seed in every turn of a run, and another one in another run', async () => {
    server.answers(act(say('Yes.')));
    const [one, other] = [callerOf(), callerOf({}, { random: new Random(6) })];
    for (const caller of [one, one, other]) await next(caller);
    const [first, second, third] = server.bodies.map(({ seed }) => seed);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('pauses, mumbles and interrupts in its manner only', async () => {
    const answer = { moves: [say('It is … four.', { mumbled: true })], interrupt: 'Yes, yes.' };
    server.answers(calls('act', answer));
    const plain = callerOf();
    expect(await next(plain)).toEqual([{ say: 'It is … four.', pauseMs: 900 }]);
    expect(plain.bargeIn()).toBeNull();
    const other = callerOf({ manner: ['mumbles_numbers', 'talks_over', 'impatient'] });
    expect(await next(other)).toEqual([{ say: 'It is … four.', pauseMs: 900, mumbled: true }]);
    expect(other).toMatchObject({ reactionMs: 350, patienceMs: 5000 });
    const bargeIn = other.bargeIn();
    expect(bargeIn?.say).toBe('Yes, yes.');
    expect(bargeIn?.afterMs).toBeGreaterThanOrEqual(600);
    expect(bargeIn?.afterMs).toBeLessThanOrEqual(1600);
    // Once for each time that the model says so.
    expect(other.bargeIn()).toBeNull();
  });
});

describe('what a persona prescribes goes before the model', () => {
  it.each<[string, Partial<Persona>, Partial<CallerView>, readonly CallerMove[]]>([
    ['silence', { silent: true }, {}, []],
    ['keys', { keys: { 'how many': '4' } }, {}, [{ press: '4' }]],
    ['an answer', { answers: { '/people\\?$/': 'Four … no, five.' } }, {}, [{ say: 'Four … no, five.', pauseMs: 900 }]],
    ['the end', { stop: { when_said: 'goodbye', hang_up: true } }, { agentSaid: 'Goodbye!' }, [{ hangUp: true }]],
    ['the last turn', { stop: { max_turns: 3 } }, { turn: 3 }, [{ hangUp: true }]],
    ['the last turn by default', {}, { turn: 30 }, [{ hangUp: true }]],
  ])('%s', async (_name, persona, view, moves) => {
    expect(await next(callerOf(persona), view)).toEqual(moves);
    expect(server.bodies).toEqual([]);
  });

  it('the first words, which are said once', async () => {
    server.answers(act(say('For four.')));
    const caller = callerOf({ opening: 'A table, please.' });
    expect(await next(caller, { turn: 0, agentSaid: 'Hello.' })).toEqual([{ say: 'A table, please.' }]);
    expect(await next(caller)).toEqual([{ say: 'For four.' }]);
  });

  it('the first words of a caller who is called, after a hello', async () => {
    server.answers(act(say('Hello?')));
    const caller = callerOf({ opening: 'Who is this?' }, { isCalled: true });
    expect(await next(caller, { turn: 0, agentSaid: '', agentIsSilent: true })).toEqual([{ say: 'Hello?' }]);
    expect(await next(caller, { agentSaid: 'This is Kim.' })).toEqual([{ say: 'Who is this?' }]);
  });
});

describe('the prompt', () => {
  const options = { language: 'de', isCalled: true };

  it('has goal, facts, manner, language and stopping rule', () => {
    const facts = { name: 'Ann', size: { value: 4, say: 'four of us', changes_to: 5 } };
    const stop = { when_said: 'booked', hang_up: true };
    const opening = 'A table!';
    const persona: Persona = { ...PERSONA, facts, stop, opening, manner: ['changes_mind', 'digresses'] };
    const prompt = personaPrompt({ persona, ...options });
    for (const part of [
      'The agent has called you.',
      'Your goal: Book a table for four on Saturday.',
      '- name: Ann\n- size: first 4 (say: "four of us"), then 5\n',
      'You change your mind',
      'You digress',
      'You speak German (de)',
      'Your first words about your concern: A table!',
      'You are done when the agent says "booked"',
      'hang up without a goodbye',
    ]) {
      expect(prompt).toContain(part);
    }
    expect(prompt).not.toContain('impatient');
  });

  it('leaves out what the persona does not have', () => {
    const prompt = personaPrompt({ persona: { goal: 'Complain.' }, language: 'en', isCalled: false });
    expect(prompt).toContain('You have called the agent.');
    expect(prompt).toContain('You know no facts besides your goal.');
    expect(prompt).toContain('say a short goodbye and hang up');
    expect(prompt).not.toContain('first words');
  });

  it.each<[string, Partial<CallerView>, boolean, string]>([
    [
      'what was said',
      {},
      false,
      'The call so far:\nyou: I need a table.\nagent: For how many people?\n\nThis is your turn 2. The agent has finished',
    ],
    ['a silence', { agentIsSilent: true }, false, 'The agent is silent. What do you do?'],
    [
      'that nothing was said',
      { transcript: [], turn: 0 },
      false,
      'Nobody has said anything yet.\n\nThis is your turn 1.',
    ],
    ['that the caller is done', {}, true, 'You are done: end the call.'],
  ])('asks with %s', (_name, view, isDone, part) => {
    const [, user] = personaMessages({ persona: PERSONA, ...options }, { ...VIEW, ...view }, isDone);
    expect(user?.content).toContain(part);
  });
});

it('tells the model that the caller is done', async () => {
  server.answers(act(say('Bye.'), { action: 'hang_up' }));
  await next(callerOf({ stop: { when_said: 'how many' } }));
  expect(JSON.stringify(server.bodies)).toContain('You are done: end the call.');
});

describe('a model that does not play along breaks the caller', () => {
  async function failure(caller: ModelCaller): Promise<CallerError> {
    const error: unknown = await next(caller).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(CallerError);
    return error as CallerError;
  }

  it.each(BAD_ANSWERS)('with %s', async (_name, answer, says) => {
    server.answers(answer);
    const { kind, message } = await failure(callerOf());
    expect(kind).toBe('error');
    expect(message).toContain('the persona cannot be played: ');
    expect(message).toContain(says);
  });

  it.each([
    ['JSON that is cut off', '{"moves":[{"action":"say","te', 'is not JSON'],
    ['no moves', { moves: [] }, 'moves'],
    ['an unknown move', { moves: [{ action: 'shout', text: 'Hey!' }] }, 'action'],
    ['words without a text', { moves: [{ action: 'say' }] }, 'text: Field required'],
    ['empty words', { moves: [say('  ')] }, 'text'],
    ['keys that no telephone has', { moves: [{ action: 'press', keys: 'E' }] }, 'keys'],
    ['a member of another move', { moves: [{ action: 'hang_up', text: 'Bye.' }] }, 'Unknown field'],
    ['words after the end', { moves: [{ action: 'hang_up' }, say('Bye.')] }, 'Nothing follows hang_up'],
  ])('with %s', async (_name, args, says) => {
    server.answers(calls('act', args));
    expect((await failure(callerOf())).message).toContain(says);
  });

  it('with a slow answer', async () => {
    server.answers(() => undefined);
    const failed = failure(callerOf({}, { deadlineMs: 4_000 }));
    await server.passAfter(1, 1, 4_000);
    expect((await failed).message).toContain('did not answer within 4000 ms');
  });

  it('with a rate limit beyond the deadline', async () => {
    server.answers(limited({ 'retry-after': '60' }));
    expect((await failure(callerOf())).message).toContain('HTTP 429');
  });
});

it('is broken off by its signal, with its reason', async () => {
  server.answers(() => undefined);
  const abort = new AbortController();
  const broken = expect(callerOf().next(VIEW, abort.signal)).rejects.toThrow('enough');
  await server.passAfter(1, 1, 0);
  abort.abort(new Error('enough'));
  await broken;
});
