import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentFunction } from '../../src/agent/function.js';
import { GuardedClient } from '../../src/net/guarded-client.js';
import { FunctionTool, type FunctionToolOptions } from '../../src/tools/toolbox.js';
import type { ToolContext, ToolResult } from '../../src/tools/tool.js';
import { event, httpServer, type LocalServer } from '../net/local-server.js';

interface Seen {
  method: string | undefined;
  url: URL;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

const DEFAULT_REPLY = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: '{"ok":true}' as string | Buffer,
};

let server: LocalServer;
let client: GuardedClient;
let networkClock: VirtualClock;
let seen: Seen[];
let reply: { status: number; headers: Record<string, string>; body: string | Buffer } | null;
let asked: ReturnType<typeof event<void>>;

beforeEach(async () => {
  seen = [];
  reply = DEFAULT_REPLY;
  asked = event();
  server = await httpServer((request, response, body) => {
    seen.push({
      method: request.method,
      url: new URL(request.url ?? '', server.origin),
      headers: request.headers,
      body,
    });
    asked.fire();
    if (reply !== null) response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  networkClock = new VirtualClock();
  client = new GuardedClient({ clock: networkClock, allowUrls: [server.origin] });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const CONTEXT: ToolContext = {
  sessionId: 's-1',
  metadata: { Name: 'Ann', order: { id: 7 } },
  signal: new AbortController().signal,
};

const PARAMS = [
  { name: 'day', required: true, type: 'string' },
  { name: 'size', type: 'integer' },
  { name: 'dishes', type: 'array' },
];

function run(fn: Partial<AgentFunction>, args: unknown, more: Partial<FunctionToolOptions> = {}): Promise<ToolResult> {
  const whole = { name: 'book', description: 'Books.', params: PARAMS, webhook: `${server.origin}/hook`, ...fn };
  const tool = new FunctionTool(whole, { client, clock: new RealClock(), ...more });
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  return tool.run({ id: 'c1', name: 'book', arguments: text }, CONTEXT);
}

describe('FunctionTool', () => {
  it('posts the arguments at the top level with the session id, as JSON', async () => {
    const result = await run({}, { day: 'Monday', size: 4, dishes: ['a', 'b'] });
    expect(result).toEqual({ ok: true, content: '{"ok":true}' });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ day: 'Monday', size: 4, dishes: ['a', 'b'], session_id: 's-1' });
  });

  it('fills in what the model leaves out where the description names a variable of the session', async () => {
    const variables = new Map([
      ['FromPhone', '+12025550100'],
      ['age', '7'],
    ]);
    const params = [
      { name: 'caller', required: true, type: 'string', description: '{FromPhone}' },
      { name: 'years', type: 'integer', description: 'The age, {age}' },
      { name: 'other', type: 'string', description: '{Unknown}' },
      { name: 'both', type: 'string', description: '{FromPhone} and {age}' },
    ];
    expect(await run({ params }, {}, { variables })).toMatchObject({ ok: true });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ caller: '+12025550100', years: 7, session_id: 's-1' });
    await run({ params }, { caller: '+1303' }, { variables });
    expect(JSON.parse(seen[1]?.body ?? '')).toMatchObject({ caller: '+1303' });
  });

  it.each(['put', 'PATCH', 'delete'])('sends a body with %s, too', async (method) => {
    await run({ method }, { day: 'x' });
    expect(seen[0]?.method).toBe(method.toUpperCase());
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ day: 'x', session_id: 's-1' });
  });

  it('sends the arguments of GET as the query, beside the one that is there', async () => {
    const webhook = `${server.origin}/hook?key=1&day=old`;
    await run({ method: 'GET', webhook, include_metadata: true }, { day: 'a b&c', size: 4, dishes: ['x'] });
    expect(seen[0]).toMatchObject({ method: 'GET', body: '' });
    expect(Object.fromEntries(seen[0]?.url.searchParams ?? [])).toEqual({
      key: '1',
      day: 'a b&c',
      size: '4',
      dishes: '["x"]',
      session_id: 's-1',
      metadata: '{"Name":"Ann","order":{"id":7}}',
    });
  });

  it('leaves the session id out and puts the metadata in where it is asked to', async () => {
    await run({ exclude_session_id: true, include_metadata: true }, { day: 'x' });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ day: 'x', metadata: CONTEXT.metadata });
  });

  it("does not let an argument stand in for the session's own members", async () => {
    const params = [{ name: 'session_id' }, { name: 'metadata' }];
    await run({ params, include_metadata: true }, { session_id: 'forged', metadata: 'forged' });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ session_id: 's-1', metadata: CONTEXT.metadata });
  });

  it("fills variables into header values and the address's path and query", async () => {
    const variables = new Map([
      ['Name', 'Ann & Bob/..'],
      ['Key', 'k1'],
    ]);
    const webhook = `${server.origin}/for/{Name}?n={Name}&u={Unknown}`;
    await run({ webhook, header: { 'X-Key': 'Bearer {Key}', 'Content-Type': 'text/x' } }, { day: 'x' }, { variables });
    expect(seen[0]?.url.pathname).toBe('/for/Ann%20%26%20Bob%2F..');
    expect(seen[0]?.url.searchParams.get('n')).toBe('Ann & Bob/..');
    expect(seen[0]?.url.searchParams.get('u')).toBe('{Unknown}');
    expect(seen[0]?.headers['x-key']).toBe('Bearer k1');
    expect(seen[0]?.headers['content-type']).toBe('text/x');
  });

  it('fills variables into the texts that the model passes on', async () => {
    const variables = new Map([['FromPhone', '+4930123']]);
    await run({}, { day: 'call {FromPhone}, not {Nobody}', size: 4 }, { variables });
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ day: 'call +4930123, not {Nobody}', size: 4 });
  });

  it('does not let a variable break out of its header', async () => {
    const variables = new Map([['Key', 'a\r\nx-other: b']]);
    const result = await run({ header: { 'x-key': '{Key}' } }, { day: 'x' }, { variables });
    expect(result).toMatchObject({ ok: false });
    expect(result.content).toMatch(/malformed/);
    expect(seen).toEqual([]);
  });

  it('calls nothing where there is no webhook', async () => {
    const result = await run({ webhook: null }, { day: 'x' });
    expect(result.ok).toBe(true);
    expect(result.content).toMatch(/^Recorded/);
    expect(seen).toEqual([]);
  });

  it.each([
    ['{"day":', 'The arguments are not a JSON object. Correct that and call book again.'],
    ['{}', 'day is missing. Correct that and call book again.'],
    ['{"day":4}', 'day should be a string. Correct that and call book again.'],
  ])('tells the model what is wrong with %s, and calls nothing', async (args, content) => {
    expect(await run({}, args)).toEqual({ ok: false, content, fault: 'tool.arguments' });
    expect(seen).toEqual([]);
  });

  it.each([
    [{ status: 200, headers: {}, body: ' booked at eight \n' }, true, 'booked at eight'],
    [{ status: 201, headers: { 'content-type': 'text/html' }, body: '<b>ok</b>' }, true, '<b>ok</b>'],
    [{ status: 204, headers: {}, body: '' }, true, 'Done. The service sent nothing back.'],
    [
      { status: 200, headers: { 'content-type': 'text/plain; charset=iso-8859-1' }, body: Buffer.from([0x47, 0xfc]) },
      true,
      'Gü',
    ],
    [
      { status: 200, headers: { 'content-type': 'application/json' }, body: '{"a":' },
      false,
      "The service's reply could not be read: it is broken JSON.",
    ],
    [
      { status: 200, headers: {}, body: Buffer.from([0xff, 0xfe, 0x00]) },
      false,
      "The service's reply could not be read: it is not text.",
    ],
    [
      { status: 200, headers: { 'content-type': 'text/plain; charset=no-such' }, body: 'x' },
      false,
      "The service's reply could not be read: it is not text.",
    ],
    [
      { status: 404, headers: {}, body: '{"detail":"no such day"}' },
      false,
      'The service answered with status 404 and said: {"detail":"no such day"}',
    ],
    [{ status: 500, headers: {}, body: '' }, false, 'The service answered with status 500'],
    [{ status: 302, headers: { location: '/x' }, body: '' }, false, 'The service answered with status 302'],
  ])('makes a result of the reply %j', async (answer, ok, content) => {
    reply = answer;
    expect(await run({}, { day: 'x' })).toEqual({ ok, content });
    expect(seen).toHaveLength(1);
  });

  it('shows no more than a part of a failing reply', async () => {
    reply = { status: 500, headers: {}, body: 'x'.repeat(10_000) };
    expect((await run({}, { day: 'x' })).content.length).toBeLessThan(600);
  });

  it('says that a reply is too large', async () => {
    reply = { status: 200, headers: {}, body: 'x'.repeat(2_000) };
    expect(await run({}, { day: 'x' }, { maxReplyBytes: 1_999 })).toEqual({
      ok: false,
      content: 'book failed. The reply is larger than 1999 bytes.',
    });
  });

  it.each([
    [undefined, 5_000],
    [2, 2_000],
  ])('waits for timeout %s no longer than %s ms', async (timeout, timeoutMs) => {
    reply = null;
    const pending = run({ timeout }, { day: 'x' });
    await asked.happened;
    await networkClock.advanceBy(timeoutMs - 1);
    expect(networkClock.pending).toBe(1);
    await networkClock.advanceBy(1);
    expect(await pending).toEqual({
      ok: false,
      content: `book failed. The reply was not complete within ${String(timeoutMs)} ms.`,
    });
  });

  it('refuses addresses that are not allowed, as a result', async () => {
    for (const webhook of [
      'http://127.0.0.1:1/',
      'http://localhost/',
      'http://169.254.169.254/',
      'file:///etc/passwd',
    ]) {
      const result = await run({ webhook }, { day: 'x' });
      expect(result.ok).toBe(false);
      expect(result.content).toMatch(/may not be called/);
    }
    expect((await run({ webhook: 'not an address' }, { day: 'x' })).ok).toBe(false);
    expect((await run({ webhook: 'not an address', method: 'GET' }, { day: 'x' })).ok).toBe(false);
  });

  it("rejects with the signal's reason when it is aborted", async () => {
    reply = null;
    const controller = new AbortController();
    const tool = new FunctionTool(
      { name: 'book', description: '', webhook: server.origin },
      { client, clock: new RealClock() },
    );
    const call = { id: 'c', name: 'book', arguments: '' };
    const reason = new Error('hung up');
    const outcome = expect(tool.run(call, { ...CONTEXT, signal: controller.signal })).rejects.toBe(reason);
    await asked.happened;
    controller.abort(reason);
    await outcome;
    await expect(tool.run(call, { ...CONTEXT, signal: controller.signal })).rejects.toBe(reason);
  });

  it('hands its result on at a fixed instant of virtual time, however long the network took', async () => {
    const clock = new VirtualClock();
    let result: ToolResult | undefined;
    void run({}, { day: 'x' }, { clock, virtualLatencyMs: 250 }).then((outcome) => (result = outcome));
    await clock.advanceBy(249);
    expect(result).toBeUndefined();
    await clock.advanceBy(1);
    expect(result).toEqual({ ok: true, content: '{"ok":true}' });
    expect(clock.pending).toBe(0);
  });
});
