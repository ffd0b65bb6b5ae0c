import { once } from 'node:events';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadAgentFile } from '../../../src/engine/agents.js';
import { packageFile } from '../../../src/package-files.js';
import { WebSocket } from 'ws';
import { WeriftCaller } from '../../../src/transports/webrtc/werift-caller.js';
import { House, PRIVATE_KEY } from '../house.js';

/**
 * The examples of `/openapi.json`: each is valid by its schema, and a daemon with the agent that comes with parley and
 * parley's simulated phone network takes each request. The requests go out in the document's order, so that a number is
 * bought before an agent answers it.
 */

interface Media {
  schema?: object;
  example?: unknown;
}

interface Operation {
  operationId: string;
  requestBody?: { description?: string; content: Record<string, Media> };
  responses: Record<string, { content: Record<string, Media> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
}

const DEMO_AGENT = fileURLToPath(packageFile('examples/restaurant/agent.json'));
/** The number that the example of `purchasePhone` buys. */
const OWN_NUMBER = '+12025550100';

const house = await House.open();
const document = (await house.ask('/openapi.json')).body as Document;
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(document, 'openapi');
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation, id: operation.operationId })),
);
const requests = operations.filter(({ operation }) => jsonOf(operation.requestBody?.content) !== undefined);

beforeAll(async () => {
  await house.daemon.agents.adopt([{ ...(await loadAgentFile(DEMO_AGENT)), id: 'the-crooked-fork' }]);
});
afterAll(async () => {
  expect(house.faults).toEqual([]); // closing interrupts sessions that begin
  await house.close();
});

test.each(operations)('$id has valid examples', ({ operation }) => {
  const { requestBody, responses } = operation;
  const body = jsonOf(requestBody?.content);
  const answers = Object.values(responses['200']?.content ?? {}).filter(({ schema }) => schema !== undefined);
  for (const media of [...(body === undefined ? [] : [body]), ...answers]) {
    expect(media).toHaveProperty('example');
    expect(faultsOf(media, media.example)).toEqual([]);
  }
});

test.each(requests)('$id takes its example', async ({ id, path, method, operation }) => {
  const media = jsonOf(operation.requestBody?.content);
  const { path: names = {}, body = {} } = (await PREPARED[id]?.()) ?? {};
  const url = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(names[name] ?? ''));
  const example = Array.isArray(media?.example) ? media.example : { ...(media?.example as object), ...body };
  const response = await send(method.toUpperCase(), url, example);
  const text = await response.text();
  const refusal = /The answer is (\d+) `([A-Z_]+)`/.exec(operation.requestBody?.description ?? '');
  expect(response.status, text).toBe(Number(refusal?.[1] ?? 200));
  if (refusal !== null) expect(JSON.parse(text)).toMatchObject({ code: refusal[2] });
  const answer = jsonOf(operation.responses[String(response.status)]?.content);
  if (answer !== undefined) expect(faultsOf(answer, JSON.parse(text))).toEqual([]);
});

/** What exists before a request, and the ids that only this daemon knows. */
interface Prepared {
  path?: Record<string, string>;
  body?: Record<string, unknown>;
}

const ownPhone = { path: { phone: OWN_NUMBER } };

const PREPARED: Readonly<Record<string, () => Prepared | Promise<Prepared>>> = {
  updateAgent: newAgent,
  saveAgentDraft: newAgent,
  setAgentPublishing: newAgent,
  splitAgent: newAgent,
  publishAgent: async () => {
    const prepared = await newAgent();
    const path = `/agents/${prepared.path?.['agent_id'] ?? ''}/draft`;
    expect((await send('PUT', path, { name: 'Draft' })).status).toBe(200);
    return prepared;
  },
  rollBackAgent: async () => {
    const prepared = await newAgent();
    const path = `/agents/${prepared.path?.['agent_id'] ?? ''}`;
    expect((await send('PUT', path, { name: 'Second' })).status).toBe(200);
    return prepared;
  },
  createAgentToken: newAgent,
  duplicateAgent: newAgent,
  setAgentStatus: newAgent,
  setEmbed: newAgent,
  revokeKey: async () => {
    const { id } = await made('/keys', { kind: 'public', name: 'old website' });
    return { body: { id } };
  },
  createFile: async () => ({ body: { object_key: await uploaded() } }),
  deleteFile: async () => ({ body: { id: await newFile() } }),
  setAgentFiles: async () => ({ body: { files: [await newFile()] } }),
  updatePhone: () => ownPhone,
  setPhoneAgent: () => ownPhone,
  setPhoneAgentConfigOverride: () => ownPhone,
  simulateCall: () => ownPhone,
  prioritiseQueuedCall: queuedCall,
  terminateSession: async () => {
    const { session_id } = await made('/register_call', { agent_id: 'the-crooked-fork' });
    return { path: { session_id: String(session_id) } };
  },
  controlSession: talking,
  addParticipant: async () => {
    const caller = new WeriftCaller({ addresses: ['127.0.0.1'], ipv6: false });
    const sdp = await caller.offer();
    await caller.close();
    return { ...(await talking()), body: { offer: { type: 'offer', sdp } } };
  },
  changeParticipant: async () => {
    const { path } = await talking();
    const url = `${house.address.replace('http', 'ws')}/calls/${path?.['session_id'] ?? ''}/join?name=Ada`;
    const socket = new WebSocket(url, { headers: { authorization: PRIVATE_KEY } });
    const [ready] = (await once(socket, 'message')) as [Buffer];
    const { participant_id: id } = JSON.parse(String(ready)) as { participant_id: string };
    return { path: { ...path, participant_id: id } };
  },
  addRecords: newCampaign,
  updateCampaign: newCampaign,
  setCampaignCaller: newCampaign,
  setCampaignSchedule: newCampaign,
  updateEvalSuite: newSuite,
  addEvalCase: newSuite,
  updateEvalCase: async () => ({ path: { ...(await newSuite()).path, case_name: 'books a table' } }),
  startEvalRun: async () => ({ body: { suite_id: (await newSuite()).path?.['suite_id'] } }),
};

