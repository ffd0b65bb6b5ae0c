import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type AgentConfig, agentConfigSchema } from '../../../src/agent/agent.js';
import { redactAgentConfig } from '../../../src/agent/redact.js';
import { wholeAgentConfig } from '../../../src/agent/whole-agent.js';
import { KnowledgeBase } from '../../../src/store/knowledge.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

interface Answer {
  status: number;
  body: {
    id: string;
    name: string;
    config: AgentConfig;
    script: unknown;
    version: number;
    warnings: { loc: (string | number)[]; msg: string }[];
    detail: string | { loc: (string | number)[]; msg: string; type: string }[];
  };
}

/** A request with the private key; a body is sent as JSON. */
async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  return (await house.ask(path, init)) as Answer;
}

const SCRIPT = { rules: [{ when: 'cake', say: 'We have cake.' }] };
const CONFIG: AgentConfig = { prompt: 'You sell cake.', first_message: 'Hi.', llm: { model: 'scripted' } };
/** As it is answered. */
const WHOLE = wholeAgentConfig(CONFIG);

async function made(config: AgentConfig = CONFIG, name = 'Cakes'): Promise<string> {
  const { status, body } = await ask('POST', '/agents', { name, config });
  expect([status, body.detail]).toEqual([200, undefined]);
  return body.id;
}

/** What the agent opens with. */
async function greeting(agentId: string): Promise<unknown> {
  const client = house.connect();
  await client.initiate({ agent: { agent_id: agentId } });
  const said = await client.inbox.find(({ method }) => method === 'onresponsetext' || method === 'onerror');
  client.socket.close();
  return said['data'];
}

const number = expect.any(Number) as number;
const text = (part: string) => expect.stringContaining(part) as string;

