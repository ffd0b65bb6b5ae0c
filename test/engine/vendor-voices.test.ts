import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { resolveAgent } from '../../src/agent/resolve.js';
import { Engine } from '../../src/engine/engine.js';
import { spokenLanguages } from '../../src/engine/languages.js';
import type { EngineOptions } from '../../src/engine/options.js';
import { ttsProvider } from '../../src/providers/tts/registry.js';
import type { TtsProvider } from '../../src/providers/tts/tts.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { CartesiaDouble } from '../vendors/tts/cartesia.js';
import { KEY } from '../vendors/tts/speech-double.js';

let double: CartesiaDouble;
let engine: Engine;

beforeEach(async () => {
  double = await new CartesiaDouble().open();
});

afterEach(async () => {
  await engine.close();
  await double.close();
  expect(double.violations).toEqual([]);
});

function make(options: EngineOptions = {}): Engine {
  const vendors = { cartesia: { apiKey: KEY, baseUrl: double.url, region: null } };
  engine = new Engine({ clock: new RealClock(), vendors, ...options });
  return engine;
}

const speaksAs = (provider: string): AgentConfig => ({
  first_message: 'Good evening, The Crooked Fork.',
  voice: { provider, voice_id: 'anne' },
});

it('lists the voices of accounts, without those of a vendor that does not answer', async () => {
  // Nobody listens there.
  const elevenlabs = { apiKey: KEY, baseUrl: 'http://127.0.0.1:9', region: null };
  const cartesia = { apiKey: KEY, baseUrl: double.url, region: null };
  const voices = await make({ vendors: { cartesia, elevenlabs } }).voices();
  const of = (name: string): string[] => voices.filter(({ provider }) => provider === name).map(({ id }) => id);
  expect(of('cartesia')).toHaveLength(102); // 101, and the default one
  expect(of('cartesia')).toContain('mine-100');
  expect(of('elevenlabs')).toHaveLength(2);
  expect(of('flite')).toContain('slt');
});

describe("a vendor's voice", () => {
  it('is heard on the line, over a connection that stood before the call began', async () => {
    make();
    let loud = 0;
    let hear: () => void = () => undefined;
    const heard = new Promise<void>((resolve) => (hear = resolve));
    const transport = new MemoryTransport({
      sampleRateHz: 16_000,
      onFrame: (frame) => {
        loud += frame?.filter((sample) => Math.abs(sample) > 1000).length ?? 0;
        if (loud > 4000) hear();
      },
    });
    const session = await engine.createSession({
      agent: speaksAs('cartesia'),
      transport,
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      llm: functionLlm(() => 'Well.'),
    });
    expect(double.connections).toBe(1);
    expect(double.spoken).toEqual([]);
    void session.run();
    await heard;
    expect(double.spoken).toEqual(['Good evening, The Crooked Fork.']);
    expect(double.requests[0]?.voice).toEqual({ mode: 'id', id: 'anne' });
    expect(double.connections).toBe(1);
  });

  it('is refused before any call where its key is missing, or its vendor has closed', async () => {
    make({ vendors: {} });
    await expect(engine.checkAgent({ agent: speaksAs('cartesia') })).rejects.toThrow(
      /set CARTESIA_API_KEY \(in the library: EngineOptions\.vendors\.cartesia\)$/,
    );
    await expect(engine.checkAgent({ agent: speaksAs('playht') })).rejects.toThrow(/^playht has shut its service down/);
  });

  it('can stand in for one that is not there any more', async () => {
    make({ voiceSubstitutes: { playht: { provider: 'cartesia', voiceId: 'bob', model: 'sonic-3' } } });
    const agent = speaksAs('playht');
    await engine.checkAgent({ agent: { ...agent, voice: { ...agent.voice!, settings: { quality: 'premium' } } } });
  });

  it('stays the same in another language where it speaks that too', async () => {
    make();
    const agent = resolveAgent({ ...speaksAs('cartesia'), switch_language: { languages: ['de'] } });
    const voiceIn = async (tts: TtsProvider): Promise<unknown> => {
      const stt = promptedStt({ lines: [] });
      const hints = () => ({ phrases: [], texts: [], keywords: new Map<string, number>() });
      const { languages } = spokenLanguages(
        { agent, stt, tts, hints, otherStt: () => [], otherTts: () => Promise.resolve(tts) },
        'en',
      );
      return languages?.find('de');
    };
    const own = ttsProvider('cartesia', { cartesia: { apiKey: KEY, baseUrl: double.url, region: null } });
    expect(await voiceIn(own)).toMatchObject({ voiceId: 'anne' });
    await own.close();
    expect(await voiceIn({ ...toneTts(), speaks: () => Promise.resolve(true) })).toMatchObject({ voiceId: null });
  });

  it('lists its voices where there is a key, and none where there is not', async () => {
    make();
    const providers = new Set((await engine.voices()).map(({ provider }) => provider));
    expect([providers.has('flite'), providers.has('cartesia'), providers.has('elevenlabs')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});
