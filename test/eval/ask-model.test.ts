import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ParleyError } from '../../src/base/errors.js';
import { answerOf, askModel, type ModelQuestion } from '../../src/eval/ask-model.js';
import { BAD_ANSWERS, calls, limited, MODEL, ModelServer } from './model-server.js';

const schema = z.strictObject({ colour: z.enum(['red', 'blue']), note: z.string().optional() });
const tool = { name: 'choose', description: 'Chooses.', schema };

let server: ModelServer;
beforeEach(async () => {
  server = new ModelServer();
  await server.open();
});
afterEach(() => server.close());

function ask(changes: Partial<ModelQuestion<typeof schema>> = {}): Promise<z.output<typeof schema>> {
  return askModel(server.models, {
    model: MODEL,
    messages: [{ role: 'user', content: 'Red or blue?' }],
    tool,
    temperature: 0,
    deadlineMs: 10_000,
    signal: new AbortController().signal,
    ...changes,
  });
}

async function failure(work: Promise<unknown>): Promise<ParleyError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ParleyError);
  return error as ParleyError;
}

describe('an answer', () => {
  it('is the arguments of the required call', async () => {
    server.answers(calls('choose', { colour: 'red' }));
    expect(await ask({ seed: 7 })).toEqual({ colour: 'red' });
    expect(server.bodies).toMatchObject([
      {
        model: 'vendor/judge',
        temperature: 0,
        seed: 7,
        tool_choice: { type: 'function', function: { name: 'choose' } },
        tools: [{ function: { name: 'choose', parameters: { additionalProperties: false, required: ['colour'] } } }],
      },
    ]);
    expect(server.clock.pending).toBe(0);
  });

  it.each(BAD_ANSWERS)('is an error where the model gives %s', async (_name, answer, says) => {
    server.answers(answer);
    expect((await failure(ask())).message).toContain(says);
    expect(server.bodies).toHaveLength(1);
  });

  const call = (name: string, args: string) => ({ id: 'c', name, arguments: args });
  it.each([
    ['two calls', [call('choose', '{"colour":"red"}'), call('choose', '{"colour":"red"}')], 'made 2 calls'],
    ['a call of another tool', [call('pick', '{"colour":"red"}')], 'it called "pick" in place of choose'],
    ['JSON that is cut off', [call('choose', '{"colour":"re')], 'is not JSON'],
    ['a missing member', [call('choose', '{}')], 'colour: Field required'],
    ['an unknown member', [call('choose', '{"colour":"red","why":1}')], 'why: Unknown field'],
    ['another value', [call('choose', '{"colour":"green"}')], 'colour: Input should be one of: red, blue'],
    ['a list', [call('choose', '[]')], 'is not valid'],
  ])('is an error where it is %s', (_name, made, says) => {
    expect(() => answerOf({ text: '', calls: made }, { model: MODEL, tool })).toThrow(says);
    expect(() => answerOf({ text: '', calls: made }, { model: MODEL, tool })).toThrow(`${MODEL} failed`);
  });
});

describe('a rate limit', () => {
  it('is waited for as long as the server asks, within the deadline', async () => {
    server.answers(
      limited({ 'retry-after': '2' }),
      limited({ 'retry-after-ms': '1500' }),
      calls('choose', { colour: 'blue' }),
    );
    const answer = ask();
    await server.passAfter(1, 2, 1999);
    expect(server.bodies).toHaveLength(1);
    await server.clock.advanceBy(1);
    await server.passAfter(2, 2, 1500);
    expect(await answer).toEqual({ colour: 'blue' });
    expect(server.bodies).toHaveLength(3);
  });

  it('is waited for ever longer where the server does not say how long', async () => {
    server.answers(limited(), limited(), calls('choose', { colour: 'blue' }));
    const answer = ask();
    await server.passAfter(1, 2, 1000);
    await server.passAfter(2, 2, 2000);
    expect(await answer).toEqual({ colour: 'blue' });
  });

  it('is an error at once where it lasts longer than the deadline', async () => {
    server.answers(limited({ 'retry-after': '10' }));
    expect((await failure(ask())).message).toContain('HTTP 429: Rate limit reached');
    expect(server.bodies).toHaveLength(1);
  });

  it('is an error where it comes again and again', async () => {
    server.answers(limited({ 'retry-after': '0' }));
    const failed = failure(ask());
    for (let request = 1; request < 6; request++) await server.passAfter(request, 2, 0);
    expect((await failed).details).toMatchObject({ status: 429 });
    expect(server.bodies).toHaveLength(6);
  });
});

describe('a question', () => {
  it('has a deadline, and closes the connection of a slow answer', async () => {
    server.answers(() => undefined);
    const failed = failure(ask());
    await server.passAfter(1, 1, 10_000);
    expect(await failed).toMatchObject({
      code: 'PROVIDER_TIMEOUT',
      message: `${MODEL} did not answer within 10000 ms`,
    });
    await server.double.replyCut();
  });

  it('is broken off by its signal', async () => {
    server.answers(() => undefined);
    const abort = new AbortController();
    const broken = expect(ask({ signal: abort.signal })).rejects.toThrow('enough');
    await server.passAfter(1, 1, 0);
    abort.abort(new Error('enough'));
    await broken;
    expect(server.clock.pending).toBe(0);
  });

  it('of a model that is not configured says which are', async () => {
    expect((await failure(ask({ model: 'none' }))).message).toContain(MODEL);
  });
});