describe('agents', () => {
  it('are made, read, changed and deleted', async () => {
    const { status, body } = await ask('POST', '/agents', { name: 'Cakes', config: CONFIG, script: SCRIPT });
    expect(status).toBe(200);
    const { warnings, ...agent } = body;
    const { id } = agent;
    expect(warnings).toEqual([]);
    expect(agent).toEqual({
      id,
      name: 'Cakes',
      config: WHOLE,
      created_at: number,
      script: SCRIPT,
      extensions: null,
      version: 1,
      published_version: 1,
      is_draft: false,
    });
    expect((await ask('GET', `/agents/${id}`)).body).toEqual(body);
    const listed = (await ask('GET', '/agents')).body as unknown as Answer['body'][];
    expect(listed.map((agent) => agent.id)).toEqual(['baker', id]);
    expect(listed[1]).toEqual({ id, name: 'Cakes', config: WHOLE, created_at: number, warnings: [] });

    const renamed = await ask('PUT', `/agents/${id}`, { name: 'Tarts' });
    expect(renamed.body).toMatchObject({ name: 'Tarts', config: CONFIG, script: SCRIPT, version: 2 });
    const whole = await ask('PUT', `/agents/${id}`, { config: { first_message: 'Ho.' }, script: null });
    expect(whole.body).toMatchObject({ name: 'Tarts', config: { first_message: 'Ho.' }, script: null, version: 3 });
    expect(whole.body.config.prompt).toBeNull();
    expect((await ask('PUT', `/agents/${id}`, {})).body.version).toBe(3);
    expect((await ask('PUT', `/agents/${id}`, { name: 'Tarts' })).body.version).toBe(3);

    expect(await ask('DELETE', `/agents/${id}`)).toEqual({ status: 200, body: { success: true } });
    expect((await ask('GET', `/agents/${id}`)).status).toBe(404);
  });

  it('talk as they were when the session began; the next session has what was changed', async () => {
    const id = await made();
    const client = house.connect();
    await client.initiate({ agent: { agent_id: id } });
    await client.inbox.find(({ method }) => method === 'onready');
    await ask('PUT', `/agents/${id}`, { config: { ...CONFIG, first_message: 'Ho.' } });
    expect(await greeting(id)).toBe('Ho.');
    expect((await client.inbox.find(({ method }) => method === 'onresponsetext'))['data']).toBe('Hi.');
    client.socket.close();
    await ask('DELETE', `/agents/${id}`);
  });

  it('are switched off and on', async () => {
    const id = await made();
    const off = await ask('POST', `/agents/${id}/status`, { status: 'disabled' });
    expect(off.body.config).toEqual({ ...WHOLE, status: 'disabled' });
    expect(await greeting(id)).toBe('This agent is disabled and takes no calls');
    const page = (await house.ask('/page.json')).body as { agents: { id: string }[] };
    expect(page.agents.map((agent) => agent.id)).toEqual(['baker']);
    await ask('POST', `/agents/${id}/status`, { status: 'active' });
    expect(await greeting(id)).toBe('Hi.');
    expect((await ask('POST', `/agents/${id}/status`, { status: 'asleep' })).status).toBe(422);
    await ask('DELETE', `/agents/${id}`);
  });

  it('are copied with all that they have, and then go their own ways', async () => {
    const first = await ask('POST', '/agents', { name: 'x'.repeat(200), config: CONFIG, script: SCRIPT });
    await ask('POST', `/agents/${first.body.id}/embed`, { size: 64 });
    const { body: copy } = await ask('POST', `/agents/${first.body.id}/duplicate`);
    expect(copy).toMatchObject({ name: `${'x'.repeat(193)} (copy)`, config: CONFIG, script: SCRIPT, version: 1 });
    expect((await ask('GET', `/agents/${copy.id}/embed`)).body).toMatchObject({ size: 64 });
    const named = await ask('POST', `/agents/${first.body.id}/duplicate`, { name: 'Twin' });
    expect(named.body.name).toBe('Twin');
    await ask('PUT', `/agents/${copy.id}`, { config: {} });
    expect((await ask('GET', `/agents/${first.body.id}`)).body.config).toEqual(WHOLE);
    for (const { id } of [first.body, copy, named.body]) await ask('DELETE', `/agents/${id}`);
  });

  it('keep the files that they list from being deleted, and give theirs to copies', async () => {
    const form = new FormData();
    form.append('file', new Blob(['We open at six.']), 'hours.txt');
    const upload = await house.ask('/knowledge/upload', {
      method: 'POST',
      headers: { authorization: PRIVATE_KEY },
      body: form,
    });
    const { object_key } = upload.body as { object_key: string };
    const { body: file } = await ask('POST', '/knowledge/create_file', { object_key, name: 'hours.txt' });
    const lists = await made();
    // In a draft already.
    await ask('PUT', `/agents/${lists}/draft`, { config: { ...CONFIG, knowledge_base: { files: [file.id] } } });
    const refused = await ask('POST', '/knowledge/delete_file', { id: file.id });
    expect(refused).toMatchObject({ status: 409, body: { detail: text(`"${lists}" uses the knowledge file`) } });
    await ask('DELETE', `/agents/${lists}`);

    const given = await made();
    await ask('POST', '/knowledge/set_agent_files', { agent_id: given, file_ids: [file.id] });
    const { body: copy } = await ask('POST', `/agents/${given}/duplicate`);
    const base = new KnowledgeBase({ path: join(house.dataDir, 'knowledge.db') });
    const filesOf = (id: string) => base.filesOf(id);
    expect([await filesOf(given), await filesOf(copy.id)]).toEqual([[file.id], [file.id]]);
    for (const id of [given, copy.id]) await ask('DELETE', `/agents/${id}`);
    expect(await filesOf(given)).toEqual([]);
    await base.close();
    expect((await ask('POST', '/knowledge/delete_file', { id: file.id })).status).toBe(200);
  });

  it('that answer a number are not deleted', async () => {
    const id = await made();
    const { body: phone } = await ask('POST', '/phones/purchase', {});
    await ask('POST', `/phones/${phone.id}/set_agent`, { agent_id: id });
    expect(await ask('DELETE', `/agents/${id}`)).toMatchObject({
      status: 409,
      body: { detail: `The agent "${id}" answers ${phone.id}; assign another agent to the number first` },
    });
    await ask('DELETE', `/phones/${phone.id}`);
    expect((await ask('DELETE', `/agents/${id}`)).status).toBe(200);
  });
});

