import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Callers } from '../callers.js';
import { SUITE } from '../evals/client.js';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';
import { legacyClient, type McpClient, modernClient } from './clients.js';

const BUSY = '+12025550107';
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

let callers: Callers;
beforeAll(async () => {
  callers = await Callers.open();
  await callers.house.daemon.warmUp();
});
afterAll(async () => {
  await callers.close();
  expect(callers.house.faults).toEqual([]);
});

/** A key with these scopes. */
async function keyFor(...scopes: string[]): Promise<string> {
  const { body } = await callers.ask('POST', '/keys', { kind: 'private', name: 'mcp', scopes });
  return String(body['key']);
}

describe.each([
  ['2025-11-25', legacyClient],
  ['2026-07-28', modernClient],
] as const)('the platform for a client of version %s', (version, open) => {
  let client: McpClient;
  beforeAll(async () => {
    client = await open(callers.house.address, PRIVATE_KEY);
  });
  afterAll(() => client.close());

  it('says what it is', () => {
    expect(client.version).toBe(version);
    expect(client.instructions).toContain('list_agents');
  });

  it('lists tools with schemas that are valid and with hints', async () => {
    const tools = await client.tools();
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { name, description, inputSchema, outputSchema = {}, annotations } of tools) {
      expect(name).toMatch(/^[a-z_]+$/);
      expect(description, name).toMatch(/^[A-Z].*\./s);
      for (const schema of [inputSchema, outputSchema]) {
        expect(schema['type'], name).toBe('object');
        expect(() => ajv.compile(schema), name).not.toThrow();
      }
      expect(annotations).toMatchObject({ readOnlyHint: expect.any(Boolean) as boolean });
    }
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(hints['list_agents']).toMatchObject({ readOnlyHint: true, destructiveHint: false, idempotentHint: true });
    expect(hints['delete_agent']).toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: true });
    expect(hints['start_outbound_call']).toMatchObject({ idempotentHint: false, openWorldHint: true });
    expect(JSON.stringify(tools).length).toBeLessThan(90_000);
  });

  it('makes, checks, changes, copies and deletes agents', async () => {
    const config = { prompt: 'You sell tea.', first_message: 'Hello.', llm: { model: 'scripted' } };
    expect((await client.call('check_agent', { name: 'Tea', config })).data).toEqual({
      warnings: expect.any(Array) as unknown[],
    });
    const wrong = await client.call('create_agent', { name: 'Tea', config: { ...config, language: 'xx', odd: 1 } });
    expect(wrong).toMatchObject({ isError: true });
    expect(wrong.text).toContain('config.odd');
    const made = await client.call('create_agent', { name: 'Tea', config });
    const id = made.data['id'];
    expect(made.data).toMatchObject({ name: 'Tea', version: 1, config: { prompt: 'You sell tea.' } });
    const changed = await client.call('update_agent', { agent_id: id, name: 'Tea house' });
    expect(changed.data).toMatchObject({ version: 2, name: 'Tea house' });
    const copy = await client.call('duplicate_agent', { agent_id: id, name: 'Second' });
    const { data } = await client.call('list_agents');
    expect((data['items'] as { name: string }[]).map(({ name }) => name)).toEqual(['Baker', 'Tea house', 'Second']);
    expect(JSON.stringify(data)).not.toContain('You sell tea.');
    expect((await client.call('get_agent', { agent_id: id })).data).toMatchObject({ name: 'Tea house' });
    const versions = (await client.call('list_agent_versions', { agent_id: id })).data;
    expect(versions['items']).toMatchObject([{ version: 2 }, { version: 1 }]);
    for (const agentId of [id, copy.data['id']]) {
      expect((await client.call('delete_agent', { agent_id: agentId })).data).toEqual({ success: true });
    }
    expect(await client.call('get_agent', { agent_id: id })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/There is no agent .* \[NOT_FOUND\]/) as string,
    });
  });

  it('places a call, finds it in the log, and shows what was said', async () => {
    const args = { from_phone: callers.ours, to_phone: BUSY, idempotency_key: `mcp ${version}` };
    const placed = await client.call('start_outbound_call', args);
    const { session_id: id } = placed.data as { session_id: string };
    // The same key: the same call.
    expect((await client.call('start_outbound_call', args)).data).toEqual(placed.data);
    expect(await callers.statuses(id)).toContain('busy');
    expect((await client.call('get_call_log', { session_id: id })).data).toMatchObject({ call_status: 'busy' });
    expect((await client.call('get_transcript', { session_id: id })).data).toEqual({
      session_id: id,
      call_status: 'busy',
      lines: [],
    });
    const found = await client.call('list_call_logs', { phone_number: '0107', limit: 1, call_status: 'busy' });
    expect(found.data).toMatchObject({ histories: [{ session_id: id }] });
    expect((await client.call('list_live_calls')).data).toEqual({ calls: [] });
    expect((await client.call('terminate_session', { session_id: 'nobody' })).isError).toBe(true);
    expect(await client.read(`parley://calls/${id}/transcript`)).toBe('Nothing was said.\n');
  });

  it('shows what was said and done', async () => {
    const messages = [{ role: 'user', content: 'Have you any bread?' }];
    const chat = await callers.house.request('/chat/completions', {
      method: 'POST',
      headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ agent: { agent_id: 'baker' }, messages, end_of_session: true }),
    });
    const [, id = ''] = /chatcmpl-([\w-]+)/.exec(await chat.text()) ?? [];
    await expect.poll(async () => (await client.call('get_call_log', { session_id: id })).text).toContain('chat');
    const { data } = await client.call('get_transcript', { session_id: id });
    expect(data['lines']).toEqual([
      { at_ms: null, who: 'user', text: 'Have you any bread?' },
      { at_ms: null, who: 'agent', text: 'We have bread.' },
    ]);
    expect(await client.read(`parley://calls/${id}/transcript`)).toContain('agent: We have bread.');
  });

  it('keeps test suites, and runs them', async () => {
    const made = await client.call('create_eval_suite', { suite: SUITE, agent_id: 'baker' });
    const suite = made.data['id'];
    expect((await client.call('list_eval_suites')).isError).toBe(false);
    expect((await client.call('get_eval_suite', { suite_id: suite })).data).toMatchObject({ id: suite });
    const started = await client.call('start_eval_run', { suite_id: suite, mode: 'text' });
    const run = started.data['id'];
    const canceled = await client.call('cancel_eval_run', { run_id: run });
    expect(canceled.data).toMatchObject({ id: run, status: expect.stringMatching(/canceled|done/) as string });
    expect((await client.call('get_eval_run', { run_id: run })).data).toMatchObject({ suite_id: suite });
    const listed = await client.call('list_eval_runs', { suite_id: suite });
    expect(listed.data).toMatchObject({ runs: [{ id: run }], next_cursor: 0 });
  });

  it('reaches numbers, knowledge and campaigns', async () => {
    const phones = (await client.call('list_phones')).data;
    expect(JSON.stringify(phones)).toContain(callers.ours);
    expect((await client.call('get_phone', { phone: callers.ours })).isError).toBe(false);
    expect((await client.call('list_files')).data).toEqual({ items: [] });
    expect((await client.call('get_agent_files', { agent_id: 'baker' })).isError).toBe(false);
    const campaign = (await callers.ask('POST', '/campaigns', { name: `Spring ${version}` })).body['id'];
    expect((await client.call('list_campaigns')).isError).toBe(false);
    expect((await client.call('get_campaign', { campaign_id: campaign })).isError).toBe(false);
    const early = await client.call('start_campaign', { campaign_id: campaign });
    expect(early).toMatchObject({ isError: true, text: expect.stringContaining('CAMPAIGN_NOT_READY') as string });
  });

  it('has resources and prompts', async () => {
    const resources = await client.resources();
    const uris = resources.map(({ uri }) => uri);
    expect(uris).toEqual(
      expect.arrayContaining(['parley://agents/baker', 'parley://docs/tools', 'parley://schemas/agent']),
    );
    expect(await client.read('parley://agents/baker')).toContain('You sell bread.');
    expect(JSON.parse(await client.read('parley://schemas/agent'))).toMatchObject({ type: 'object' });
    expect(await client.read('parley://docs/flow/README')).toMatch(/^# /);
    expect(await client.templates()).toContain('parley://calls/{session_id}/transcript');
    for (const uri of [
      'parley://docs/../package',
      'parley://agents/nobody',
      'file:///etc/passwd',
      'parley://calls/x',
    ]) {
      await expect(client.read(uri), uri).rejects.toThrow('no such resource');
    }
    expect(await client.prompts()).toEqual(['review_call', 'improve_agent', 'write_eval_suite']);
    expect(await client.prompt('review_call', { session_id: 's1' })).toContain('the call s1');
    await expect(client.prompt('review_call', {})).rejects.toThrow('session_id is missing');
    await expect(client.call('no_tool')).rejects.toThrow('no tool no_tool');
  });

  it('lists what the key may do, and refuses the rest', async () => {
    const reader = await open(callers.house.address, await keyFor('read', 'evals'));
    const names = (await reader.tools()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['list_agents', 'check_agent', 'start_eval_run']));
    expect(names).not.toEqual(expect.arrayContaining(['create_agent', 'start_outbound_call']));
    await expect(reader.call('create_agent', { name: 'X', config: {} })).rejects.toThrow(/scope/);
    await reader.close();
    const blind = await open(callers.house.address, await keyFor('evals'));
    expect((await blind.resources()).map(({ uri }) => uri)).not.toContain('parley://agents/baker');
    await expect(blind.read('parley://agents/baker')).rejects.toThrow();
    await blind.close();
    await expect(open(callers.house.address, 'sk_wrong')).rejects.toThrow();
  });
});

