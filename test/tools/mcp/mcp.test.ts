import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { McpServerSetting } from '../../../src/settings/setting-items.js';
import { McpServers } from '../../../src/tools/mcp/tools.js';
import type { Tool, ToolResult } from '../../../src/tools/tool.js';
import { httpServer, type LocalServer } from '../../net/local-server.js';

const SERVER = fileURLToPath(new URL('example-server.mjs', import.meta.url));
const PATIENCE = { timeout: 20_000, interval: 20 };

const opened: McpServers[] = [];
const children: ChildProcess[] = [];
const servers: LocalServer[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await Promise.all(servers.splice(0).map((each) => each.close()));
  for (const child of children.splice(0)) {
    const exit = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGKILL')) await exit;
  }
});

interface Made {
  all: McpServers;
  faults: string[];
}

function open(servers: Record<string, McpServerSetting>): Made {
  const faults: string[] = [];
  const onFault = (server: string, reason: string): void => void faults.push(`${server}: ${reason}`);
  const all = new McpServers({ servers, clock: new RealClock(), onFault, firstWaitMs: 30_000 });
  opened.push(all);
  return { all, faults };
}

/** Returns the server's address. */
async function serveHttp(how: 'http' | 'json', port = '0'): Promise<string> {
  const child = spawn(process.execPath, [SERVER, how, port], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return `http://127.0.0.1:${line.toString().trim()}`;
}

const stdio = (more: object = {}): McpServerSetting => ({
  command: process.execPath,
  args: [SERVER, 'stdio'],
  ...more,
});

function toolsOf({ all }: Made, agentId: string | null = null, taken: string[] = []): Tool[] {
  return all.tools(agentId, new RealClock(), new Set(taken));
}

function call(
  made: Made,
  name: string,
  args: unknown = {},
  signal = new AbortController().signal,
): Promise<ToolResult> {
  const tool = toolsOf(made).find(({ spec }) => spec.name === name);
  if (tool === undefined) throw new Error(`there is no ${name}`);
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  return tool.run({ id: 'c', name, arguments: text }, { sessionId: 's', metadata: {}, signal });
}

describe.each<[string, () => Promise<McpServerSetting>]>([
  ['a command', () => Promise.resolve(stdio())],
  ['HTTP, with streams', async () => ({ url: `${await serveHttp('http')}/mcp`, headers: { 'X-Key': 'k' } })],
  ['HTTP, with plain replies', async () => ({ url: `${await serveHttp('json')}/mcp`, headers: { 'X-Key': 'k' } })],
])('an MCP server behind %s', { timeout: 60_000 }, (_how, setting) => {
  it('offers its tools, which can be called side by side', async () => {
    const made = open({ ex: await setting() });
    expect(toolsOf(made)).toEqual([]);
    await made.all.warmUp();
    expect(made.faults).toEqual([]);
    const specs = toolsOf(made).map(({ spec }) => spec);
    expect(specs.map(({ name }) => name)).toEqual([
      'ex__add',
      'ex__see_env',
      'ex__fail',
      'ex__draw',
      'ex__wait',
      'ex__die',
      'ex__learn',
    ]);
    expect(specs[0]).toMatchObject({
      description: 'Adds.',
      parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] },
    });
    const sums = await Promise.all([1, 2, 3].map((a) => call(made, 'ex__add', { a, b: 1 })));
    expect(sums).toEqual([2, 3, 4].map((sum) => ({ ok: true, content: String(sum) })));
    expect(await call(made, 'ex__draw')).toEqual({ ok: true, content: '[image]\na cat' });
  });

  it('that fails is a result', async () => {
    const made = open({ ex: await setting() });
    await made.all.warmUp();
    expect(await call(made, 'ex__fail')).toEqual({ ok: false, content: 'It failed: out of paper' });
    expect(await call(made, 'ex__add', { a: 'one' })).toMatchObject({ ok: false });
    expect((await call(made, 'ex__add', 'no json')).content).toContain('not a JSON object');
  });

  it('is not waited for beyond its time, nor beyond the call', async () => {
    const made = open({ ex: { ...(await setting()), timeout: 1 } });
    await made.all.warmUp();
    expect(await call(made, 'ex__wait')).toEqual({ ok: false, content: 'ex__wait failed: it took longer than 1 s.' });
    const abort = new AbortController();
    const reason = new Error('hung up');
    const broken = expect(call(made, 'ex__wait', {}, abort.signal)).rejects.toBe(reason);
    abort.abort(reason);
    await broken;
    expect(await call(made, 'ex__add', { a: 1, b: 1 })).toEqual({ ok: true, content: '2' });
  });
});

