import type { ServerResponse } from 'node:http';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Engine } from '../../src/engine/engine.js';
import type { EvalModels } from '../../src/eval/ask-model.js';
import {
  beginStream,
  callChunk,
  finishChunk,
  OpenAiDouble,
  sendError,
  stream,
  textChunk,
} from '../providers/llm/openai-double.js';

/** The id of the model that the server has. */
export const MODEL = 'judge-model';

/** An engine with a model of a strict OpenAI double. Deadlines and waits pass in virtual time. */
export class ModelServer {
  readonly double = new OpenAiDouble();
  readonly clock = new VirtualClock();
  #engine: Engine | null = null;

  async open(): Promise<void> {
    const baseUrl = await this.double.listen();
    this.#engine = new Engine({ models: { [MODEL]: { baseUrl, model: 'vendor/judge' } } });
  }

  get models(): EvalModels {
    const engine = this.#engine as Engine;
    return { complete: (request) => engine.complete(request), clock: this.clock };
  }

  /** The bodies of all requests, in order. */
  get bodies(): Record<string, unknown>[] {
    return this.double.requests.map(({ body }) => body);
  }

  /** Answers each request in turn; the last answer repeats. */
  answers(...answers: ((response: ServerResponse) => void)[]): void {
    this.double.answer = (response) => answers[Math.min(this.double.requests.length, answers.length) - 1]?.(response);
  }

  /** Lets time pass once the server has this many requests, and this many timers run. */
  async passAfter(requests: number, timers: number, ms: number): Promise<void> {
    while (this.double.requests.length < requests || this.clock.pending < timers) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await this.clock.advanceBy(ms);
  }

  async close(): Promise<void> {
    await this.#engine?.close();
    await this.double.close();
  }
}

/** What each answer by a call has used. */
export const USED = { promptTokens: 100, completionTokens: 10 };
const USAGE = { choices: [], usage: { prompt_tokens: USED.promptTokens, completion_tokens: USED.completionTokens } };

/** An answer by one call of a tool. */
export function calls(name: string, args: unknown): (response: ServerResponse) => void {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  return (response) => {
    const head = { index: 0, id: 'c1', type: 'function', function: { name, arguments: text.slice(0, 5) } };
    const rest = { index: 0, function: { arguments: text.slice(5) } };
    stream(response, [callChunk(head), callChunk(rest), finishChunk('tool_calls'), USAGE]);
  };
}

/** What models do in place of an answer, and what the error says of it. */
export const BAD_ANSWERS: readonly (readonly [
  name: string,
  answer: (response: ServerResponse) => void,
  says: string,
])[] = [
  ['words', (response) => stream(response, [textChunk('I think it went well.'), finishChunk('stop')]), 'in words'],
  [
    'a refusal',
    (response) => {
      const refusal = { choices: [{ index: 0, delta: { content: null, refusal: 'I cannot help with that.' } }] };
      stream(response, [refusal, finishChunk('stop')]);
    },
    'I cannot help with that.',
  ],
  [
    'a filtered answer',
    (response) => stream(response, [finishChunk('content_filter')]),
    'the content filter withheld the reply',
  ],
  ['nothing', (response) => stream(response, [finishChunk('stop')]), 'it did not answer'],
  [
    'a broken stream',
    (response) => {
      beginStream(response);
      response.end('data: {"choices": [\n\n');
    },
    'unreadable event',
  ],
  ['a wrong key', (response) => sendError(response, 401, 'Incorrect API key'), 'check its API key'],
  ['a broken server', (response) => sendError(response, 500, 'boom'), 'HTTP 500: boom'],
];

export function limited(headers: Readonly<Record<string, string>> = {}): (response: ServerResponse) => void {
  return (response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    sendError(response, 429, 'Rate limit reached');
  };
}
