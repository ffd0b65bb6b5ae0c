import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import type { GivenModels } from '../../src/settings/models.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions, SessionRequest } from '../../src/engine/options.js';
import type { LlmProvider } from '../../src/providers/llm/llm.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import type { TtsProvider } from '../../src/providers/tts/tts.js';
import type { LogEntry } from '../../src/session/record/event-log.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import type { TransportSink } from '../../src/transports/transport.js';
import { OpenAiDouble } from '../providers/llm/openai-double.js';

const AGENT: AgentConfig = { prompt: 'You help.', first_message: 'Hello.' };
const DOUBLES = { vad: energyVad(), stt: promptedStt({ lines: [] }), tts: toneTts(), llm: functionLlm(() => 'Well.') };

let engine = new Engine();
const server = new OpenAiDouble();
afterEach(async () => {
  await engine.close();
});

function makeEngine(options: EngineOptions = {}): Engine {
  engine = new Engine({ clock: new VirtualClock(), ...options });
  return engine;
}

function request(more: Partial<SessionRequest> = {}): SessionRequest {
  return { agent: AGENT, transport: new MemoryTransport(), ...DOUBLES, ...more };
}

/** Plays a session whose user types one line and hangs up later. */
async function play(more: Partial<SessionRequest>): Promise<SessionReport> {
  const line = new MemoryTransport();
  const session = await makeEngine().createSession(request({ transport: line, ...more }));
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  session.sendText('What now?');
  const clock = engine.clock as VirtualClock;
  clock.schedule(30_000, () => void session.close());
  await clock.runUntil(() => report !== undefined, 120_000);
  return report as SessionReport;
}

it.each(['vad', 'stt', 'tts', 'llm'] as const)(
  'a provider (%s) without its methods is refused, with their names',
  async (kind) => {
    const wrong = { [kind]: { name: 'mine', complete: 1, open: 1, synthesize: 1, createDetector: 1 } } as never;
    const made = makeEngine().createSession({ ...request(), ...(wrong as object) });
    await expect(made).rejects.toMatchObject({
      code: 'ARGUMENT_INVALID',
      message: expect.stringMatching(`SessionRequest.${kind}.*it has no method warmUp, `) as string,
    });
  },
);

