import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { failoverOf, failoverSchema } from '../../src/settings/failover.js';
import type { ModelRoute } from '../../src/settings/models.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/options.js';
import { endReason } from '../../src/session/record/end-reason.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { assemblyAiDouble } from '../vendors/stt/assemblyai.js';
import { deepgramDouble } from '../vendors/stt/deepgram.js';
import { SocketDouble } from '../vendors/stt/socket-double.js';

const KEY = 'key-0123456789';
const deepgram = new SocketDouble(deepgramDouble(KEY));
const assemblyAi = new SocketDouble(assemblyAiDouble(KEY));
let vendors: NonNullable<EngineOptions['vendors']>;
let engine: Engine | null = null;

beforeEach(async () => {
  const access = (baseUrl: string) => ({ apiKey: KEY, baseUrl, region: null });
  deepgram.faults.refuse = null;
  assemblyAi.faults.refuse = null;
  vendors = { deepgram: access(await deepgram.listen()), assemblyai: access(await assemblyAi.listen()) };
});

afterEach(async () => {
  await engine?.close();
  engine = null;
  await Promise.all([deepgram.close(), assemblyAi.close()]);
});

function make(options: EngineOptions): Engine {
  engine = new Engine({ clock: new RealClock(), vendors, ...options });
  return engine;
}

const session = (transport: MemoryTransport, language: 'en-US' | 'sv' = 'en-US') => ({
  agent: { language, first_message: 'Hello.', speech_to_text: { provider: 'deepgram' } },
  transport,
  vad: energyVad(),
  llm: functionLlm(() => 'Well.'),
  tts: toneTts({ charMs: 5 }),
});

describe('the lists', () => {
  it('are names, or more', () => {
    const given = failoverSchema.parse({
      stt: ['soniox', { provider: 'whisper', model: 'large-v3' }],
      tts: [{ provider: 'rime', voiceId: 'luna', settings: { speed: 1.1 } }],
    });
    expect(failoverOf(given)).toEqual({
      stt: [{ provider: 'soniox' }, { provider: 'whisper', model: 'large-v3' }],
      llm: [],
      tts: [{ provider: 'rime', voiceId: 'luna', settings: { speed: 1.1 } }],
    });
    expect(failoverSchema.safeParse({ stt: ['a', 7] }).success).toBe(false);
    expect(failoverSchema.safeParse({ ears: [] }).success).toBe(false);
  });

  it.each([
    [{ stt: [{ provider: 'nobody' }], llm: [], tts: [] }, 'PROVIDER_UNKNOWN', /speech-to-text .*"nobody"/],
    [{ stt: [{ provider: 'soniox' }], llm: [], tts: [] }, 'PROVIDER_NOT_CONFIGURED', /SONIOX_API_KEY/],
    [{ stt: [], llm: ['far-away'], tts: [] }, 'PROVIDER_UNKNOWN', /language model .*"far-away"/],
    [{ stt: [], llm: [], tts: [{ provider: 'rime' }] }, 'PROVIDER_NOT_CONFIGURED', /RIME_API_KEY/],
  ])('%j are refused before any call', async (failover, code, message) => {
    const error: unknown = await make({ failover })
      .checkAgent({ agent: {} })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect((error as Error).message).toMatch(message);
  });

  it('may name what serves the agent already, and models behind it', async () => {
    const route: ModelRoute = { provider: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: null, model: 'm' };
    make({
      models: new Map([['far-away', route]]),
      failover: { stt: [{ provider: 'deepgram' }], llm: ['far-away'], tts: [] },
    });
    await engine?.checkAgent({ agent: { speech_to_text: { provider: 'deepgram' }, llm: { model: 'far-away' } } });
  });
});

it('skips a fallback that does not understand the language', async () => {
  make({ failover: { stt: [{ provider: 'assemblyai' }], llm: [], tts: [] } });
  const line = new MemoryTransport();
  deepgram.faults.refuse = [503, '{"err_msg":"busy"}'];
  const { connections } = assemblyAi;
  const report = (await engine?.createSession(session(line, 'sv')))?.run();
  expect((await report)?.status).toBe('error');
  expect(assemblyAi.connections).toBe(connections);
});

it('has the reason of everybody in the error message of a call that ends because nobody listens', async () => {
  make({ failover: { stt: [{ provider: 'assemblyai' }], llm: [], tts: [] } });
  deepgram.faults.refuse = [402, `{"err_msg":"out of credit, ${KEY}"}`];
  assemblyAi.faults.refuse = [503, '{"error":"down for maintenance"}'];
  const made = await engine?.createSession(session(new MemoryTransport()));
  const report = await made?.run();
  expect(report?.status).toBe('error');
  expect(report?.faults['stt.fallback']).toBeGreaterThanOrEqual(1);
  expect(report === undefined ? '' : endReason(report, null)).toBe(
    'Speech recognition was lost: every provider of the list failed: deepgram refused the request: HTTP 402: out of ' +
      'credit, ***; add credit to its account; assemblyai failed: HTTP 503: down for maintenance. ' +
      "Check the recogniser's key, quota and address.",
  );
});
