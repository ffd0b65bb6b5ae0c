import { afterEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import type { ModelRoutes } from '../../src/settings/models.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions, SessionRequest } from '../../src/engine/options.js';
import type { ErrorCode } from '../../src/base/errors.js';
import { silentTts } from '../../src/providers/tts/silent.js';
import type { SessionEvent } from '../../src/session/session-options.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { httpServer, type LocalServer } from '../net/local-server.js';

/** Sessions of doubles, so that nothing is loaded. */
const DOUBLES = { vad: energyVad(), stt: promptedStt({ lines: [] }), tts: toneTts(), llm: functionLlm(() => 'Well.') };
const ROUTES: ModelRoutes = new Map([
  ['far-away', { provider: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: null, model: 'far' }],
]);

const engines: Engine[] = [];
const servers: LocalServer[] = [];

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

function makeEngine(options: EngineOptions = {}): Engine {
  const engine = new Engine({ clock: new VirtualClock(), ...options });
  engines.push(engine);
  return engine;
}

function request(agent: unknown, more: Partial<SessionRequest> = {}): SessionRequest {
  return { agent: agent as AgentConfig, transport: new MemoryTransport(), ...DOUBLES, ...more };
}

async function expectRefused(work: Promise<unknown>, code: ErrorCode, words: string | RegExp = ''): Promise<void> {
  await expect(work).rejects.toMatchObject({ code, message: expect.stringMatching(words) as string });
}

/** Plays a session in virtual time to its end. */
async function finish(engine: Engine, session: { run(): Promise<SessionReport> }): Promise<SessionReport> {
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  await (engine.clock as VirtualClock).runUntil(() => report !== undefined, 600_000);
  if (report === undefined) throw new Error('the session did not end');
  return report;
}

describe('an agent', () => {
  it.each<[string, unknown, Partial<SessionRequest>, ErrorCode, RegExp]>([
    ['with a member that there is not', { greeting: 'hi' }, {}, 'CONFIG_INVALID', /greeting/],
    ['that is no object', 'hello', {}, 'CONFIG_INVALID', /object/i],
    ['that is disabled', { status: 'disabled' }, {}, 'AGENT_DISABLED', /disabled/],
    ['with a model that nobody knows', { llm: { model: 'gpt-99' } }, { llm: undefined }, 'CONFIG_INVALID', /scripted/],
    [
      'with a model without a key',
      { llm: { model: 'gpt-4o' } },
      { llm: undefined },
      'PROVIDER_UNKNOWN',
      /Known: .*scripted/,
    ],
    [
      'with a voice that nobody knows',
      { voice: { provider: 'bark', voice_id: 'x' } },
      { tts: undefined },
      'CONFIG_INVALID',
      /flite/,
    ],
    [
      'with a voice that nobody has a key for',
      { voice: { provider: 'elevenlabs', voice_id: 'x' } },
      { tts: undefined },
      'PROVIDER_NOT_CONFIGURED',
      /ELEVENLABS_API_KEY/,
    ],
    [
      'with a speech model of a voice that has none',
      { voice: { provider: 'flite', voice_id: 'slt', model: 'turbo' } },
      { tts: undefined },
      'CONFIG_INVALID',
      /voice\.model.*"flite"/,
    ],
    [
      'with ears that nobody has a key for',
      { speech_to_text: { provider: 'deepgram' } },
      { stt: undefined },
      'PROVIDER_NOT_CONFIGURED',
      /DEEPGRAM_API_KEY/,
    ],
    ['with a faulty script', {}, { script: { rules: 7 } }, 'CONFIG_INVALID', /rules/],
    [
      'whose tool has the name of ours',
      { tools: [{ name: 'end_call', description: 'x' }] },
      {},
      'CONFIG_INVALID',
      /end_call/,
    ],
    [
      'on a line of an odd rate',
      {},
      { transport: new MemoryTransport({ sampleRateHz: 11_025 }) },
      'AUDIO_RATE_UNSUPPORTED',
      /11025/,
    ],
  ])('%s is refused', async (_name, agent, more, code, words) => {
    const engine = makeEngine();
    const given = Object.fromEntries(
      Object.entries({ ...request(agent), ...more }).filter(([, value]) => value !== undefined),
    );
    await expectRefused(engine.createSession(given as unknown as SessionRequest), code, words);
    expect(engine.sessions.size).toBe(0);
  });

  it('may be checked before it has a call, also a disabled one', async () => {
    const engine = makeEngine({ models: ROUTES, clock: new RealClock() });
    await engine.checkAgent({ agent: {} });
    await engine.checkAgent({ agent: { status: 'disabled', llm: { model: 'far-away' } } });
    await expectRefused(engine.checkAgent({ agent: { llm: { model: 'gpt-4o' } } }), 'PROVIDER_UNKNOWN');
  });

  it('has a limit to its prompt', async () => {
    const engine = makeEngine({ maxPromptChars: 20 });
    await expectRefused(engine.checkAgent({ agent: { prompt: 'x'.repeat(21) } }), 'CONFIG_INVALID', /20/);
    await engine.checkAgent({ agent: { prompt: 'x'.repeat(20) } });
  });

  it('cannot have a remote provider in virtual time', async () => {
    const engine = makeEngine({ models: ROUTES });
    const { llm: _, ...others } = request({ llm: { model: 'far-away' } });
    await expectRefused(engine.createSession(others), 'PROVIDER_REMOTE_IN_VIRTUAL_TIME', /--speed real/);
  });

  it('that cannot be reached when the engine loads keeps nobody from starting', async () => {
    const route = { provider: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: null, model: 'm' } as const;
    const engine = makeEngine({ models: new Map([['down', route]]), defaults: { llmModel: 'down' } });
    expect(await engine.warmUp()).toEqual([expect.stringMatching(/^openai failed: .*ECONNREFUSED/)]);
    await engine.close();
  });

  it('whose adapter does not exist is reported when the engine loads, and the engine still closes', async () => {
    const models: ModelRoutes = new Map([
      ['odd', { provider: 'telepathy', baseUrl: null, apiKey: null, model: 'odd' }],
    ]);
    const engine = makeEngine({ models });
    await expectRefused(engine.warmUp(), 'PROVIDER_UNKNOWN', /telepathy/);
    await engine.close();
  });
});

describe('sessions', () => {
  it('run side by side and do not hear each other', async () => {
    const engine = makeEngine();
    const lines = [new MemoryTransport(), new MemoryTransport()];
    const sessions = await Promise.all(
      lines.map((transport, index) =>
        engine.createSession(
          request(
            { first_message: `Line ${String(index)}.` },
            { transport, llm: functionLlm(({ messages }) => `To ${messages.at(-1)?.content ?? ''}`) },
          ),
        ),
      ),
    );
    expect(engine.sessions.size).toBe(2);
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(2);
    const reports = sessions.map((session) => session.run());
    const clock = engine.clock as VirtualClock;
    await clock.advanceBy(2000);
    sessions.forEach((session, index) => session.sendText(`number ${String(index)}`));
    await clock.advanceBy(3000);
    lines[0]?.hangUp();
    expect((await reports[0])?.messages.map(({ content }) => content)).toEqual(['Line 0.', 'number 0', 'To number 0']);
    expect([...engine.sessions]).toEqual([sessions[1]]);
    await clock.advanceBy(1000);
    lines[1]?.hangUp();
    expect((await reports[1])?.messages.at(-1)?.content).toBe('To number 1');
    expect(clock.pending).toBe(0);
  });

  it('end when the engine closes, which may be twice, and none begins after it', async () => {
    const engine = makeEngine();
    const running = await engine.createSession(request({ first_message: 'Hello there.' }));
    const waiting = await engine.createSession(request({}));
    const report = running.run();
    await (engine.clock as VirtualClock).advanceBy(300);
    await Promise.all([engine.close(), engine.close()]);
    expect((await report).status).toBe('api-ended');
    expect((await waiting.finished).status).toBe('api-ended');
    expect([engine.sessions.size, (engine.clock as VirtualClock).pending]).toEqual([0, 0]);
    await expectRefused(engine.createSession(request({})), 'SESSION_CLOSED');
    await expectRefused(engine.warmUp(), 'SESSION_CLOSED');
  });

  it('that are being made while the engine closes are not left behind', async () => {
    const engine = makeEngine();
    const line = new MemoryTransport();
    const making = engine.createSession(request({}, { transport: line }));
    await engine.close();
    await expectRefused(making, 'SESSION_CLOSED');
    let closed = 0;
    line.start({
      audio: () => undefined,
      digits: () => undefined,
      text: () => undefined,
      formResult: () => undefined,
      closed: () => closed++,
    });
    expect(closed).toBe(1);
  });
});

const SCRIPT = {
  greeting: 'Hello.',
  slots: { city: { type: 'enum', values: { Rome: ['rome'], Oslo: ['oslo'] } } },
  rules: [{ when: 'to {city}', say: 'To {city}, very well.' }],
};

describe('a model that fails', () => {
  it('is stood in for by the agent’s own script, and the fault is noted', async () => {
    const engine = makeEngine({ models: ROUTES, clock: new RealClock() });
    const line = new MemoryTransport();
    let answer: (text: string) => void = () => undefined;
    const answered = new Promise<string>((resolve) => (answer = resolve));
    const session = await engine.createSession({
      ...request({ llm: { model: 'far-away' }, first_message: 'Hello.' }, { transport: line }),
      llm: undefined,
      tts: silentTts,
      script: SCRIPT,
      observe: (event: SessionEvent) => {
        if (event.type !== 'agent') return;
        if (event.text === 'Hello.') session.sendText('to rome');
        else answer(event.text);
      },
    });
    const report = session.run();
    expect(await answered).toMatch(/^To Rome, very well/);
    line.hangUp();
    expect((await report).faults).toEqual({ 'llm.fallback': 1 });
  });
});

describe('webhooks', () => {
  it('that come after the call are sent what the script knows', async () => {
    const server = await httpServer((_request, response, body) => response.end(`noted ${body}`));
    servers.push(server);
    const engine = makeEngine({ allowUrls: [server.origin] });
    const line = new MemoryTransport();
    const { llm: _, ...others } = request(
      {
        first_message: 'Hello.',
        tools: [
          {
            name: 'note_trip',
            description: 'Notes where they go.',
            webhook: `${server.origin}/trips`,
            run_after_call: true,
            exclude_session_id: true,
            params: [
              { name: 'city', type: 'string', required: true, description: 'where to' },
              { name: 'seats', type: 'integer', required: true, description: 'how many' },
            ],
          },
        ],
      },
      { transport: line, script: SCRIPT },
    );
    const session = await engine.createSession(others);
    const clock = engine.clock as VirtualClock;
    clock.schedule(3000, () => session.sendText('to oslo'));
    clock.schedule(9000, () => line.hangUp());
    const report = await finish(engine, session);
    expect(report.functionCalls).toEqual([
      {
        name: 'note_trip',
        arguments: '{"city":"Oslo"}',
        ok: true,
        result: 'noted {"city":"Oslo"}',
        tookMs: 100,
        runAfterCall: true,
      },
    ]);
    expect(report.durationMs).toBe(9000);
  });

  it('may not answer with more than is allowed', async () => {
    const server = await httpServer((_request, response) => response.end('x'.repeat(2000)));
    servers.push(server);
    const engine = makeEngine({ allowUrls: [server.origin], maxToolReplyBytes: 1000 });
    const line = new MemoryTransport();
    const tools = [{ name: 'look', description: 'Looks.', webhook: `${server.origin}/look` }];
    const llm = functionLlm(({ messages }) =>
      messages.at(-1)?.role === 'user' ? { calls: [{ name: 'look', arguments: '{}' }] } : 'Done.',
    );
    const session = await engine.createSession(request({ first_message: 'Hello.', tools }, { transport: line, llm }));
    const clock = engine.clock as VirtualClock;
    clock.schedule(2000, () => session.sendText('look'));
    clock.schedule(6000, () => line.hangUp());
    expect((await finish(engine, session)).functionCalls[0]).toMatchObject({
      ok: false,
      result: expect.stringContaining('1000 bytes') as string,
    });
  });
});
