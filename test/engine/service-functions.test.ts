import { afterEach, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { ServiceFunction } from '../../src/agent/function.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/options.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import type { TransportMessage } from '../../src/transports/transport.js';
import { httpServer, type LocalServer } from '../net/local-server.js';

type Action = Extract<TransportMessage, { type: 'action' }>;

const FORM: ServiceFunction = {
  name: 'ask_email',
  description: 'Asks for the address.',
  type: 'webform',
  data: { param: { name: 'email', type: 'email', required: true } },
  messages: ['Please type it in.'],
};

const engines: Engine[] = [];
const servers: LocalServer[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** A session whose user types "go", whose model calls the function, and tells its result. */
async function converse(
  fn: ServiceFunction,
  options: { showsForms: boolean; engine?: EngineOptions; onAction?: (line: MemoryTransport, action: Action) => void },
): Promise<{ actions: Action[]; reported: string[]; said: string[] }> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock, ...options.engine });
  engines.push(engine);
  const actions: Action[] = [];
  const line: MemoryTransport = new MemoryTransport({
    showsForms: options.showsForms,
    onMessage: (message) => {
      if (message.type !== 'action') return;
      actions.push(message);
      options.onAction?.(line, message);
    },
  });
  const reported: string[] = [];
  const llm = functionLlm(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== 'tool') return { calls: [{ name: fn.name, arguments: '{}' }] };
    reported.push(last.content);
    return 'Thank you.';
  });
  const session = await engine.createSession({
    agent: { first_message: 'Hello.', service_functions: [fn] },
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    llm,
  });
  const report = session.run();
  await clock.advanceBy(2000);
  session.sendText('go');
  await clock.advanceBy(8000);
  line.hangUp();
  const said = (await report).messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []));
  return { actions, reported, said };
}

it('a webform reaches the client as an action, and its form result the model', async () => {
  const played = await converse(FORM, {
    showsForms: true,
    onAction: (line, { id }) => {
      line.pushFormResult('another', 'x@example.com');
      line.pushFormResult(id, 'ann@example.com');
      line.pushFormResult(id, 'twice@example.com');
    },
  });
  expect(played.actions).toMatchObject([
    { id: 'form-1', name: 'ask_email', data: { type: 'webform', data: { param: FORM.data.param } } },
  ]);
  expect(played.reported).toEqual(['{"email":"ann@example.com"}']);
  expect(played.said.join(' ')).toContain('Please type it in.');
});

it('a form that is still open when the call ends is taken back', async () => {
  const { actions, reported } = await converse(FORM, { showsForms: true });
  expect(reported).toEqual([]);
  expect(actions.map(({ id, data }) => [id, data['withdrawn'] ?? false])).toEqual([
    ['form-1', false],
    ['form-1', true],
  ]);
});

it('on a line without a screen the model is asked to ask by voice', async () => {
  const { actions, reported } = await converse(FORM, { showsForms: false });
  expect(actions).toEqual([]);
  expect(reported[0]).toContain('no screen');
});

it("a webhook goes where the operator's settings say", async () => {
  const bodies: unknown[] = [];
  const server = await httpServer((_request, response, body) => {
    bodies.push(JSON.parse(body));
    response.end('12 points');
  });
  servers.push(server);
  const fn = { ...FORM, name: 'points', type: 'webhook' as const };
  const engine = { serviceWebhooks: { points: { url: `${server.origin}/points` } } };
  const { reported } = await converse(fn, { showsForms: false, engine });
  expect(reported).toEqual(['12 points']);
  expect(bodies).toMatchObject([{ name: 'points', params: {}, session_id: expect.any(String) as string }]);
});