describe('MCP servers', { timeout: 60_000 }, () => {
  it('that die are started again', async () => {
    const made = open({ ex: stdio() });
    await made.all.warmUp();
    expect(await call(made, 'ex__die')).toEqual({ ok: false, content: 'ex__die failed: it ended with 3.' });
    expect(made.faults).toEqual(['ex: it ended with 3']);
    expect(await call(made, 'ex__add', { a: 2, b: 2 })).toEqual({ ok: true, content: '4' });
  });

  it('that have forgotten the session get a new one', async () => {
    const url = await serveHttp('http');
    const headers = { 'x-key': 'k' };
    const made = open({ ex: { url: `${url}/mcp`, headers } });
    await made.all.warmUp();
    await fetch(`${url}/forget`, { method: 'POST', headers });
    expect(await call(made, 'ex__add', { a: 1, b: 1 })).toMatchObject({ ok: false });
    expect(made.faults).toEqual(['ex: its session has ended']);
    expect(await call(made, 'ex__add', { a: 1, b: 1 })).toEqual({ ok: true, content: '2' });
  });

  it('tell when they have learnt something', async () => {
    const made = open({ ex: stdio() });
    await made.all.warmUp();
    await call(made, 'ex__learn');
    await expect.poll(() => toolsOf(made).map(({ spec }) => spec.name), PATIENCE).toContain('ex__trick');
    expect(await call(made, 'ex__trick')).toEqual({ ok: true, content: 'ta-da' });
  });

  it('that do not answer keep nobody waiting', async () => {
    const silent = await httpServer(() => undefined);
    servers.push(silent);
    const clock = new VirtualClock();
    const onFault = (): void => undefined;
    const all = new McpServers({ servers: { silent: { url: silent.origin } }, clock, onFault });
    opened.push(all);
    const warm = all.warmUp();
    await clock.advanceBy(3_000);
    await warm;
    expect(all.tools(null, clock, new Set())).toEqual([]);
  });

  it('that cannot be reached are faults, and offer nothing', async () => {
    const deaf = await httpServer((_request, response) => response.writeHead(401).end());
    servers.push(deaf);
    const made = open({ none: { command: '/no/such/program' }, shut: { url: deaf.origin }, no: { command: 'false' } });
    await made.all.warmUp();
    expect(made.faults.sort()).toEqual([
      'no: it ended with 1',
      'none: spawn /no/such/program ENOENT',
      "shut: it needs the operator's authorization: parley mcp login shut, or the console",
    ]);
    expect(toolsOf(made)).toEqual([]);
  });

  it('get what the operator gives them of the environment, and none of parley’s own', async () => {
    process.env['PARLEY_TEST_SECRET'] = 's';
    const made = open({ ex: stdio({ env: { GIVEN: 'g' } }) });
    await made.all.warmUp();
    delete process.env['PARLEY_TEST_SECRET'];
    expect((await call(made, 'ex__see_env', { name: 'GIVEN' })).content).toBe('g');
    expect((await call(made, 'ex__see_env', { name: 'PARLEY_TEST_SECRET' })).content).toBe('not there');
  });

  it('are for the agents that the operator names, and take no name of theirs', async () => {
    const made = open({ one: stdio({ agents: ['a-1'] }), two: stdio() });
    await made.all.warmUp();
    const prefixes = (agentId: string | null): string[] => [
      ...new Set(toolsOf(made, agentId).map(({ spec }) => spec.name.split('__')[0] ?? '')),
    ];
    expect([prefixes('a-1'), prefixes('a-2'), prefixes(null)]).toEqual([['one', 'two'], ['two'], ['two']]);
    expect(toolsOf(made, null, ['two__add']).map(({ spec }) => spec.name)).not.toContain('two__add');
  });
});