describe('members of a configuration that are not set', () => {
  const names = Object.keys(agentConfigSchema.shape) as (keyof AgentConfig)[];
  /** Every member is set in one of these, with as little in it as it takes. */
  const GIVEN: Record<keyof AgentConfig, AgentConfig> = {
    prompt: { prompt: 'x' },
    voice: { voice: { voice_id: 'slt' } },
    flow: { flow: { voicemail: {}, call_transfer: { phones: [{ phone: '+12025550123' }] } } },
    first_message: { first_message: 'x' },
    tools: { tools: [{ name: 'ask', description: '', params: [{ name: 'a' }] }] },
    service_functions: {
      service_functions: [{ name: 'form', description: '', type: 'webform', data: { param: { name: 'a' } } }],
    },
    app_functions: {
      app_functions: [{ name: 'get_available_meeting_slots', credentials: { api_key: 'k', event_type_id: '1' } }],
    },
    custom_llm_websocket: { custom_llm_websocket: { url: 'wss://example.com/llm' } },
    language: { language: 'en-GB' },
    vad_threshold: { vad_threshold: 0 },
    llm: { llm: { model: 'scripted', history_settings: {} } },
    session_timeout: { session_timeout: {} },
    session_data_webhook: { session_data_webhook: { url: 'https://example.com/' } },
    privacy_settings: { privacy_settings: { opt_out_data_collection: false } },
    custom_vocabulary: { custom_vocabulary: { keywords: {} } },
    extra_prompt_webhook: { extra_prompt_webhook: 'https://example.com/' },
    switch_language: { switch_language: { languages: [] } },
    knowledge_base: { knowledge_base: {} },
    speech_to_text: { speech_to_text: { denoiser: { settings: { other: 1 } } } },
    call_settings: { call_settings: {} },
    memory: { memory: {} },
    timezone: { timezone: 'Europe/Berlin' },
    status: { status: 'active' },
  };

  it.each(names)('are answered where only %s is set, and change nothing when they come back', async (name) => {
    const config = GIVEN[name];
    const { body: first } = await ask('POST', '/agents', { name: 'Whole', config });
    expect(first.detail).toBeUndefined();
    const { id } = first;
    expect(Object.keys(first.config)).toEqual(names);
    for (const other of names) if (other !== name) expect([null, []]).toContainEqual(first.config[other]);
    expect(first.config).toEqual(wholeAgentConfig(redactAgentConfig(config)));
    const stored = house.daemon.agents.get(id).config;
    expect(stored).toEqual(config);

    const { body: read } = await ask('GET', `/agents/${id}`);
    const { body: put } = await ask('PUT', `/agents/${id}`, { name: read.name, config: read.config, script: null });
    expect(put).toEqual(read);
    expect(put.version).toBe(1);
    expect(house.daemon.agents.get(id).config).toEqual(stored);
    const { body: versions } = await ask('GET', `/agents/${id}/versions`);
    expect(versions).toMatchObject([{ version: 1, config: read.config }]);
    const { body: status } = await ask('POST', `/agents/${id}/status`, { status: 'disabled' });
    expect(Object.keys(status.config)).toEqual(names);
    await ask('DELETE', `/agents/${id}`);
  });

  it('are not stored, and mean no change', async () => {
    const id = await made({ prompt: 'x', tools: null, flow: null });
    expect(house.daemon.agents.get(id).config).toEqual({ prompt: 'x' });
    expect((await ask('PUT', `/agents/${id}`, { config: { prompt: 'x', tools: [], voice: null } })).body.version).toBe(
      1,
    );
    await ask('DELETE', `/agents/${id}`);
  });

  it('are no part of the override of a number, which would take away what the agent has', async () => {
    const { body: phone } = await ask('POST', '/phones/purchase', {});
    const path = `/phones/${phone.id}/agent-config-override`;
    const given = { first_message: 'Hello from the number.', flow: { interruption: { allowed: false } } };
    await ask('POST', path, { agent_config_override: given });
    const read = (await ask('GET', `/phones/${phone.id}`)).body as unknown as { agent_config_override: unknown };
    expect(read.agent_config_override).toEqual(given);
    await ask('POST', path, { agent_config_override: read.agent_config_override });
    expect((await ask('GET', `/phones/${phone.id}`)).body).toEqual(read);
    await ask('DELETE', `/phones/${phone.id}`);
  });
});

