import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../../src/base/real-clock.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { ChatMessage } from '../../../../src/agent/chat.js';
import { ParleyError } from '../../../../src/base/errors.js';
import type { LlmPiece, LlmRequest } from '../../../../src/providers/llm/llm.js';
import { OpenAiProvider, type OpenAiOptions } from '../../../../src/providers/llm/vendors/openai.js';
import {
  OpenAiDouble,
  beginStream,
  callChunk,
  finishChunk,
  sendError,
  sendEvent,
  stream,
  textChunk,
  usageChunk,
} from '../openai-double.js';

let double: OpenAiDouble;
let baseUrl: string;
let provider: OpenAiProvider;
const opened: OpenAiProvider[] = [];

beforeEach(async () => {
  double = new OpenAiDouble();
  baseUrl = await double.listen();
  provider = make();
});

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  await double.close();
});

function make(options: Partial<OpenAiOptions> = {}): OpenAiProvider {
  const made = new OpenAiProvider({ baseUrl, apiKey: 'key', ...options });
  opened.push(made);
  return made;
}

function request(changes: Partial<LlmRequest> = {}): LlmRequest {
  return {
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    temperature: 0,
    clock: new RealClock(),
    signal: new AbortController().signal,
    ...changes,
  };
}

async function collect(pieces: AsyncIterable<LlmPiece>): Promise<LlmPiece[]> {
  const all: LlmPiece[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

function textOf(pieces: readonly LlmPiece[]): string {
  return pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join('');
}

async function failure(pieces: AsyncIterable<LlmPiece>): Promise<ParleyError> {
  const error: unknown = await collect(pieces).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ParleyError);
  return error as ParleyError;
}

/** Runs virtual time on until `work` has settled, letting real sockets work in between. */
async function settleIn(clock: VirtualClock, work: Promise<unknown>, stepMs: number): Promise<void> {
  const state = { settled: false };
  const done = work
    .catch(() => undefined)
    .finally(() => {
      state.settled = true;
    });
  while (!state.settled) await clock.advanceBy(stepMs);
  await done;
}

describe('a reply', () => {
  it('streams text, then usage', async () => {
    double.answer = (response) => {
      stream(response, [textChunk('Good '), textChunk('evening.'), finishChunk('stop'), usageChunk]);
    };
    expect(await collect(provider.complete(request()))).toEqual([
      { type: 'text', text: 'Good ' },
      { type: 'text', text: 'evening.' },
      { type: 'usage', promptTokens: 12, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 5 },
    ]);
  });

  it('counts once what a server tells with every event, and what came out of its cache', async () => {
    const counted = (completion_tokens: number) => ({
      ...textChunk('Yes. '),
      usage: {
        prompt_tokens: 2006,
        completion_tokens,
        prompt_tokens_details: { cached_tokens: 1920, cache_write_tokens: 64 },
      },
    });
    double.answer = (response) => stream(response, [counted(1), counted(2), finishChunk('stop')]);
    expect((await collect(provider.complete(request()))).filter(({ type }) => type === 'usage')).toEqual([
      { type: 'usage', promptTokens: 2006, cachedTokens: 1920, cacheWriteTokens: 64, completionTokens: 2 },
    ]);
  });

  it('sends what the protocol asks for', async () => {
    const tools = [{ name: 'book', description: 'Books.', parameters: { type: 'object', properties: {} } }];
    const named = make({ modelName: () => 'vendor/model', headers: { 'x-team': 'voice' } });
    await collect(named.complete(request({ tools, temperature: 0.4 })));
    expect(double.requests[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer key', 'x-team': 'voice' },
      body: {
        model: 'vendor/model',
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0.4,
        tools: [{ type: 'function', function: { name: 'book', description: 'Books.' } }],
      },
    });
  });

  it('sends no authorization without a key, and copes with a base URL that ends in a slash', async () => {
    const local = new OpenAiProvider({ baseUrl: `${baseUrl}/` });
    opened.push(local);
    await collect(local.complete(request()));
    expect(double.requests[0]?.path).toBe('/v1/chat/completions');
    expect(double.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('puts characters together that the network tore apart', async () => {
    double.answer = async (response) => {
      beginStream(response);
      const bytes = Buffer.from(`data: ${JSON.stringify(textChunk('Grüße, 世界 🎉'))}\r\n\r\n`);
      for (const byte of bytes) {
        response.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      sendEvent(response, finishChunk('stop'));
      response.end('data: [DONE]\n\n');
    };
    expect(textOf(await collect(provider.complete(request())))).toBe('Grüße, 世界 🎉');
  });

  it('ignores comments, unknown fields, keep-alive words and reasoning', async () => {
    double.answer = (response) => {
      beginStream(response);
      response.write(': ping\n\nfoo: bar\n\nretry: abc\n\ndata: ping\n\ndata:\n\n');
      sendEvent(response, { choices: [{ index: 0, delta: { reasoning_content: 'hm', content: null } }] });
      sendEvent(response, { choices: null });
      sendEvent(response, textChunk('Yes.'));
      sendEvent(response, finishChunk('stop'));
      response.end('data: [DONE]\n\n');
    };
    expect(textOf(await collect(provider.complete(request())))).toBe('Yes.');
  });

  it('ends without [DONE] where a finish reason came', async () => {
    double.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Fine.'));
      sendEvent(response, finishChunk('stop'));
      response.end();
    };
    expect(textOf(await collect(provider.complete(request())))).toBe('Fine.');
  });

  it('takes a whole reply from a server that does not stream', async () => {
    double.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const call = { id: 'c1', type: 'function', function: { name: 'book', arguments: '{"n":1}' } };
      response.end(
        JSON.stringify({
          choices: [{ message: { role: 'assistant', content: 'Done.', tool_calls: [call] }, finish_reason: 'stop' }],
        }),
      );
    };
    expect(await collect(provider.complete(request()))).toEqual([
      { type: 'text', text: 'Done.' },
      { type: 'toolCall', call: { id: 'c1', name: 'book', arguments: '{"n":1}' } },
    ]);
  });

  it('gives the words of a refusal, which come in a field of their own', async () => {
    const refusal = { choices: [{ index: 0, delta: { content: null, refusal: 'I cannot.' } }] };
    double.answer = (response) => stream(response, [refusal, finishChunk('stop')]);
    expect(textOf(await collect(provider.complete(request())))).toBe('I cannot.');
  });

  it('keeps connections for the next replies', async () => {
    for (let turn = 0; turn < 10; turn++) await collect(provider.complete(request()));
    // undici opens a second one where the first is still finishing.
    expect(double.connections).toBeLessThanOrEqual(2);
  });
});

describe('tool calls', () => {
  const call = (id: string, name: string, args: string): LlmPiece => ({
    type: 'toolCall',
    call: { id, name, arguments: args },
  });

  it.each<[string, object[], LlmPiece[]]>([
    [
      'in pieces',
      [
        callChunk({ index: 0, id: 'a', type: 'function', function: { name: 'book', arguments: '' } }),
        callChunk({ index: 0, function: { arguments: '{"par' } }),
        callChunk({ index: 0, function: { arguments: 'ty":4}' } }),
      ],
      [call('a', 'book', '{"party":4}')],
    ],
    [
      'several, interleaved',
      [
        callChunk({ index: 0, id: 'a', function: { name: 'one', arguments: '{' } }),
        callChunk({ index: 1, id: 'b', function: { name: 'two', arguments: '{' } }),
        callChunk({ index: 0, function: { arguments: '}' } }, { index: 1, function: { arguments: '"x":1}' } }),
      ],
      [call('a', 'one', '{}'), call('b', 'two', '{"x":1}')],
    ],
    [
      'several, all with index 0 (Ollama)',
      [
        callChunk({ index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }),
        callChunk({ index: 0, id: 'b', function: { name: 'two', arguments: '{' } }),
        callChunk({ index: 0, id: 'b', function: { name: '', arguments: '}' } }),
      ],
      [call('a', 'one', '{}'), call('b', 'two', '{}')],
    ],
    [
      'without index and ids',
      [callChunk({ function: { name: 'one', arguments: '{"a"' } }), callChunk({ function: { arguments: ':1}' } })],
      [call('call_1_0', 'one', '{"a":1}')],
    ],
    [
      'with arguments as an object',
      [callChunk({ index: 0, id: 'a', function: { name: 'one', arguments: { n: 1 } } })],
      [call('a', 'one', '{"n":1}')],
    ],
    [
      'of junk',
      [callChunk({ index: 0, function: { arguments: '{}' } }), { choices: [{ delta: { tool_calls: [7] } }] }],
      [],
    ],
  ])('%s', async (_name, events, expected) => {
    double.answer = (response) => {
      stream(response, [...events, finishChunk('tool_calls')]);
    };
    expect(await collect(provider.complete(request()))).toEqual(expected);
  });

  it('are not handed out where the stream breaks off', async () => {
    double.answer = (response) => {
      beginStream(response);
      sendEvent(response, callChunk({ index: 0, id: 'a', function: { name: 'book', arguments: '{"party":4}' } }));
      response.end();
    };
    const error = await failure(provider.complete(request()));
    expect(error.message).toContain('broke off');
  });

  it('go back in the history in a form that strict servers take', async () => {
    const messages: ChatMessage[] = [
      { role: 'tool', toolCallId: 'gone', content: 'cut off by a history limit' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'a', name: 'one', arguments: '{broken' },
          { id: 'b', name: 'two', arguments: '{"x":1}' },
        ],
      },
      { role: 'tool', toolCallId: 'b', content: 'fine' },
      { role: 'user', content: 'And?' },
    ];
    await collect(provider.complete(request({ messages })));
    expect(double.requests[0]?.body['messages']).toMatchObject([
      { role: 'assistant', content: null, tool_calls: [{ function: { arguments: '{}' } }, { id: 'b' }] },
      { role: 'tool', tool_call_id: 'a', content: expect.stringContaining('Interrupted') as unknown },
      { role: 'tool', tool_call_id: 'b', content: 'fine' },
      { role: 'user', content: 'And?' },
    ]);
  });
});

describe('refusals and failures', () => {
  it('shows no key, though the server repeats it', async () => {
    const [apiKey, token] = ['sk-0123456789', 'gateway-token-1'];
    const provided = make({ apiKey, headers: { 'x-gateway': token } });
    const replies = [
      (response: ServerResponse) => sendError(response, 401, `not with ${apiKey}, nor with ${token}`),
      (response: ServerResponse) => stream(response, [{ error: { message: `not with ${apiKey}` } }]),
    ];
    for (const answer of replies) {
      double.answer = answer;
      const error = await failure(provided.complete(request()));
      expect(error.message).toContain('not with ***');
      expect(JSON.stringify([error.message, error, error.cause])).not.toMatch(/sk-0123|gateway-token/);
    }
  });

  it.each([
    [401, 'PROVIDER_REFUSED', false],
    [404, 'PROVIDER_REFUSED', false],
    [429, 'PROVIDER_FAILED', true],
    [500, 'PROVIDER_FAILED', true],
    [503, 'PROVIDER_FAILED', true],
  ])('HTTP %i', async (status, code, retryable) => {
    double.answer = (response) => {
      sendError(response, status, 'the reason');
    };
    const error = await failure(provider.complete(request()));
    expect(error).toMatchObject({ code, retryable, details: { status } });
    expect(error.message).toContain(`HTTP ${String(status)}: the reason`);
  });

  it('survives an error body that is no JSON or has no end', async () => {
    double.answer = (response) => {
      response.writeHead(502);
      response.end('<html>Bad gateway</html>');
    };
    expect((await failure(provider.complete(request()))).message).toContain('Bad gateway');
    double.answer = (response) => {
      response.writeHead(502);
      response.end('x'.repeat(2_000_000));
    };
    expect((await failure(provider.complete(request()))).message).toContain('too long');
  });

  it.each(['stream_options', 'temperature', 'seed'])('leaves out %s where the server refuses it', async (field) => {
    double.answer = (response, { body }) => {
      if (field in body) sendError(response, 400, `Unknown parameter: '${field}'`);
      else stream(response, [textChunk('Fine.'), finishChunk('stop')]);
    };
    expect(textOf(await collect(provider.complete(request({ seed: 7 }))))).toBe('Fine.');
    expect(textOf(await collect(provider.complete(request({ seed: 7 }))))).toBe('Fine.');
    expect(double.requests.map(({ body }) => field in body)).toEqual([true, false, false]);
  });

  it('an error in the middle of the stream', async () => {
    double.answer = (response) => {
      stream(response, [textChunk('Well, '), { error: { message: 'overloaded', code: 503 } }]);
    };
    expect((await failure(provider.complete(request()))).message).toContain('overloaded');
  });

  it.each<[string, string]>([
    ['broken JSON', 'data: {"choices": [\n\n'],
    ['an array instead of an event', 'data: {"a":1}\n\ndata: {[]}\n\n'],
  ])('%s', async (_name, raw) => {
    double.answer = (response) => {
      beginStream(response);
      response.end(raw);
    };
    expect((await failure(provider.complete(request()))).message).toContain('unreadable');
  });

  it('a line without an end', async () => {
    double.answer = (response) => {
      beginStream(response);
      response.end(`data: {"choices":[{"delta":{"content":"${'x'.repeat(3_000_000)}`);
    };
    expect((await failure(provider.complete(request()))).message).toContain('too long');
  });

  it('arguments without an end', async () => {
    double.answer = (response) => {
      beginStream(response);
      const piece = { index: 0, id: 'a', function: { name: 'one', arguments: 'x'.repeat(100_000) } };
      for (let count = 0; count < 3; count++) sendEvent(response, callChunk(piece));
      response.end();
    };
    expect((await failure(provider.complete(request()))).message).toContain('too long');
  });

  it('a page instead of a stream', async () => {
    double.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html>');
    };
    expect((await failure(provider.complete(request()))).message).toContain('neither');
  });

  it('a withheld reply', async () => {
    double.answer = (response) => {
      stream(response, [finishChunk('content_filter')]);
    };
    expect((await failure(provider.complete(request()))).message).toContain('content filter');
  });

  it('a server that closes, resets or half-closes in the middle', async () => {
    for (const cut of ['end', 'destroy', 'half'] as const) {
      double.answer = (response) => {
        beginStream(response);
        sendEvent(response, textChunk('I was about'));
        if (cut === 'end') response.end();
        else if (cut === 'destroy') response.destroy();
        else response.socket?.end();
      };
      const pieces: LlmPiece[] = [];
      const error = await failure(
        (async function* () {
          for await (const piece of provider.complete(request())) {
            pieces.push(piece);
            yield piece;
          }
        })(),
      );
      expect(error.code).toBe('PROVIDER_FAILED');
      if (cut !== 'destroy') expect(textOf(pieces)).toBe('I was about');
    }
  });

  it('nobody listening', async () => {
    await double.close();
    expect((await failure(provider.complete(request()))).code).toBe('PROVIDER_FAILED');
    await expect(provider.warmUp()).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
    double = new OpenAiDouble();
    await double.listen();
  });

  it('a base URL that is none', () => {
    expect(() => new OpenAiProvider({ baseUrl: 'localhost' })).toThrow(/base URL/);
    expect(() => new OpenAiProvider({ baseUrl: 'ftp://x' })).toThrow(/base URL/);
  });
});

