import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/clock/virtual.js';
import { delay } from '../../../src/clock/clock.js';
import { ParleyError } from '../../../src/errors.js';
import { FallbackLlmProvider } from '../../../src/providers/llm/fallback.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../../../src/providers/llm/llm.js';

type Reply = (request: LlmRequest) => AsyncIterable<LlmPiece>;

function model(name: string, complete: Reply, warmUp: () => Promise<void> = () => Promise.resolve()): LlmProvider {
  return { name, virtualTime: true, complete, warmUp, close: () => Promise.resolve() };
}

const say = (text: string): LlmPiece => ({ type: 'text', text });
const spare = model('spare', async function* (request) {
  yield say(`spare ${request.model}`);
});

async function* from(pieces: readonly LlmPiece[]): AsyncGenerator<LlmPiece> {
  yield* pieces;
}

function fails(error: Error): Reply {
  return () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) });
}

/** What a reply of the pair is, and why the spare was used. */
async function run(
  primary: Reply,
  options: { signal?: AbortSignal; secondaryModel?: string } = {},
): Promise<{ text: string; reasons: string[]; error: unknown; clock: VirtualClock }> {
  const clock = new VirtualClock();
  const reasons: string[] = [];
  const pair = new FallbackLlmProvider({
    primary: model('main', primary),
    secondary: spare,
    firstPieceTimeoutMs: 1000,
    onFallback: (reason) => reasons.push(reason instanceof ParleyError ? reason.code : reason.message),
    ...(options.secondaryModel !== undefined && { secondaryModel: options.secondaryModel }),
  });
  const state = { text: '', error: undefined as unknown, done: false };
  const work = (async () => {
    try {
      const signal = options.signal ?? new AbortController().signal;
      for await (const piece of pair.complete({
        model: 'big',
        messages: [],
        tools: [],
        temperature: 0,
        clock,
        signal,
      })) {
        if (piece.type === 'text') state.text += piece.text;
        else state.text += `<${piece.type}>`;
      }
    } catch (error) {
      state.error = error;
    }
    state.done = true;
  })();
  await clock.runUntil(() => state.done);
  await work;
  return { text: state.text, error: state.error, reasons, clock };
}

describe('a model with a spare', () => {
  it('leaves a good reply alone', async () => {
    const { text, reasons } = await run(async function* ({ clock }) {
      yield { type: 'usage', promptTokens: 1, completionTokens: 0 };
      yield say('one ');
      await delay(clock, 5000);
      yield say('two');
    });
    expect([text, reasons]).toEqual(['<usage>one two', []]);
  });

  it('takes over where the first fails before its first word', async () => {
    const { text, reasons } = await run(
      fails(new ParleyError('PROVIDER_FAILED', { provider: 'main', reason: 'down' })),
    );
    expect([text, reasons]).toEqual(['spare big', ['PROVIDER_FAILED']]);
  });

  it('takes over where the first is too slow, even where it does not react to its signal', async () => {
    const { text, reasons, clock } = await run(
      () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }),
      { secondaryModel: 'small' },
    );
    expect([text, reasons]).toEqual(['spare small', ['PROVIDER_TIMEOUT']]);
    expect(clock.nowMs()).toBe(1000);
    expect(clock.pending).toBe(0);
  });

  it('aborts the slow one', async () => {
    let aborted = false;
    await run(async function* ({ clock, signal }) {
      signal.addEventListener('abort', () => (aborted = true));
      await delay(clock, 60_000, signal);
      yield say('too late');
    });
    expect(aborted).toBe(true);
  });

  it('never says twice what was said: a failure after the first word is the caller’s', async () => {
    const failure = new ParleyError('PROVIDER_FAILED', { provider: 'main', reason: 'broke off' });
    const { text, error, reasons } = await run(async function* () {
      yield say('I was ');
      throw failure;
    });
    expect([text, error, reasons]).toEqual(['I was ', failure, []]);
  });

  it('does not take over where the caller has aborted', async () => {
    const controller = new AbortController();
    const reason = new Error('interrupted');
    const { text, error, reasons } = await run(
      async function* ({ signal }) {
        controller.abort(reason);
        signal.throwIfAborted();
        yield say('never');
      },
      { signal: controller.signal },
    );
    expect([text, error, reasons]).toEqual(['', reason, []]);
  });

  it('lets a reply be silent in good order', async () => {
    expect(await run(() => from([]))).toMatchObject({ text: '', reasons: [], error: undefined });
  });

  it('needs only the spare to be warm, and closes both', async () => {
    const broken = model(
      'broken',
      () => from([]),
      () => Promise.reject(new Error('no connection')),
    );
    await new FallbackLlmProvider({ primary: broken, secondary: spare }).warmUp();
    await expect(new FallbackLlmProvider({ primary: spare, secondary: broken }).warmUp()).rejects.toThrow(
      'no connection',
    );
    await new FallbackLlmProvider({ primary: broken, secondary: spare }).close();
    expect(new FallbackLlmProvider({ primary: broken, secondary: spare })).toMatchObject({
      name: 'broken+spare',
      virtualTime: true,
    });
  });
});
