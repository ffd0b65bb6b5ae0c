import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { onnxFile } from '../../fixtures/lib/onnx.mjs';
import { RealClock } from '../../src/base/real-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/options.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { FileTransport } from '../../src/transports/file.js';
import { allModels, ESPEAK_DATA, MADE_MODELS, tones } from '../providers/local/made-models.js';

const engines: Engine[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

function make(options: EngineOptions = {}): Engine {
  const engine = new Engine({
    clock: new RealClock(),
    localModels: { folder: MADE_MODELS },
    defaults: { sttProvider: 'sherpa', voiceProvider: 'sherpa', voiceId: 'made-voice' },
    ...options,
  });
  engines.push(engine);
  return engine;
}

/** A call in real time, in which the user says "one two" after three seconds: by then a busy machine has caught up. */
async function call(engine: Engine, agent: AgentConfig): Promise<SessionReport> {
  const samples = new Int16Array(16_000 * 5);
  samples.set(tones('one two'), 48_000);
  const transport = new FileTransport({ samples, sampleRateHz: 16_000, ticker: engine.ticker, hangUpAfterMs: 4000 });
  const session = await engine.createSession({
    agent,
    transport,
    vad: energyVad(),
    llm: functionLlm(() => 'yes'),
  });
  return session.run();
}

const DENOISED = { speech_to_text: { model: 'made-streaming', denoise: true } };

it('holds a whole call with models of this machine: heard, spoken, without noise', async () => {
  const { turns, faults } = await call(
    make({ localModels: { folder: MADE_MODELS, denoise: 'made-denoiser' } }),
    DENOISED,
  );
  expect(turns[0]).toMatchObject({ heard: 'one two', said: 'yes' });
  expect(faults).toEqual({});
});

it('holds calls with every family of models at once, each in its own process', async () => {
  const folder = await allModels();
  try {
    const engine = make({ localModels: { folder } });
    const kokoro = ESPEAK_DATA === null ? 'made-voice' : 'made-kokoro:high';
    const agents = [
      ['made-sense-voice', kokoro],
      ['made-paraformer', 'made-matcha'],
      ['made-moonshine', 'made-voice:1'],
      ['made-merged-moonshine', 'made-matcha'],
      ['made-streaming-paraformer', kokoro],
    ];
    const reports = await Promise.all(
      agents.map(([model = '', voice_id = '']) => {
        return call(engine, { speech_to_text: { model }, voice: { provider: 'sherpa', voice_id } });
      }),
    );
    for (const { turns, faults } of reports) {
      expect(turns[0]).toMatchObject({ heard: 'one two', said: 'yes' });
      expect(faults).toEqual({});
    }
  } finally {
    await Promise.all(engines.splice(0).map((engine) => engine.close()));
    await rm(folder, { recursive: true });
  }
});

it('continues with the fallback if the process of a model crashes in mid-call', async () => {
  const folder = await allModels();
  try {
    // It crashes at its first word: the rows that it is given are wider than it says.
    const wide = { type: 'float' as const, shape: [1, 'U', 99] };
    const decoder = onnxFile({
      inputs: ['enc', 'enc_len', 'acoustic_embeds', 'acoustic_embeds_len', 'cache'].map((name) => ({ name, ...wide })),
      outputs: [{ name: 'logits', ...wide }],
      nodes: [{ op: 'Identity', inputs: ['acoustic_embeds'], outputs: ['logits'] }],
    });
    await writeFile(join(folder, 'made-streaming-paraformer/decoder.onnx'), decoder);
    const failover = { stt: [{ provider: 'sherpa', model: 'made-streaming' }], llm: [], tts: [] };
    const engine = make({ localModels: { folder }, failover });
    const agent = { voice: { provider: 'sherpa', voice_id: 'made-voice' } };
    const [ill, well] = await Promise.all([
      call(engine, { ...agent, speech_to_text: { model: 'made-streaming-paraformer' } }),
      call(engine, { ...agent, speech_to_text: { model: 'made-whisper' } }),
    ]);
    expect(ill.turns[0]).toMatchObject({ heard: 'one two', said: 'yes' });
    expect(Object.values(ill.faultReasons ?? {}).join(' ')).toMatch(/Got invalid dimensions for input: /u);
    expect([well.turns[0], well.faults]).toMatchObject([{ heard: 'one two', said: 'yes' }, {}]);
  } finally {
    await Promise.all(engines.splice(0).map((engine) => engine.close()));
    await rm(folder, { recursive: true });
  }
});

it('denoises with RNNoise where the model cannot be had, and says so', async () => {
  const engine = make({ localModels: { folder: MADE_MODELS, denoise: 'made-voice' } });
  const { turns, faultReasons } = await call(engine, DENOISED);
  expect(turns[0]).toMatchObject({ heard: 'one two' });
  expect(faultReasons?.['denoise.failed']).toMatch(
    /No denoising model "made-voice" is installed.* RNNoise takes its place$/u,
  );
});

it.each([
  [{ speech_to_text: { model: 'nobody' } }, 'CONFIG_INVALID'],
  [{ speech_to_text: { model: `${MADE_MODELS}/made-whisper` } }, 'CONFIG_INVALID'],
  [{ voice: { provider: 'sherpa', voice_id: '../models/made-voice' } }, 'MODEL_UNKNOWN'],
  [{ voice: { provider: 'sherpa', voice_id: 'made-voice', settings: { pitch: 2 } } }, 'TTS_SETTING_INVALID'],
])('refuses an agent that asks for %j', async (agent, code) => {
  await expect(call(make(), agent)).rejects.toMatchObject({ code });
});

it('lists the voices', async () => {
  const voices = await make().voices();
  expect(voices.filter(({ provider }) => provider === 'sherpa')).toEqual([
    { id: 'made-voice', name: 'made-voice', language: 'en', sampleRateHz: 22_050, provider: 'sherpa' },
  ]);
});
