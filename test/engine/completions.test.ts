import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ParleyError } from '../../src/base/errors.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Engine } from '../../src/engine/engine.js';
import type { CompletionRequest, EngineOptions } from '../../src/engine/options.js';
import type { LlmPiece } from '../../src/providers/llm/llm.js';
import {
  beginStream,
  callChunk,
  finishChunk,
  OpenAiDouble,
  sendError,
  sendEvent,
  stream,
  textChunk,
  usageChunk,
} from '../providers/llm/openai-double.js';

const TOOL = { name: 'book', description: 'Books.', parameters: { type: 'object', properties: {} } };

let double: OpenAiDouble;
let baseUrl: string;
let engines: Engine[];
beforeEach(async () => {
  engines = [];
  double = new OpenAiDouble();
  baseUrl = await double.listen();
});
afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await double.close();
});

function engineOf(options: EngineOptions = {}): Engine {
  const models = { one: { baseUrl, model: 'vendor/one' }, two: { baseUrl }, 'gpt-4.1': { baseUrl } };
  const engine = new Engine({ models, ...options });
  engines.push(engine);
  return engine;
}

function asked(changes: Partial<CompletionRequest> = {}): CompletionRequest {
  const { signal } = new AbortController();
  return { model: 'one', messages: [{ role: 'user', content: 'Hi' }], signal, ...changes };
}

async function pieces(reply: AsyncIterable<LlmPiece>): Promise<LlmPiece[]> {
  const all: LlmPiece[] = [];
  for await (const piece of reply) all.push(piece);
  return all;
}

const modelsAsked = (): unknown[] => double.requests.map(({ body }) => body['model']);

describe('a reply of a configured model', () => {
  it('comes in real time, also where the time of the engine stands still', async () => {
    const engine = engineOf({ clock: new VirtualClock() });
    double.answer = (response) => stream(response, [textChunk('Good '), textChunk('day.'), finishChunk('stop')]);
    expect(await pieces(engine.complete(asked()))).toEqual([
      { type: 'text', text: 'Good ' },
      { type: 'text', text: 'day.' },
    ]);
  });

  it('has the tools, the seed and the temperature of the request', async () => {
    const call = { index: 0, id: 'c1', function: { name: 'book', arguments: '{"n":1}' } };
    double.answer = (response) => stream(response, [callChunk(call), finishChunk('stop'), usageChunk]);
    const request = asked({ tools: [TOOL], requiredTool: 'book', temperature: 0.7, seed: 3 });
    const [first, second] = (await pieces(engineOf().complete(request))).toReversed();
    expect(first).toEqual({ type: 'toolCall', call: { id: 'c1', name: 'book', arguments: '{"n":1}' } });
    expect(second).toMatchObject({ type: 'usage', promptTokens: 12, completionTokens: 5 });
    expect(double.requests[0]?.body).toMatchObject({
      model: 'vendor/one',
      temperature: 0.7,
      seed: 3,
      tool_choice: { type: 'function', function: { name: 'book' } },
    });
  });

  it('is waited for as long as the request says', async () => {
    double.answer = () => undefined;
    const reply = pieces(engineOf().complete(asked({ pieceTimeoutMs: 1, fallbacks: false })));
    await expect(reply).rejects.toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 1 } });
  });

  it('is pinned by default: no temperature, no seed', async () => {
    await pieces(engineOf().complete(asked()));
    expect(double.requests[0]?.body).toMatchObject({ temperature: 0 });
    expect(double.requests[0]?.body).not.toHaveProperty('seed');
  });

  it('is that of its successor, where the model was renamed', async () => {
    await pieces(engineOf().complete(asked({ model: 'gpt-4' })));
    expect(modelsAsked()).toEqual(['gpt-4.1']);
  });
});

describe('a model that fails', () => {
  const limited = (response: ServerResponse): void => {
    response.setHeader('retry-after', '20');
    sendError(response, 429, 'Rate limit reached');
  };

  it.each([false, true])('has its fallbacks (virtual time: %s)', async (isVirtual) => {
    double.answer = (response, { body }) => {
      if (body['model'] === 'vendor/one') limited(response);
      else stream(response, [textChunk('From two.'), finishChunk('stop'), usageChunk]);
    };
    const failover = { stt: [], tts: [], llm: ['two'] };
    const engine = engineOf(isVirtual ? { failover, clock: new VirtualClock() } : { failover });
    const [text, usage] = await pieces(engine.complete(asked()));
    expect(text).toEqual({ type: 'text', text: 'From two.' });
    expect(usage).toMatchObject({ by: { provider: 'openai', model: 'two' } });
  });

  it('has none on request, and says how long its server asks to wait', async () => {
    double.answer = limited;
    const engine = engineOf({ failover: { stt: [], tts: [], llm: ['two'] } });
    const error: unknown = await pieces(engine.complete(asked({ fallbacks: false }))).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ParleyError);
    expect(error).toMatchObject({ code: 'PROVIDER_FAILED', details: { status: 429, retryAfterMs: 20_000 } });
    expect(modelsAsked()).toEqual(['vendor/one']);
  });
});

describe('a request that cannot be made', () => {
  it.each<[string, Partial<CompletionRequest>, string]>([
    ['of an unknown model', { model: 'none' }, 'PROVIDER_UNKNOWN'],
    ['without messages', { messages: [] }, 'ARGUMENT_INVALID'],
    ['that requires a tool it does not offer', { requiredTool: 'book' }, 'ARGUMENT_INVALID'],
  ])('%s', async (_name, changes, code) => {
    await expect(pieces(engineOf().complete(asked(changes)))).rejects.toMatchObject({ code });
    expect(double.requests).toEqual([]);
  });
});

describe('a reply that is broken off', () => {
  beforeEach(() => {
    double.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Well, '));
    };
  });

  it('by its signal: the reason is thrown, and the connection closed', async () => {
    const abort = new AbortController();
    const reply = engineOf().complete(asked({ signal: abort.signal }));
    expect((await reply.next()).value).toEqual({ type: 'text', text: 'Well, ' });
    const next = reply.next();
    abort.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    await double.replyCut();
  });

  it('by a reader who leaves', async () => {
    const reply = engineOf().complete(asked());
    await reply.next();
    await reply.return();
    await double.replyCut();
  });

  it('by the end of the engine', async () => {
    const engine = engineOf();
    const reply = engine.complete(asked());
    await reply.next();
    const next = expect(reply.next()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await engine.close();
    await next;
    await expect(pieces(engine.complete(asked()))).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });
});
