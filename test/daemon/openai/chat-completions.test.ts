import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { RealClock } from '../../../src/base/real-clock.js';
import { NO_LOG } from '../../../src/daemon/operations/log.js';
import { httpServer, type LocalServer } from '../../net/local-server.js';
import {
  callChunk,
  type DoubleRequest,
  finishChunk,
  OpenAiDouble,
  sendError,
  stream,
  textChunk,
  usageChunk,
} from '../../providers/llm/openai-double.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';

const TIME = {
  type: 'function' as const,
  function: { name: 'local_time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
};
const USER = { role: 'user' as const, content: 'Have you bread?' };

let house: House;
let llm: OpenAiDouble;
let tools: LocalServer;
let openai: OpenAI;
let agent: string;

beforeAll(async () => {
  llm = new OpenAiDouble();
  const route = { provider: 'openai', baseUrl: await llm.listen(), apiKey: null, model: 'double' };
  tools = await httpServer((_request, response) => response.end('two loaves'));
  const engine = { models: new Map([['double', route]]), allowUrls: [tools.origin] };
  house = await House.open({}, new RealClock(), NO_LOG, engine);
  openai = client(PRIVATE_KEY);
  const config = {
    prompt: 'You sell bread to {user} of {City}.',
    llm: { model: 'double' },
    tools: [{ name: 'stock', description: 'What is there', webhook: `${tools.origin}/stock` }],
  };
  const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'The Bread Shop', config });
  const made = await house.ask('/agents', { method: 'POST', headers, body });
  agent = (made.body as { id: string }).id;
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
});
afterEach(() => expect(house.faults).toEqual([]));

function call(id: string, name: string, args: string): object {
  return callChunk({ index: 0, id, function: { name, arguments: args } });
}

function bodyOf(request: DoubleRequest | undefined): Record<string, unknown> {
  return request?.body ?? {};
}