describe('versions', () => {
  it('are kept with the time and the key, a page at a time, and brought back with their secrets', async () => {
    const { body: key } = (await ask('POST', '/keys', { kind: 'private', name: 'Ann' })) as unknown as {
      body: { key: string; id: string };
    };
    const tools = [{ name: 'ask', description: '', webhook: 'https://a.example/', header: { 'x-key': 's3cret' } }];
    const id = await made({ ...CONFIG, tools });
    await house.ask(`/agents/${id}`, {
      method: 'PUT',
      headers: { authorization: key.key, 'content-type': 'application/json' },
      body: JSON.stringify({ config: CONFIG }),
    });
    await ask('PUT', `/agents/${id}`, { name: 'Pies' });
    const { body: all } = await ask('GET', `/agents/${id}/versions`);
    const shown = [{ ...tools[0], header: { 'x-key': '***' } }];
    expect(all).toEqual([
      {
        version: 3,
        name: 'Pies',
        config: WHOLE,
        script: null,
        extensions: null,
        changed_at: number,
        changed_by: 'PARLEY_API_KEY',
        changed_by_key: expect.any(String) as string,
        note: null,
        published_at: number,
      },
      {
        version: 2,
        name: 'Cakes',
        config: WHOLE,
        script: null,
        extensions: null,
        changed_at: number,
        changed_by: 'Ann',
        changed_by_key: key.id,
        note: null,
        published_at: number,
      },
      expect.objectContaining({
        version: 1,
        config: wholeAgentConfig({ ...CONFIG, tools: shown as AgentConfig['tools'] }),
        changed_by: 'PARLEY_API_KEY',
      }),
    ]);
    const page = (await ask('GET', `/agents/${id}/versions?limit=1&before=3`)).body as unknown as { version: number }[];
    expect(page.map(({ version }) => version)).toEqual([2]);

    // What is gone from the agent cannot be told by `***`, only by the version.
    const put = await ask('PUT', `/agents/${id}`, { config: { ...CONFIG, tools: shown } });
    expect(put.body.detail).toMatchObject([{ loc: ['body', 'config', 'tools', 0, 'header', 'x-key'] }]);
    const restored = await ask('POST', `/agents/${id}/versions/1/restore`);
    expect(restored.body).toMatchObject({ version: 4, name: 'Cakes', config: { ...CONFIG, tools: shown } });
    expect(house.daemon.agents.get(id).config).toEqual({ ...CONFIG, tools });
    expect((await ask('POST', `/agents/${id}/versions/4/restore`)).body.version).toBe(4);
    expect((await ask('POST', `/agents/${id}/versions/9/restore`)).status).toBe(404);
    expect((await ask('POST', `/agents/${id}/versions/one/restore`)).status).toBe(422);
    expect((await ask('GET', `/agents/${id}/versions?limit=101`)).status).toBe(422);
    await ask('DELETE', `/agents/${id}`);
    await ask('DELETE', '/keys', { id: key.id });
  });

  it('that a change does not name are not changed', async () => {
    const id = await made();
    expect(await ask('PUT', `/agents/${id}`, { name: 'Pies', if_version: 1 })).toMatchObject({
      status: 200,
      body: { version: 2 },
    });
    const refused = await ask('PUT', `/agents/${id}`, { name: 'Tarts', if_version: 1 });
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'AGENT_CHANGED', detail: text('it has version 2 now, not 1') },
    });
    expect((await ask('GET', `/agents/${id}`)).body).toMatchObject({ name: 'Pies', version: 2 });
    expect((await ask('PUT', `/agents/${id}`, { name: 'Tarts', if_version: 0 })).status).toBe(422);
  });

  it('begin with the file of an agent, which is nobody’s key', async () => {
    const { body } = await ask('GET', '/agents/baker/versions');
    expect(body).toMatchObject([{ version: 1, changed_by: null }]);
  });
});