describe('models', () => {
  it.each<[string, (baseUrl: string) => GivenModels]>([
    ['a plain object', (baseUrl) => ({ mine: { baseUrl } })],
    ['a Map', (baseUrl) => new Map([['mine', { baseUrl, model: 'mine' }]])],
  ])('are taken from %s, with defaults for what it leaves out', async (_kind, models) => {
    engine = new Engine({ models: models(await server.listen()) });
    const answer = engine.chat({
      agent: { ...AGENT, llm: { model: 'mine' } },
      messages: [{ role: 'user', content: 'Hello?' }],
      signal: new AbortController().signal,
    });
    const texts: string[] = [];
    for await (const piece of answer) if (piece.type === 'text') texts.push(piece.text);
    expect(texts.join('')).toContain('Hello.');
    expect(server.requests.at(-1)?.body).toMatchObject({ model: 'mine' });
    await engine.close();
    await server.close();
  });

  it('that are no objects are refused by name', () => {
    const models = { mine: 'gpt-4o' } as unknown as GivenModels;
    expect(() => new Engine({ models })).toThrowError(
      /^EngineOptions\.models\["mine"\]: expected an object such as \{baseUrl/,
    );
  });
});

it('an unknown vendor key is asked for in the words of the library too, and nothing else of the vendor is needed', async () => {
  const voiced = { ...AGENT, voice: { provider: 'elevenlabs', voice_id: 'x' } } as AgentConfig;
  await expect(makeEngine().checkAgent({ agent: voiced })).rejects.toThrowError(
    'set ELEVENLABS_API_KEY (in the library: EngineOptions.vendors.elevenlabs)',
  );
  engine = new Engine({ vendors: { elevenlabs: { apiKey: 'key' } } });
  await expect(engine.checkAgent({ agent: voiced })).resolves.toBeDefined();
});

describe('a transport', () => {
  it('that is missing or is none is asked for', async () => {
    const { transport: _left, ...without } = request();
    for (const wrong of [without, { ...without, transport: null }, { ...without, transport: { play: () => {} } }]) {
      await expect(makeEngine().createSession(wrong as SessionRequest)).rejects.toMatchObject({
        code: 'ARGUMENT_INVALID',
        message: expect.stringMatching(/^SessionRequest\.transport: .*new MemoryTransport\(\)/) as string,
      });
    }
  });

  it('has one session, but may be used again where none could be made', async () => {
    const transport = new MemoryTransport();
    const broken = { ...AGENT, greeting: 'Hi' } as AgentConfig;
    await expect(makeEngine().createSession(request({ transport, agent: broken }))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    await engine.createSession(request({ transport }));
    await expect(engine.createSession(request({ transport }))).rejects.toThrowError(
      'SessionRequest.transport: this transport has had a session already; each session needs one of its own',
    );
  });
});

describe('audio that is no Int16Array', () => {
  it.each([
    [new Float32Array(320), /not Float32Array: multiply by 32767/],
    [Buffer.alloc(640), /not Uint8Array: bytes of 16-bit PCM/],
    [[0, 1, 2], /not Array: mono samples/],
  ])('is refused by MemoryTransport: %#', (samples, words) => {
    expect(() => new MemoryTransport().pushAudio(samples as unknown as Int16Array)).toThrowError(words);
  });

  it('is reported where a transport of the embedder gives it', async () => {
    const transport = new MemoryTransport();
    transport.start = (sink: TransportSink) => sink.audio(new Float32Array(320) as unknown as Int16Array);
    const { faultReasons } = await play({ transport });
    expect(faultReasons?.['ears.failed']).toMatch(
      /^audio of the transport: an Int16Array is expected, not Float32Array/,
    );
  });

  it('is reported where a voice of the embedder gives it', async () => {
    const tts: TtsProvider = {
      name: 'floats',
      virtualTime: true,
      warmUp: async () => {},
      close: async () => {},
      voices: () => [],
      async *synthesize() {
        yield { samples: new Float32Array(1600) as unknown as Int16Array, sampleRateHz: 16_000 };
      },
    };
    const { faultReasons } = await play({ tts });
    expect(faultReasons?.['tts.failed']).toMatch(/^samples of floats: an Int16Array is expected, not Float32Array/);
  });
});

describe('an exception in the code of a provider keeps its stack, in the report and in the log', () => {
  const boom = (): never => {
    throw new TypeError('boom');
  };
  const base = { virtualTime: true, warmUp: async () => {}, close: async () => {} };
  const llm: LlmProvider = { ...base, name: 'mine', complete: boom };
  const tts: TtsProvider = { ...base, name: 'mine', voices: () => [], synthesize: boom };
  const stt = { ...DOUBLES.stt, name: 'mine', open: boom } as unknown as SttProvider;

  it.each<[string, Partial<SessionRequest>]>([
    ['llm.failed', { llm }],
    ['tts.failed', { tts }],
    ['ears.failed', { stt }],
  ])('%s', async (fault, provider) => {
    const log: LogEntry[] = [];
    const { faultReasons, faultCauses } = await play({ ...provider, log: (entry) => log.push(entry) });
    expect(faultReasons?.[fault]).toBe('boom');
    expect(faultCauses?.[fault]).toMatch(/^TypeError: boom\n +at Object\.boom .*library-traps\.test\.ts/s);
    const note = log.find((entry) => entry.kind === 'note' && entry.name === fault);
    expect(note).toMatchObject({ data: { reason: 'boom', cause: expect.stringContaining('library-traps') as string } });
  });

  it('and a failure of the catalogue has none', async () => {
    const { faultReasons, faultCauses } = await play({ llm: functionLlm(() => ({ fault: 'offline' })) });
    expect(faultReasons?.['llm.failed']).toBeDefined();
    expect(faultCauses).toEqual({});
  });
});