function client(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${house.address}/v1`, maxRetries: 0 });
}

it('lists agents as models', async () => {
  const models = await openai.models.list();
  expect(models.data.map(({ id }) => id)).toEqual(['baker', agent]);
  expect(await openai.models.retrieve('the-bread-shop')).toMatchObject({
    id: agent,
    object: 'model',
    owned_by: 'parley',
  });
  await expect(openai.models.retrieve('nobody')).rejects.toThrow(OpenAI.NotFoundError);
});

it('takes the name of an agent in any case, and says where it means two', async () => {
  expect((await openai.models.retrieve('the bread SHOP')).id).toBe(agent);
  const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'The bread shop', config: {} });
  const second = ((await house.ask('/agents', { method: 'POST', headers, body })).body as { id: string }).id;
  // The exact name comes before other letters.
  expect((await openai.models.retrieve('The Bread Shop')).id).toBe(agent);
  await expect(openai.chat.completions.create({ model: 'the-bread-shop', messages: [USER] })).rejects.toMatchObject({
    status: 400,
    param: 'model',
    code: 'agent_ambiguous',
    message: `400 2 agents are called "the-bread-shop": name one by its id: ${agent}, ${second}`,
  });
  await house.ask(`/agents/${second}`, { method: 'DELETE', headers: { authorization: PRIVATE_KEY } });
});

it('answers whole, with the prompt, the context and the client’s settings', async () => {
  const { data, response } = await openai.chat.completions
    .create({
      model: 'the-bread-shop',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Never mention cake.' }] },
        USER,
      ],
      temperature: 0.3,
      max_completion_tokens: 40,
      seed: 7,
      stop: [', fr'],
      user: 'Ada',
      metadata: { City: 'Bonn' },
      response_format: { type: 'json_object' },
      logit_bias: {},
      store: true,
    })
    .withResponse();
  expect(data).toMatchObject({ object: 'chat.completion', model: 'the-bread-shop' });
  expect(data.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant', content: 'Yes' } });
  expect(response.headers.get('x-parley-ignored')).toBe('logit_bias, store');
  const [request] = llm.requests;
  expect(request?.body).toMatchObject({
    temperature: 0.3,
    max_completion_tokens: 40,
    seed: 7,
    response_format: { type: 'json_object' },
  });
  const [system, user] = bodyOf(request)['messages'] as { role: string; content: string }[];
  expect(system?.content).toContain('You sell bread to Ada of Bonn.');
  expect(system?.content).toMatch(/Be brief\.\n\nNever mention cake\.$/);
  expect(user).toEqual(USER);
});

it('streams, with usage', async () => {
  const chunks = [];
  const answer = await openai.chat.completions.create({
    model: `${agent}@1`,
    messages: [USER],
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of answer) chunks.push(chunk);
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Yes, fresh.');
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
  });
});

it('says when the longest length cut the answer off', async () => {
  const answer = await openai.chat.completions.create({ model: agent, messages: [USER], max_tokens: 5 });
  expect(answer.choices[0]?.finish_reason).toBe('length');
});

it('runs the agent’s tools itself and leaves those of the client to it', async () => {
  llm.answer = (response, { body }) => {
    const messages = body['messages'] as { role: string; content: string }[];
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    if (results.length === 0) stream(response, [call('a', 'stock', '{}'), finishChunk('tool_calls')]);
    else if (results.length === 1 && results[0] === 'two loaves') {
      stream(response, [call('b', 'local_time', '{"zone":"CET"}'), finishChunk('tool_calls')]);
    } else stream(response, [textChunk(`It is ${String(results.at(-1))}.`), finishChunk('stop'), usageChunk]);
  };
  const request = { model: agent, tools: [TIME], messages: [USER] };
  const first = await openai.chat.completions.create(request);
  expect(first.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
  const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage;
  expect(message.tool_calls).toMatchObject([
    { type: 'function', function: { name: 'local_time', arguments: '{"zone":"CET"}' } },
  ]);
  const id = message.tool_calls?.[0]?.id as string;
  const last = await openai.chat.completions.create({
    ...request,
    messages: [USER, message, { role: 'tool', tool_call_id: id, content: 'noon' }],
  });
  expect(last.choices[0]?.message.content).toBe('It is noon.');
  expect((bodyOf(llm.requests[0])['tools'] as object[]).length).toBe(2);
});

it('streams a client’s call and serves the SDK’s own tool loop', async () => {
  llm.answer = (response, { body }) => {
    const last = (body['messages'] as { role: string; content: string }[]).at(-1);
    if (last?.role === 'tool') stream(response, [textChunk(`It is ${last.content}.`), finishChunk('stop')]);
    else stream(response, [call('c', 'local_time', '{}'), finishChunk('tool_calls')]);
  };
  const run = openai.chat.completions.runTools({
    model: agent,
    stream: true,
    messages: [USER],
    tools: [
      {
        type: 'function',
        function: { name: 'local_time', description: 'The time', parameters: {}, function: (): string => 'five' },
      },
    ],
  });
  expect(await run.finalContent()).toBe('It is five.');
  const forced = { model: agent, messages: [USER], tools: [TIME] };
  await openai.chat.completions.create({ ...forced, tool_choice: 'required' });
  expect(llm.requests.at(-1)?.body['tool_choice']).toEqual({ type: 'function', function: { name: 'local_time' } });
  await openai.chat.completions.create({ ...forced, tool_choice: 'none' });
  expect(
    (bodyOf(llm.requests.at(-1))['tools'] as { function: { name: string } }[]).map((one) => one.function.name),
  ).toEqual(['stock']);
});

it('serves the agents SDK', async () => {
  llm.answer = (response, { body }) => {
    const last = (body['messages'] as { role: string; content: string }[]).at(-1);
    if (last?.role === 'tool') stream(response, [textChunk(`It is ${last.content}.`), finishChunk('stop'), usageChunk]);
    else stream(response, [call('d', 'local_time', '{"zone":"CET"}'), finishChunk('tool_calls')]);
  };
  setTracingDisabled(true);
  const localTime = tool({
    name: 'local_time',
    description: 'The time',
    parameters: z.object({ zone: z.string() }),
    execute: ({ zone }) => `nine in ${zone}`,
  });
  const desk = new Agent({
    name: 'Desk',
    instructions: 'Be brief.',
    model: new OpenAIChatCompletionsModel(openai, agent),
    tools: [localTime],
  });
  expect((await run(desk, 'What time is it?')).finalOutput).toBe('It is nine in CET.');
});

it('logs a conversation that ends', async () => {
  const { data, response } = await openai.chat.completions
    .create({ model: agent, messages: [USER], metadata: { end_of_session: 'true', City: 'Bonn' } })
    .withResponse();
  const id = response.headers.get('x-session-id') as string;
  expect(data.id).toBe(`chatcmpl-${id}`);
  const { body } = await house.ask(`/call-logs/${id}`, { headers: { authorization: PRIVATE_KEY } });
  expect(body).toMatchObject({ call_status: 'chat_completion', agent_id: agent, metadata: { City: 'Bonn' } });
});

it('refuses as OpenAI does', async () => {
  const create = (more: object): Promise<unknown> =>
    openai.chat.completions.create({ model: agent, messages: [USER], ...more });
  const refused = (more: object, param: string, code: string): Promise<void> =>
    expect(create(more)).rejects.toMatchObject({
      constructor: OpenAI.BadRequestError,
      param,
      code,
      type: 'invalid_request_error',
    });
  await refused({ n: 2 }, 'n', 'invalid_value');
  await refused({ audio: { voice: 'alloy', format: 'wav' } }, 'audio', 'unsupported_parameter');
  await refused({ modalities: ['text', 'audio'] }, 'modalities', 'unsupported_value');
  await refused({ messages: [{ role: 'user', content: 7 }] }, 'messages[0].content', 'invalid_value');
  const image = { type: 'image_url', image_url: { url: 'data:' } };
  await refused({ messages: [{ role: 'user', content: [image] }] }, 'messages[0].content[0].type', 'unsupported_value');
  await refused({ tools: [{ type: 'function', function: { name: 'stock' } }] }, 'tools', 'invalid_value');
  await refused({ model: 'baker', response_format: { type: 'json_object' } }, 'response_format', 'unsupported_value');
  await expect(create({ model: 'nobody' })).rejects.toMatchObject({
    constructor: OpenAI.NotFoundError,
    param: 'model',
    code: 'model_not_found',
  });
  await expect(client('sk_wrong').models.list()).rejects.toThrow(OpenAI.AuthenticationError);
  await expect(client(PUBLIC_KEY).models.list()).rejects.toThrow(OpenAI.PermissionDeniedError);
  await expect(openai.get('/nonsense')).rejects.toMatchObject({ status: 404, code: 'unknown_url' });
  const headers = { authorization: `Bearer ${PRIVATE_KEY}`, 'content-type': 'application/json' };
  const broken = await house.ask('/v1/chat/completions', { method: 'POST', headers, body: '{' });
  expect(broken).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error', code: 'invalid_value' } },
  });
});

it('reports a model that fails, before the stream and within it', async () => {
  llm.answer = (response) => sendError(response, 500, 'broken');
  const request = { model: agent, messages: [USER] };
  await expect(openai.chat.completions.create(request)).rejects.toMatchObject({
    constructor: OpenAI.InternalServerError,
    type: 'server_error',
    code: 'provider_failed',
  });
  llm.answer = (response) => {
    stream(response, [textChunk('Yes'), { error: { message: 'lost' } }]);
  };
  const answer = await openai.chat.completions.create({ ...request, stream: true });
  let text = '';
  const read = async (): Promise<void> => {
    for await (const chunk of answer) text += chunk.choices[0]?.delta.content ?? '';
  };
  await expect(read()).rejects.toThrow(OpenAI.APIError);
  expect(text).toBe('Yes');
});
