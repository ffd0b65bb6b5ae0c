import { afterEach, expect, it } from 'vitest';
import { LocalEngines } from '../../../../src/providers/local/engine/engines.js';
import { LocalModels } from '../../../../src/providers/local/local-models.js';
import { MADE_MODELS } from '../made-models.js';

const FAULTY = new URL('faulty-child.mjs', import.meta.url);
const opened: LocalEngines[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((engines) => engines.close()));
});

/** After how long without a question its process says that it is idle; 0 = never. The faulty one tells. */
async function idleMsOf(engines: LocalEngines, name: string, isOwn = false): Promise<number> {
  const kind = name === 'made-voice' ? 'tts' : 'stt';
  const model = { ...(await engines.models.find(name, kind)), config: { fault: 'tells idleMs' } };
  return (await engines.of(model, isOwn).ready()).sampleRateHz;
}

it('keeps what the settings name loaded, and lets others go when nobody asks for them', async () => {
  const models = new LocalModels({ folder: MADE_MODELS, stt: 'made-streaming', kept: ['made-voice'], idleMs: 70_000 });
  const engines = new LocalEngines('sherpa', { models, processEntry: FAULTY });
  opened.push(engines);
  expect(await idleMsOf(engines, 'made-streaming')).toBe(0);
  expect(await idleMsOf(engines, 'made-voice')).toBe(0);
  expect(await idleMsOf(engines, 'made-whisper', true)).toBe(0);
  expect(await idleMsOf(engines, 'made-transducer')).toBe(70_000);
});

it('has one process for a model, however often it is asked, and runs no other kind', async () => {
  const models = new LocalModels({ folder: MADE_MODELS });
  const engines = new LocalEngines('sherpa', { models, processEntry: FAULTY });
  opened.push(engines);
  const model = await models.find('made-voice', 'tts');
  expect(engines.of(model, false)).toBe(engines.of(model, true));
  const turn = await models.find('made-turn', 'turn');
  expect(() => engines.of(turn, false)).toThrow(/sherpa-onnx does not run it/);
});