/** Status, challenge and JSON of one message. */
async function post(body: unknown, headers: Record<string, string> = {}) {
  const response = await callers.house.request('/mcp', {
    method: 'POST',
    headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    body: (text === '' ? null : JSON.parse(text)) as unknown,
  };
}

describe('/mcp', () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const modern = (method: string, params: object = {}) => ({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { ...params, _meta: META },
  });
  const headers = (method: string, name?: string) => ({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  });

  it('tells clients without a key how to get in', async () => {
    const { address } = callers.house;
    const metadata = `${address}/.well-known/oauth-protected-resource/mcp`;
    for (const authorization of ['', 'sk_wrong']) {
      expect(await post(list, { authorization })).toMatchObject({
        status: 401,
        challenge: `Bearer resource_metadata="${metadata}"`,
        body: { code: 'AUTH_REQUIRED' },
      });
    }
    expect(await post(list, { authorization: PUBLIC_KEY })).toMatchObject({ status: 403 });
    expect(await (await fetch(metadata)).json()).toEqual({
      resource: `${address}/mcp`,
      resource_name: 'parley',
      bearer_methods_supported: ['header'],
      scopes_supported: ['read', 'write', 'publish', 'calls', 'evals', 'admin'],
    });
    const call = { ...list, method: 'tools/call', params: { name: 'create_agent', arguments: {} } };
    expect(await post(call, { authorization: await keyFor('read') })).toMatchObject({
      status: 403,
      challenge: `Bearer error="insufficient_scope", scope="write", resource_metadata="${metadata}"`,
      body: { id: 1, error: { message: 'The key lacks the scope "write"' } },
    });
  });

  it('is closed to pages of other origins', async () => {
    expect((await post(list, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await post(list, { origin: callers.house.address })).status).toBe(200);
  });

  it('has no streams and no sessions', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await callers.house.request('/mcp', { method, headers: { authorization: PRIVATE_KEY } });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('speaks the version that a client asks for, else its newest with a handshake', async () => {
    for (const [asked, spoken] of [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-06-18'],
      ['1999-01-01', '2025-11-25'],
    ]) {
      const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'a', version: '1' } };
      expect(await post({ ...list, method: 'initialize', params })).toMatchObject({
        status: 200,
        body: { result: { protocolVersion: spoken, serverInfo: { name: 'parley' } } },
      });
    }
    expect(await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject({
      status: 202,
      body: null,
    });
    expect(await post({ jsonrpc: '2.0', id: 3, result: {} })).toMatchObject({ status: 202, body: null });
    expect((await post({ ...list, method: 'ping' })).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect(await post(list, { 'mcp-protocol-version': '1999-01-01' })).toMatchObject({
      status: 400,
      body: { error: { code: -32_022, data: { supported: ['2026-07-28', '2025-11-25', '2025-06-18'] } } },
    });
  });

  it('answers each request of the version without a handshake from itself', async () => {
    expect(await post(modern('server/discover'), headers('server/discover'))).toMatchObject({
      status: 200,
      body: {
        result: {
          resultType: 'complete',
          supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18'],
          cacheScope: 'private',
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'parley' } },
        },
      },
    });
    const call = modern('tools/call', { name: 'list_live_calls' });
    const encoded = `=?base64?${Buffer.from('list_live_calls').toString('base64')}?=`;
    for (const name of ['list_live_calls', encoded]) {
      expect(await post(call, headers('tools/call', name))).toMatchObject({
        status: 200,
        body: { result: { resultType: 'complete', structuredContent: { calls: [] }, isError: false } },
      });
    }
    for (const wrong of [
      headers('tools/call'),
      headers('tools/call', 'list_agents'),
      headers('tools/list', 'list_live_calls'),
      { ...headers('tools/call', 'list_live_calls'), 'mcp-protocol-version': '2025-11-25' },
    ]) {
      expect(await post(call, wrong)).toMatchObject({ status: 400, body: { id: 1, error: { code: -32_020 } } });
    }
    expect(await post(modern('tools/cull'), headers('tools/cull'))).toMatchObject({
      status: 404,
      body: { error: { code: -32_601 } },
    });
    expect(await post({ ...list, params: {} }, headers('tools/list'))).toMatchObject({
      status: 400,
      body: { error: { code: -32_602 } },
    });
  });

  it.each<[unknown, number]>([
    ['{', 422],
    ['[]', 400],
    ['7', 400],
    [[list], 400],
    [{ id: 1, method: 'ping' }, 400],
    [{ ...list, id: {} }, 400],
    [{ ...list, params: [] }, 400],
    [{ ...list, method: 'no/such' }, 200],
    [{ ...list, params: { cursor: 'odd' } }, 200],
    [{ ...list, method: 'tools/call', params: { name: 'list_agents', arguments: [] } }, 200],
  ])('says what is wrong with %j', async (body, status) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.body)).toMatch(/"error":\{"code":-32|"detail"/);
  });

  it('says which arguments are wrong', async () => {
    const call = async (name: string, args: object) => {
      const { body } = await post({ ...list, method: 'tools/call', params: { name, arguments: args } });
      return (body as { result: { isError: boolean; content: [{ text: string }] } }).result;
    };
    expect(await call('get_agent', {})).toMatchObject({
      isError: true,
      content: [{ text: 'agent_id must be a text that is not empty' }],
    });
    expect((await call('list_call_logs', { limit: 'many', odd: 1 })).content[0].text).toMatch(/limit: .*\n.*odd/s);
    expect((await call('get_agent', { agent_id: '../keys' })).content[0].text).toContain('NOT_FOUND');
    expect((await call('start_outbound_call', {})).content[0].text).toContain('to_phone: Field required');
  });

  it('counts a tool as one request', async () => {
    const house = await House.open({ limits: { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 3 } });
    const init = {
      method: 'POST',
      headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ ...list, method: 'tools/call', params: { name: 'list_agents' } }),
    };
    const statuses: number[] = [];
    for (let at = 0; at < 4; at++) statuses.push((await house.ask('/mcp', init)).status);
    await house.close();
    expect(statuses).toEqual([200, 200, 200, 429]);
  });
});
