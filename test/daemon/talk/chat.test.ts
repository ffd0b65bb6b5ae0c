import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { NO_LOG } from '../../../src/daemon/operations/log.js';
import { event, httpServer, type LocalServer } from '../../net/local-server.js';
import {
  beginStream,
  callChunk,
  type DoubleRequest,
  finishChunk,
  OpenAiDouble,
  sendError,
  sendEvent,
  stream,
  textChunk,
  usageChunk,
} from '../../providers/llm/openai-double.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';

const BREAD = { role: 'user', content: 'Have you bread?' };
const MODEL = { llm: { model: 'double' } };

let house: House;
let llm: OpenAiDouble;
let tools: LocalServer;
let onTool: (path: string, answer: (text: string) => void) => void;

beforeAll(async () => {
  llm = new OpenAiDouble();
  const route = { provider: 'openai', baseUrl: await llm.listen(), apiKey: null, model: 'double' };
  tools = await httpServer((request, response) => onTool(request.url ?? '', (text) => response.end(text)));
  const engine = { models: new Map([['double', route]]), allowUrls: [tools.origin] };
  house = await House.open({}, new RealClock(), NO_LOG, engine);
});
afterAll(async () => {
  await house.close();
  await llm.close();
  await tools.close();
});
beforeEach(() => {
  llm.requests.length = 0;
  llm.answer = (response) =>
    stream(response, [textChunk('Yes'), textChunk(', fresh.'), finishChunk('stop'), usageChunk]);
  onTool = (path, answer) => answer(`done ${path}`);
});
afterEach(() => expect(house.faults).toEqual([]));

interface Chunk {
  id: string;
  object: string;
  choices: { delta: { content: string }; finish_reason: string | null }[];
  messages?: unknown[];
  error?: { message: string; code: string };
}

/** What the model was given. */
function messagesOf(request: DoubleRequest | undefined): { content: string }[] {
  return (request?.body['messages'] ?? []) as { content: string }[];
}

function post(body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
  return house.request('/chat/completions', { method: 'POST', headers, body: JSON.stringify(body), ...init });
}

/** The events of a whole answer. */
async function events(response: Response): Promise<string[]> {
  const text = await response.text();
  return text.split('\n\n').flatMap((each) => (each.startsWith('data: ') ? [each.slice(6)] : []));
}

async function chat(agent: object, messages: unknown[] = [BREAD], more: object = {}) {
  const response = await post({ agent, messages, ...more });
  expect(response.status, response.ok ? '' : await response.clone().text()).toBe(200);
  const all = await events(response);
  const chunks = all.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as Chunk);
  const text = chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('');
  return { response, chunks, text, isDone: all.at(-1) === '[DONE]' };
}

const booking = {
  ...MODEL,
  tools: [{ name: 'book', description: 'Books.', webhook: '', messages: ['One moment.'], params: [] }],
};
function bookingAgent(): object {
  return {
    agent_config: { ...booking, tools: booking.tools.map((tool) => ({ ...tool, webhook: `${tools.origin}/book` })) },
  };
}

