import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { ServiceFunction } from '../../src/agent/function.js';
import type { Param } from '../../src/agent/param.js';
import { GuardedClient } from '../../src/net/guarded-client.js';
import { readValue, WebForm } from '../../src/tools/web-form.js';
import { ServiceWebhook } from '../../src/tools/service-webhook.js';
import type { ClientForm, Screen, ToolContext, ToolResult } from '../../src/tools/tool.js';
import { httpServer, type LocalServer } from '../net/local-server.js';

const EMAIL: Param = { name: 'email', type: 'email', required: true, description: 'Where {Name} gets the receipt.' };

function fn(more: Partial<ServiceFunction> = {}): ServiceFunction {
  return { name: 'ask_email', description: 'Asks {Name}.', type: 'webform', data: { param: EMAIL }, ...more };
}

/** A client that answers one form after another; where it has no more answers, it never does. */
class Client implements Screen {
  readonly forms: ClientForm[] = [];
  readonly #answers: unknown[];

  constructor(...answers: unknown[]) {
    this.#answers = answers;
  }

  ask(form: ClientForm, signal: AbortSignal): Promise<unknown> {
    this.forms.push(form);
    if (this.#answers.length > 0) return Promise.resolve(this.#answers.shift());
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }
}

function context(screen?: Screen, signal = new AbortController().signal): ToolContext {
  return { sessionId: 's-1', metadata: {}, signal, ...(screen && { screen }) };
}

const variables = new Map([['Name', 'Ann']]);

describe('a webform', () => {
  const form = (more: Partial<ServiceFunction> = {}, hasScreen = true, clock = new VirtualClock()): WebForm =>
    new WebForm(fn(more), { clock, variables, hasScreen });
  const run = (tool: WebForm, args: unknown, screen?: Screen): Promise<ToolResult> =>
    tool.run({ id: 'c', name: 'ask_email', arguments: JSON.stringify(args) }, context(screen));

  it('shows its field on the screen, and the value is the result', async () => {
    const client = new Client('ann@example.com');
    const tool = form({ type: 'web_form', params: [{ name: 'why', type: 'string' }] });
    expect(Object.keys(tool.spec.parameters['properties'] as object)).toEqual(['why']);
    expect(tool.spec.description).toBe('Asks Ann.');
    const result = await run(tool, { why: 'receipt' }, client);
    expect(result).toEqual({ ok: true, content: '{"email":"ann@example.com"}' });
    const param = { ...EMAIL, description: 'Where Ann gets the receipt.' };
    const data = { type: 'web_form', params: { why: 'receipt' }, data: { param, value: null } };
    expect(client.forms).toEqual([{ name: 'ask_email', data }]);
  });

  it('is shown again with what is wrong, and takes what the model knows already as a suggestion', async () => {
    const client = new Client('ann at example', 'ann@example.com');
    const tool = form({ params: [{ name: 'email', type: 'string' }] });
    expect(await run(tool, { email: 'ann@' }, client)).toMatchObject({ ok: true });
    expect(client.forms.map(({ data }) => data['data'])).toMatchObject([
      { value: 'ann@' },
      { value: 'ann at example', problem: 'email should be an email address such as name@example.com.' },
    ]);
  });

  it('may be closed by the user', async () => {
    expect(await run(form(), {}, new Client(null))).toEqual({
      ok: false,
      content: 'The form failed: the user closed it without filling in email.',
    });
    const optional = form({ data: { param: { name: 'email', type: 'email' } } });
    expect(await run(optional, {}, new Client(''))).toEqual({ ok: true, content: '{"email":null}' });
  });

  it('is given up after two minutes, or with the call', async () => {
    const clock = new VirtualClock();
    const tool = form({}, true, clock);
    const late = run(tool, {}, new Client());
    await clock.advanceBy(tool.maxMs);
    expect((await late).content).toContain('did not answer the form in time');
    const abort = new AbortController();
    const reason = new Error('hung up');
    const call = { id: 'c', name: 'ask_email', arguments: '' };
    const broken = expect(tool.run(call, context(new Client(), abort.signal))).rejects.toBe(reason);
    abort.abort(reason);
    await broken;
    expect(clock.pending).toBe(0);
  });

  it('has the agent ask by voice where there is no screen, and checks what it gives', async () => {
    const tool = form({}, false);
    expect(Object.keys(tool.spec.parameters['properties'] as object)).toEqual(['email']);
    expect(tool.spec.parameters['required']).toEqual([]);
    const asked = await run(tool, {});
    expect(asked.ok).toBe(false);
    expect(asked.content).toMatch(
      /no screen here\. Ask them for email \(email\) in words.*spelled.*call ask_email again/,
    );
    expect(await run(tool, { email: 'ann' })).toMatchObject({
      ok: false,
      content: expect.stringContaining('@') as string,
    });
    expect(await run(tool, { email: 'ann@example.com' })).toEqual({ ok: true, content: '{"email":"ann@example.com"}' });
  });

  it('says what it is asked to say meanwhile', () => {
    const { speech } = form({ messages: ['One field, {Name}.'], response_mode: 'flexible' });
    expect(speech).toEqual({ messages: ['One field, Ann.'], responseMode: 'flexible', executeAfterMessage: false });
  });
});

describe('a value that was filled in', () => {
  it.each<[string, unknown, unknown]>([
    ['number', '4.5', 4.5],
    ['number', 7, 7],
    ['integer', '7', 7],
    ['boolean', 'Yes', true],
    ['boolean', false, false],
    ['email', ' a.b+c@mail.example.org ', 'a.b+c@mail.example.org'],
    ['string', ' x ', 'x'],
    ['date', '2026-01-01', '2026-01-01'],
  ])('as %s: %j is %j', (type, given, value) => {
    expect(readValue({ name: 'v', type }, given)).toEqual({ ok: true, value });
  });

  it.each<[string, unknown]>([
    ['number', 'four'],
    ['number', Infinity],
    ['integer', 1.5],
    ['boolean', 'maybe'],
    ['email', 'a@b'],
    ['email', 'a b@c.de'],
    ['email', `a@${'b'.repeat(300)}.de`],
    ['string', { a: 1 }],
    ['string', 'x'.repeat(10_001)],
  ])('as %s: %j is refused', (type, given) => {
    expect(readValue({ name: 'v', type }, given)).toMatchObject({ ok: false });
  });
});

describe('a webhook of the operator', () => {
  let server: LocalServer;
  let client: GuardedClient;
  let seen: { headers: Record<string, unknown>; body: unknown }[];
  beforeEach(async () => {
    seen = [];
    server = await httpServer((request, response, body) => {
      seen.push({ headers: request.headers, body: JSON.parse(body) });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"points":12}');
    });
    client = new GuardedClient({ clock: new RealClock(), allowUrls: [server.origin] });
  });
  afterEach(async () => {
    await client.close();
    await server.close();
  });

  const params = [{ name: 'card', type: 'string', required: true }];
  const tool = (mapped: boolean, hasScreen = true): ServiceWebhook =>
    new ServiceWebhook(fn({ name: 'points', type: 'webhook', params }), {
      client,
      clock: new RealClock(),
      variables,
      hasScreen,
      address: mapped ? { url: `${server.origin}/points`, headers: { 'x-key': 'k' } } : null,
    });
  const call = { id: 'c', name: 'points', arguments: '{"card":"77"}' };

  it('is posted its name, arguments and session, and its reply is the result', async () => {
    expect(await tool(true).run(call, context())).toEqual({ ok: true, content: '{"points":12}' });
    expect(seen).toMatchObject([
      { headers: { 'x-key': 'k' }, body: { name: 'points', params: { card: '77' }, session_id: 's-1' } },
    ]);
    expect(await tool(true).run({ ...call, arguments: '{}' }, context())).toMatchObject({ ok: false });
    expect(seen).toHaveLength(1);
  });

  it("is the client's where the operator named no address", async () => {
    const screen = new Client({ points: 3 });
    expect(await tool(false).run(call, context(screen))).toEqual({ ok: true, content: '{"points":3}' });
    expect(screen.forms).toMatchObject([{ name: 'points', data: { type: 'webhook', params: { card: '77' } } }]);
    expect(await tool(false).run(call, context(new Client(null)))).toMatchObject({ ok: true });
    const alone = await tool(false, false).run(call, context(screen));
    expect(alone).toMatchObject({ ok: false, content: expect.stringContaining('on this line') as string });
    expect(seen).toEqual([]);
  });

  it('that cannot be reached is a result', async () => {
    await server.close();
    const result = await tool(true).run(call, context());
    expect(result).toMatchObject({ ok: false, content: expect.stringContaining('points failed.') as string });
  });
});