/** Somebody talks to an agent. */
async function talking(): Promise<Prepared> {
  const caller = house.connect({ origin: house.address });
  await caller.initiate();
  const { payload } = await caller.inbox.find(({ method }) => method === 'onready');
  return { path: { session_id: (payload as { session_id: string }).session_id } };
}

/** The second of two callers of an agent that takes one at a time. */
async function queuedCall(): Promise<Prepared> {
  const agent = {
    config: { llm: { model: 'scripted' } },
    script: { rules: [] },
    extensions: { queue: { max_calls: 1 } },
  };
  const { id } = await made('/agents', { name: 'Desk', ...agent });
  const { id: number } = await made('/phones/purchase', {});
  await made(`/phones/${String(number)}/set_agent`, { agent_id: id });
  for (let calls = 0; calls < 2; calls++) {
    await made(`/phones/${String(number)}/simulate_call`, { caller: '+12025550153' });
  }
  const waiting = async (): Promise<{ session_id: string }[]> => {
    const response = await house.request(`/queues/${String(id)}`, { headers: { authorization: PRIVATE_KEY } });
    return response.ok ? ((await response.json()) as { calls: { session_id: string }[] }).calls : [];
  };
  await expect.poll(async () => (await waiting()).length, { timeout: 20_000, interval: 100 }).toBe(1);
  const [call] = await waiting();
  return { path: { session_id: call?.session_id ?? '' } };
}

async function newAgent(): Promise<Prepared> {
  const { id } = await made('/agents', { name: 'Bakery', config: {} });
  return { path: { agent_id: String(id) } };
}

async function newCampaign(): Promise<Prepared> {
  const { id } = await made('/campaigns', { name: 'Offer' });
  return { path: { campaign_id: String(id) } };
}

async function newSuite(): Promise<Prepared> {
  const cases = [{ name: 'books a table', caller: { script: [{ hang_up: true }] }, expect: [{ said: 'four' }] }];
  const { id } = await made('/evals/suites', { suite: { name: 'Bookings', cases }, agent_id: 'the-crooked-fork' });
  return { path: { suite_id: String(id) } };
}

async function newFile(): Promise<string> {
  const { id } = await made('/knowledge/create_file', { object_key: await uploaded(), name: 'menu.txt' });
  return String(id);
}

async function uploaded(): Promise<string> {
  const form = new FormData();
  form.set('file', new File(['Rye bread costs 4 dollars.'], 'menu.txt', { type: 'text/plain' }));
  const headers = { authorization: PRIVATE_KEY };
  const { body } = await house.ask('/knowledge/upload', { method: 'POST', headers, body: form });
  return (body as { object_key: string }).object_key;
}

async function made(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await send('POST', path, body);
  expect(response.status, path).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

function send(method: string, path: string, body: unknown): Promise<Response> {
  const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
  return house.request(path, { method, headers, body: JSON.stringify(body) });
}

function jsonOf(content: Record<string, Media> | undefined): Media | undefined {
  return content?.['application/json'];
}

function faultsOf({ schema = {} }: Media, value: unknown): unknown[] {
  // Its references lead into the document.
  const whole = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components')) as object;
  const check = ajv.compile(whole);
  return check(value) ? [] : (check.errors ?? []);
}