describe('POST /chat/completions', () => {
  it('streams what the model says, in the shape of the interface', async () => {
    const { response, chunks, text, isDone } = await chat({ agent_config: { prompt: 'You sell bread.', ...MODEL } });
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(text).toBe('Yes, fresh.');
    expect(isDone).toBe(true);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, null, 'stop']);
    expect(chunks.every(({ object }) => object === 'chat.completion.chunk')).toBe(true);
    expect(chunks[0]?.id).toBe(`chatcmpl-${String(response.headers.get('x-session-id'))}`);
    expect(chunks.at(-1)?.messages).toEqual([{ role: 'assistant', content: 'Yes, fresh.' }]);
  });

  it('passes each piece on as it comes', async () => {
    const more = event();
    llm.answer = async (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Yes'));
      await more.happened;
      sendEvent(response, finishChunk('stop'));
      response.end();
    };
    const { body } = await post({ agent: { agent_config: MODEL }, messages: [BREAD] });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toContain('"content":"Yes"');
    more.fire();
    await reader.cancel();
  });

  it('opens the conversation as the agent does', async () => {
    expect((await chat({ agent_id: 'baker' }, [])).text).toBe('Hello.');
    expect(llm.requests).toEqual([]);
  });

  it('runs tools inside, says their phrases, and takes what was done back as messages', async () => {
    llm.answer = (response, { body }) => {
      const messages = body['messages'] as { role: string }[];
      if (messages.at(-1)?.role === 'tool') stream(response, [textChunk('Booked.'), finishChunk('stop')]);
      else {
        const call = { index: 0, id: 'c1', type: 'function', function: { name: 'book', arguments: '{}' } };
        stream(response, [callChunk(call), finishChunk('tool_calls')]);
      }
    };
    const { text, chunks } = await chat(bookingAgent());
    expect(text).toBe('One moment. Booked.');
    const added = chunks.at(-1)?.messages ?? [];
    expect(added).toEqual([
      {
        role: 'assistant',
        content: 'One moment.',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'book', arguments: '{}' } }],
      },
      { role: 'tool', content: 'done /book', tool_call_id: 'c1' },
      { role: 'assistant', content: 'Booked.' },
    ]);
    llm.answer = (response) => stream(response, [textChunk('You are welcome.'), finishChunk('stop')]);
    await chat(bookingAgent(), [BREAD, ...added, { role: 'user', content: 'Thanks.' }]);
    expect(messagesOf(llm.requests.at(-1)).slice(1)).toHaveLength(5);
  });

  it('overrides the stored agent field by field, with metadata in its prompt', async () => {
    const agent_config = { ...MODEL, prompt: 'You sell {What}.' };
    const agent = { agent_id: 'baker', agent_config, metadata: { What: 'rye' }, include_metadata_in_prompt: true };
    await chat(agent);
    const [system] = messagesOf(llm.requests[0]);
    expect(system?.content).toMatch(/^You sell rye\./);
    expect(system?.content).toContain('{"What":"rye"}');
    expect((await chat({ ...agent, agent_config: MODEL }, [])).text).toBe('Hello.');
  });
});

describe('what is refused', () => {
  it.each<[string, unknown, number, unknown]>([
    ['no agent', { agent: {}, messages: [] }, 422, ['body', 'agent', 'agent_id']],
    ['an unknown member', { agent: { agent_id: 'baker' }, messages: [], model: 'x' }, 422, ['body', 'model']],
    ['another role', { agent: { agent_id: 'baker' }, messages: [{ role: 'system', content: '' }] }, 422, null],
    ['a message without text', { agent: { agent_id: 'baker' }, messages: [{ role: 'user' }] }, 422, null],
    ['an unknown agent', { agent: { agent_id: 'nobody' }, messages: [] }, 404, null],
    [
      'an unknown model',
      { agent: { agent_config: { llm: { model: 'gpt-77' } } }, messages: [BREAD] },
      422,
      ['body', 'agent', 'agent_config', 'llm', 'model'],
    ],
    [
      'a model that cannot be had',
      { agent: { agent_config: { llm: { model: 'gpt-4o' } } }, messages: [BREAD] },
      422,
      ['body', 'agent', 'agent_config', 'llm', 'model'],
    ],
    [
      'a secret that stands for none',
      {
        agent: {
          agent_id: 'baker',
          agent_config: {
            session_data_webhook: {
              url: 'https://example.com',
              headers: { a: '***' },
            },
          },
        },
        messages: [],
      },
      422,
      ['body', 'agent', 'agent_config', 'session_data_webhook', 'headers', 'a'],
    ],
    [
      'a disabled agent',
      { agent: { agent_id: 'baker', agent_config: { status: 'disabled' } }, messages: [] },
      409,
      null,
    ],
  ])('%s', async (_what, body, status, loc) => {
    const response = await post(body);
    const { detail } = (await response.json()) as { detail: { loc: unknown }[] | string };
    expect({ status: response.status, detail }).toMatchObject({ status });
    if (loc !== null) expect((detail as { loc: unknown }[])[0]?.loc).toEqual(loc);
  });

  it('whoever has no private key, before anything is looked at', async () => {
    for (const [authorization, status] of [
      [PUBLIC_KEY, 403],
      ['sk_wrong', 401],
    ] as const) {
      expect((await post('{', { headers: { authorization } })).status).toBe(status);
    }
  });
});

