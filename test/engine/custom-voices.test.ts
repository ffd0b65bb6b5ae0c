import { afterEach, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../src/agent/agent.js';
import { RealClock } from '../../src/base/real-clock.js';
import { Engine } from '../../src/engine/engine.js';
import type { CustomVoices } from '../../src/engine/options.js';
import type { TtsRequest } from '../../src/providers/tts/tts.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';

const voices: CustomVoices = {
  find: (provider, voiceId) =>
    provider === 'flite' && voiceId === 'anna'
      ? { baseVoiceId: 'rms', model: 'm1', settings: { rate: 1.5, volume: 2 } }
      : null,
};

let engine: Engine | null = null;
afterEach(() => engine?.close());

/** What the first thing that the agent says is asked of its voice. */
async function spoken(voice: AgentConfig['voice']): Promise<TtsRequest> {
  engine = new Engine({ clock: new RealClock(), voices });
  return new Promise((resolve) => {
    const tts = toneTts();
    const listening = {
      ...tts,
      synthesize: (request: TtsRequest) => {
        resolve(request);
        return tts.synthesize(request);
      },
    };
    void engine
      ?.createSession({
        agent: { first_message: 'Hello.', voice },
        transport: new MemoryTransport(),
        vad: energyVad(),
        stt: promptedStt({ lines: [] }),
        tts: listening,
        llm: functionLlm(() => 'Well.'),
      })
      .then((session) => session.run());
  });
}

describe('a custom voice', () => {
  it('is what an agent speaks with that names it', async () => {
    expect(await spoken({ provider: 'flite', voice_id: 'anna' })).toMatchObject({
      voiceId: 'rms',
      model: 'm1',
      settings: { rate: 1.5, volume: 2 },
    });
  });

  it("is found under the operator's provider where the agent names none", async () => {
    expect(await spoken({ voice_id: 'anna' })).toMatchObject({ voiceId: 'rms' });
  });

  it('gives way to what the agent says itself', async () => {
    const voice = { provider: 'flite', voice_id: 'anna', model: 'm2', settings: { rate: 1 } };
    expect(await spoken(voice)).toMatchObject({ model: 'm2', settings: { rate: 1, volume: 2 } });
  });

  it("leaves other names to the provider, and its name to others' voices", async () => {
    expect(await spoken({ provider: 'flite', voice_id: 'slt' })).toMatchObject({ voiceId: 'slt', settings: {} });
    await engine?.close();
    expect(await spoken({ provider: 'espeak-ng', voice_id: 'anna' })).toMatchObject({ voiceId: 'anna' });
  });

  it('is checked as a voice of its provider', async () => {
    engine = new Engine({ voices });
    const agent: AgentConfig = { voice: { provider: 'flite', voice_id: 'anna', settings: { pitch: 2 } } };
    await expect(engine.checkAgent({ agent })).rejects.toThrow(/pitch/);
  });
});