describe('deadlines, on the given clock', () => {
  it('until the first byte', async () => {
    double.answer = () => undefined;
    const clock = new VirtualClock();
    const reply = failure(make({ firstByteTimeoutMs: 4000 }).complete(request({ clock })));
    await settleIn(clock, reply, 50);
    expect(await reply).toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 4000 } });
    await double.replyCut();
    expect(clock.pending).toBe(0);
  });

  it('until the first event, where headers alone came', async () => {
    double.answer = beginStream;
    const clock = new VirtualClock();
    const reply = failure(make({ firstByteTimeoutMs: 4000 }).complete(request({ clock })));
    await settleIn(clock, reply, 50);
    expect(await reply).toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 4000 } });
    await double.replyCut();
  });

  it('between two pieces; comments keep no reply alive', async () => {
    double.answer = async (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Let me'));
      while (!response.destroyed) {
        response.write(': still here\n\n');
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const clock = new VirtualClock();
    const pieces = make({ idleTimeoutMs: 700 }).complete(request({ clock }));
    expect((await pieces.next()).value).toEqual({ type: 'text', text: 'Let me' });
    const rest = failure(pieces);
    await settleIn(clock, rest, 50);
    expect(await rest).toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 700 } });
    await double.replyCut();
  });

  it('until the connection stands', async () => {
    // TCP is there, but the TLS handshake gets no answer.
    const sockets: Socket[] = [];
    const deaf = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${String((deaf.address() as AddressInfo).port)}/v1`;
    const clock = new VirtualClock();
    const reply = failure(make({ baseUrl: url, connectTimeoutMs: 300 }).complete(request({ clock })));
    await settleIn(clock, reply, 50);
    expect(await reply).toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 300 } });
    for (const each of opened.splice(0)) await each.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => deaf.close(resolve));
  });

  it('a slow drip is no stall, and a slow reader is not the server’s fault', async () => {
    const words = ['One ', 'two ', 'three ', 'four.'];
    let next: () => void = () => undefined;
    double.answer = (response) => {
      beginStream(response);
      let index = 0;
      next = () => {
        const word = words[index++];
        if (word !== undefined) sendEvent(response, textChunk(word));
        else if (index === words.length + 1) {
          sendEvent(response, finishChunk('stop'));
          response.end('data: [DONE]\n\n');
        }
      };
      next();
    };
    const clock = new VirtualClock();
    let text = '';
    for await (const piece of make({ idleTimeoutMs: 500 }).complete(request({ clock }))) {
      if (piece.type === 'text') text += piece.text;
      await clock.advanceBy(60_000);
      next();
    }
    expect(text).toBe('One two three four.');
    expect(clock.pending).toBe(0);
  });

  it('a server that keeps a finished reply open costs its connection only', async () => {
    double.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Done.'));
      sendEvent(response, '[DONE]');
    };
    const clock = new VirtualClock();
    const reply = collect(provider.complete(request({ clock })));
    await settleIn(clock, reply, 10);
    expect(textOf(await reply)).toBe('Done.');
    await double.replyCut();
  });
});

describe('cancelling', () => {
  it('closes the socket and throws the reason, before and after the first piece', async () => {
    for (const late of [false, true]) {
      let arrived: () => void = () => undefined;
      const waiting = new Promise<void>((resolve) => (arrived = resolve));
      double.answer = (response) => {
        if (late) {
          beginStream(response);
          sendEvent(response, textChunk('So '));
        }
        arrived();
      };
      const controller = new AbortController();
      const pieces = provider.complete(request({ signal: controller.signal }));
      const first = pieces.next();
      await waiting;
      if (late) await first;
      const reason = new Error('interrupted');
      controller.abort(reason);
      await expect(late ? pieces.next() : first).rejects.toBe(reason);
      await double.replyCut();
    }
  });

  it('sends nothing where it was aborted before', async () => {
    const reason = new Error('too late');
    await expect(collect(provider.complete(request({ signal: AbortSignal.abort(reason) })))).rejects.toBe(reason);
    expect(double.requests).toHaveLength(0);
  });

  it('a reader that stops reading closes the socket', async () => {
    double.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('A long story'));
    };
    for await (const piece of provider.complete(request())) {
      expect(piece.type).toBe('text');
      break;
    }
    await double.replyCut();
  });
});

describe('warming up', () => {
  it('opens the connection that the first reply uses', async () => {
    await provider.warmUp();
    await collect(provider.complete(request()));
    expect(double.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/models',
      'POST /v1/chat/completions',
    ]);
    expect(double.connections).toBeLessThanOrEqual(2);
  });

  it('tells of a refused key', async () => {
    double.answer = (response) => {
      sendError(response, 401, 'Incorrect API key');
    };
    await expect(provider.warmUp()).rejects.toMatchObject({ code: 'PROVIDER_REFUSED' });
  });

  it('close may be called twice', async () => {
    await provider.warmUp();
    await provider.close();
    await provider.close();
    await double.allClosed();
  });
});