describe('what goes wrong', () => {
  it.each([
    [500, 502],
    [401, 502],
  ])('a model that answers %i before its first word is a %i', async (upstream, status) => {
    llm.answer = (response) => sendError(response, upstream, 'no');
    const response = await post({ agent: { agent_config: MODEL }, messages: [BREAD] });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining('HTTP') as unknown });
  });

  it('a model that breaks off later is an event, and the end', async () => {
    llm.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Yes'));
      response.socket?.destroySoon();
    };
    const { chunks, isDone } = await chat({ agent_config: MODEL });
    expect(isDone).toBe(false);
    expect(chunks.at(-1)?.error).toMatchObject({ code: 'PROVIDER_FAILED' });
    expect(house.daemon.busy).toBe(0);
  });

  it("the client's leaving breaks off the model at once", async () => {
    const asked = event();
    llm.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Yes'));
      asked.fire();
    };
    const leaving = new AbortController();
    const response = await post({ agent: { agent_config: MODEL }, messages: [BREAD] }, { signal: leaving.signal });
    await asked.happened;
    const cut = llm.replyCut();
    leaving.abort();
    await cut;
    await expect(response.text()).rejects.toThrow();
  });

  it("the client's leaving breaks off tools as well, before anything was sent", async () => {
    const running = event();
    onTool = () => running.fire();
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'quiet', arguments: '{}' } };
    llm.answer = (response) => stream(response, [callChunk(call), finishChunk('tool_calls')]);
    const leaving = new AbortController();
    const quiet = { name: 'quiet', description: 'x', webhook: `${tools.origin}/quiet`, timeout: 60 };
    const agent = { agent_config: { ...MODEL, tools: [quiet] } };
    const response = post({ agent, messages: [BREAD] }, { signal: leaving.signal });
    const gone = expect(response).rejects.toThrow();
    await running.happened;
    leaving.abort();
    await gone;
    while (house.daemon.busy > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('end_of_session', () => {
  async function logged(id: string | null): Promise<Record<string, unknown>> {
    const headers = { authorization: PRIVATE_KEY };
    const { status, body } = await house.ask(`/call-logs/${String(id)}`, { headers });
    expect(status).toBe(200);
    return body as Record<string, unknown>;
  }

  it('logs a chat completion from its messages and the answer', async () => {
    const { response } = await chat({ agent_config: MODEL, metadata: { a: 1 } }, [BREAD], { end_of_session: true });
    const item = await logged(response.headers.get('x-session-id'));
    expect(item).toMatchObject({ call_status: 'chat_completion', agent_id: null, metadata: { a: 1 }, voip: null });
    expect(JSON.parse(item['chat'] as string)).toEqual([BREAD, { role: 'assistant', content: 'Yes, fresh.' }]);
    expect(item['cost_breakdown']).toMatchObject([{ type: 'llm', prompt_tokens: 12, completion_tokens: 5 }]);
  });

  it('of a conversation whose last word the agent had only logs it', async () => {
    const messages = [BREAD, { role: 'assistant', content: 'Yes.' }];
    const { response, text } = await chat({ agent_config: MODEL }, messages, { end_of_session: true });
    expect(text).toBe('');
    expect(JSON.parse((await logged(response.headers.get('x-session-id')))['chat'] as string)).toEqual(messages);
    expect(llm.requests).toEqual([]);
  });

  it('keeps nothing of what was said where that is opted out of', async () => {
    const agent_config = { ...MODEL, privacy_settings: { opt_out_data_collection: true } };
    const more = { end_of_session: true };
    const { response } = await chat({ agent_config, metadata: { user: 'ann' } }, [BREAD], more);
    expect(await logged(response.headers.get('x-session-id'))).toMatchObject({ chat: '[]', metadata: {} });
  });

  it('is logged as well where the client leaves in the middle of the answer', async () => {
    llm.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Yes'));
    };
    const leaving = new AbortController();
    const body = { agent: { agent_config: MODEL }, messages: [BREAD], end_of_session: true };
    const response = await post(body, { signal: leaving.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const cut = llm.replyCut();
    leaving.abort();
    await cut;
    const id = response.headers.get('x-session-id');
    let item = await logged(id);
    while (item['call_status'] !== 'chat_completion') item = await logged(id);
    expect(item['error_message']).toBe('the client left before the answer was complete');
    expect(JSON.parse(item['chat'] as string)).toEqual([BREAD, { role: 'assistant', content: 'Yes' }]);
  });

  it('is nothing that a chat without it has', async () => {
    const { response } = await chat({ agent_config: MODEL });
    const headers = { authorization: PRIVATE_KEY };
    const path = `/call-logs/${String(response.headers.get('x-session-id'))}`;
    expect((await house.ask(path, { headers })).status).toBe(404);
  });
});