describe('secrets', () => {
  const SECRETIVE: AgentConfig = {
    ...CONFIG,
    tools: [{ name: 'ask', description: '', webhook: 'https://a.example/', header: { 'x-key': 'hidden-7f3a' } }],
    session_data_webhook: { url: 'https://b.example/', headers: { cookie: 'hidden-91bc' } },
  };

  it('are shown nowhere, kept where *** comes back, and encrypted on the disk', async () => {
    const id = await made(SECRETIVE);
    const { body } = await ask('GET', `/agents/${id}`);
    expect(body.config).toMatchObject({
      tools: [{ header: { 'x-key': '***' } }],
      session_data_webhook: { headers: { cookie: '***' } },
    });
    await ask('PUT', `/agents/${id}`, { config: { ...body.config, prompt: 'You sell pies.' } });
    expect(house.daemon.agents.get(id).config).toEqual({ ...SECRETIVE, prompt: 'You sell pies.' });
    await ask('POST', `/agents/${id}/duplicate`);
    for (const path of ['/agents', `/agents/${id}`, `/agents/${id}/versions`]) {
      expect(JSON.stringify((await ask('GET', path)).body), path).not.toContain('hidden');
    }
    expect(everyByte(house.dataDir)).not.toContain('hidden');
    expect(everyByte(house.dataDir)).not.toContain('You sell pies');
  });

  it('of a number are treated alike', async () => {
    const { body: phone } = await ask('POST', '/phones/purchase', {});
    const path = `/phones/${phone.id}/agent-config-override`;
    const override = { tools: SECRETIVE.tools };
    const shown = { agent_config_override: { tools: [{ header: { 'x-key': '***' } }] } };
    expect((await ask('POST', path, { agent_config_override: override })).body).toMatchObject(shown);
    const read = (await ask('GET', `/phones/${phone.id}`)).body as unknown as typeof shown;
    expect(read).toMatchObject(shown);
    expect((await ask('POST', path, { agent_config_override: read.agent_config_override })).status).toBe(200);
    expect(JSON.stringify((await ask('GET', '/phones')).body)).not.toContain('hidden');
    expect(everyByte(house.dataDir)).not.toContain('hidden');
    await ask('POST', path, { agent_config_override: null });
    const refused = await ask('POST', path, { agent_config_override: read.agent_config_override });
    expect(refused.body.detail).toMatchObject([
      { loc: ['body', 'agent_config_override', 'tools', 0, 'header', 'x-key'] },
    ]);
  });
});

describe('what is refused', () => {
  it.each<[string, unknown, (string | number)[], string]>([
    ['no name', { config: {} }, ['name'], 'Field required'],
    ['no configuration', { name: 'a' }, ['config'], 'Field required'],
    ['an unknown field', { name: 'a', config: { flow: { speed: 1 } } }, ['config', 'flow', 'speed'], 'Unknown field'],
    ['an unknown member', { name: 'a', config: {}, id: 'x' }, ['id'], 'Unknown field'],
    ['an unknown model', { name: 'a', config: { llm: { model: 'x' } } }, ['config', 'llm', 'model'], 'one of'],
    ['a model without a key', { name: 'a', config: { llm: { model: 'gpt-4o' } } }, ['config', 'llm', 'model'], 'a key'],
    [
      'an unknown voice',
      { name: 'a', config: { voice: { provider: 'flite', voice_id: 'x' } } },
      ['config', 'voice', 'voice_id'],
      'no voice "x"',
    ],
    [
      'a file that is not there',
      { name: 'a', config: { knowledge_base: { files: ['x'] } } },
      ['config', 'knowledge_base', 'files'],
      'There is no knowledge file',
    ],
    ['a script with faults', { name: 'a', config: {}, script: { rules: 7 } }, ['script'], 'script: rules'],
    [
      'a secret that nobody knows',
      { name: 'a', config: { session_data_webhook: { url: 'https://a.example/', headers: { a: '***' } } } },
      ['config', 'session_data_webhook', 'headers', 'a'],
      'there is none',
    ],
  ])('an agent with %s', async (_name, body, loc, words) => {
    const before = (await ask('GET', '/agents')).body;
    const answer = await ask('POST', '/agents', body);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', ...loc], msg: text(words) }] } });
    expect((await ask('GET', '/agents')).body).toEqual(before);
  });

  it('an agent with several faults, with all of them at once', async () => {
    const config = {
      llm: { model: 'gpt-4o' },
      voice: { provider: 'flite', voice_id: 'x' },
      speech_to_text: { model: 'large', multilingual: true },
      knowledge_base: { files: ['x'] },
      prompt: 'You sell cake.',
    };
    const { status, body } = await ask('POST', '/agents', { name: 'a', config });
    const detail = body.detail as { loc: (string | number)[]; msg: string }[];
    expect(status).toBe(422);
    expect(detail.map(({ loc }) => loc.join('.')).sort()).toEqual(
      [
        'body.config.knowledge_base.files',
        'body.config.llm.model',
        'body.config.speech_to_text.model',
        'body.config.speech_to_text.multilingual',
        'body.config.voice.voice_id',
      ].sort(),
    );
    expect(body).toMatchObject({ code: 'CONFIG_INVALID' });
    const { llm: _llm, ...less } = config;
    const put = await ask('PUT', '/agents/baker', { config: less });
    expect(put.body.detail).toHaveLength(4);
    const call = await ask('POST', '/register_call', { agent_config: config });
    expect(call.body.detail).toHaveLength(5);
  });

  it('an agent with several tools of wrong names, or apps without credentials, with each of them', async () => {
    const tool = (name: string): object => ({ name, description: 'x' });
    const apps = ['get_available_meeting_slots', 'book_meeting_slot'].map((name) => ({ name }));
    const config = { tools: [tool('end_call'), tool('transfer_call')], app_functions: apps };
    const { status, body } = await ask('POST', '/agents', { name: 'a', config });
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { loc: ['body', 'config', 'app_functions', 0, 'credentials'], msg: text('needs the credentials') },
      { loc: ['body', 'config', 'app_functions', 1, 'credentials'], msg: text('needs the credentials') },
      { loc: ['body', 'config'], msg: text('two tools are called end_call') },
      { loc: ['body', 'config'], msg: text('two tools are called transfer_call') },
    ]);
  });

  it('an agent whose vendor is unknown and whose language nobody here serves, with nothing about the default voice', async () => {
    const names = { llm: { model: 'x' }, voice: { provider: 'x', voice_id: 'y' }, speech_to_text: { provider: 'x' } };
    const { body } = await ask('POST', '/agents', { name: 'a', config: { ...names, language: 'ka' } });
    expect((body.detail as { loc: string[] }[]).map(({ loc }) => loc.slice(2).join('.')).sort()).toEqual([
      'llm.model',
      'speech_to_text.provider',
      'voice.provider',
    ]);
  });

  it.each([
    ['GET', ''],
    ['PUT', ''],
    ['DELETE', ''],
    ['POST', '/duplicate'],
    ['POST', '/status'],
    ['GET', '/versions'],
    ['POST', '/versions/1/restore'],
    ['POST', '/embed'],
    ['GET', '/embed'],
  ])('%s /agents/nobody%s', async (method, path) => {
    const body = path === '/status' ? { status: 'active' } : method === 'PUT' || path === '/embed' ? {} : undefined;
    const answer = await ask(method, `/agents/nobody${path}`, method === 'GET' ? undefined : body);
    expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  it('everybody without a private key', async () => {
    for (const [authorization, status] of [
      ['', 401],
      ['nonsense', 401],
      [PUBLIC_KEY, 403],
    ] as const) {
      const headers = { authorization };
      for (const path of ['/agents', '/agents/baker', '/agents/baker/versions', '/keys']) {
        expect((await house.ask(path, { headers })).status, path).toBe(status);
      }
      for (const path of ['/agents', '/agents/baker/status', '/agents/baker/embed', '/keys']) {
        expect((await house.ask(path, { method: 'POST', headers })).status, path).toBe(status);
      }
    }
  });
});

function everyByte(dataDir: string): string {
  return readdirSync(dataDir, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => readFileSync(join(dataDir, name), 'latin1'))
    .join('\n');
}

describe('warnings about agents', () => {
  it('tell of a language and a vendor that nobody here can serve; calls are refused with the reason', async () => {
    const config: AgentConfig = { ...CONFIG, language: 'ka' };
    const { status, body } = await ask('POST', '/agents', { name: 'Tbilisi', config, script: SCRIPT });
    expect([status, body.warnings]).toEqual([200, [{ loc: ['body', 'config', 'language'], msg: text('"ka"') }]]);
    expect(body.warnings[0]?.msg).toContain('Until then its calls are refused');
    const call = await ask('POST', '/register_call', { agent_id: body.id });
    expect(call.status).toBe(422);
    expect(JSON.stringify(call.body.detail)).toContain('does not support the language');

    const voice = { ...CONFIG, voice: { provider: 'playht', voice_id: 'x' } };
    const closed = await ask('PUT', `/agents/${body.id}`, { config: voice });
    expect(closed.body.warnings).toEqual([
      { loc: ['body', 'config', 'voice', 'provider'], msg: text('has shut its service down') },
    ]);
    const both = await ask('PUT', `/agents/${body.id}`, { config: { ...voice, language: 'ka' } });
    expect(both.body.warnings.map(({ loc }) => loc.slice(2).join('.')).sort()).toEqual(['language', 'voice.provider']);
    const keyless = { ...CONFIG, voice: { provider: 'cartesia', voice_id: 'x' } };
    const stored = await ask('PUT', `/agents/${body.id}`, { config: keyless });
    expect(stored.body.warnings).toMatchObject([{ msg: text('set CARTESIA_API_KEY') }]);
    expect((await ask('PUT', `/agents/${body.id}`, { config: CONFIG })).body.warnings).toEqual([]);
  });

  it('tell of targets that no call is transferred to', async () => {
    const call_transfer = {
      phone: 'sip:303@pbx.example.org',
      phones: [
        { phone: '+19005551234', description: 'sales' },
        { phone: 'sip:911@pbx.example.org', description: 'help' },
      ],
    };
    const config = { ...CONFIG, flow: { call_transfer } };
    const { status, body } = await ask('POST', '/agents', { name: 'Operator', config });
    const place = ['body', 'config', 'flow', 'call_transfer', 'phones'];
    expect(status).toBe(200);
    expect(body.warnings).toContainEqual({
      loc: [...place, 0, 'phone'],
      msg: text('+19005551234: it is a premium-rate'),
    });
    expect(body.warnings).toContainEqual({
      loc: [...place, 1, 'phone'],
      msg: text('sip:911@pbx.example.org: it is an emergency number'),
    });
  });

  it('tell of addresses that may not be called, and of rules that need an action which is off', async () => {
    const config = {
      ...CONFIG,
      tools: [{ name: 'stock', description: 'What is there.', webhook: 'http://10.0.0.7/stock' }],
      session_data_webhook: { url: 'http://crm.internal/done' },
      extra_prompt_webhook: 'https://example.com/prompt',
    };
    const script = { rules: [{ when: 'bye', say: 'Goodbye!', end: true }] };
    const { body } = await ask('POST', '/agents', { name: 'Private', config, script });
    expect(body.warnings).toEqual([
      {
        loc: ['body', 'config', 'tools', 0, 'webhook'],
        msg: text('not on the public internet; the setting allowUrls'),
      },
      { loc: ['body', 'config', 'session_data_webhook'], msg: text('--allow') },
      { loc: ['body', 'script', 'rules', 0, 'end'], msg: text('needs flow.agent_terminate_call.enabled') },
    ]);
  });

  it('hide no other fault', async () => {
    const config = { ...CONFIG, language: 'ka', tools: [{ name: 'end_call', description: 'Mine.' }] };
    const { status, body } = await ask('POST', '/agents', { name: 'Tbilisi', config });
    expect(status).toBe(422);
    expect(JSON.stringify(body.detail)).toContain('end_call');
  });

  it('tell of a missing model in the answers, on the page, and in the log of the calls', async () => {
    const { body } = await ask('POST', '/agents', { name: 'New', config: { prompt: 'You sell cake.' } });
    const { id, warnings } = body;
    expect(warnings).toEqual([{ loc: ['body', 'config', 'llm', 'model'], msg: text('Set OPENAI_API_KEY') }]);
    expect((await ask('GET', `/agents/${id}`)).body.warnings).toEqual(warnings);
    const page = (await house.ask('/page.json')).body as { agents: { id: string; warnings: string[] }[] };
    expect(page.agents.find((agent) => agent.id === id)?.warnings).toEqual([warnings[0]?.msg]);

    await greeting(id);
    interface Item {
      error_message: string | null;
      call_status: string;
    }
    const log = async (): Promise<Item | undefined> =>
      ((await ask('GET', `/call-logs?agent_id=${id}`)).body as unknown as { histories: Item[] }).histories[0];
    await vi.waitFor(async () => expect((await log())?.call_status).toBe('user-ended'), { timeout: 20_000 });
    expect((await log())?.error_message).toBe(warnings[0]?.msg);
    await ask('PUT', `/agents/${id}`, { script: SCRIPT });
    expect((await ask('GET', `/agents/${id}`)).body.warnings).toEqual([]);
    await ask('DELETE', `/agents/${id}`);
  });
});
