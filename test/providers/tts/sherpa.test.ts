import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { LocalModels } from '../../../src/providers/local/local-models.js';
import { SherpaTts, type SherpaTtsOptions } from '../../../src/providers/tts/sherpa.js';
import type { TtsAudio, TtsRequest } from '../../../src/providers/tts/tts.js';
import { allModels, ESPEAK_DATA, MADE_MODELS, madeModels } from '../local/made-models.js';
import { codeOf, requestFor, speakAll, tidyUpAfterEach } from './requests.js';

const FAULTY = new URL('../local/engine/faulty-child.mjs', import.meta.url);
const TEXT = 'We have a table for two at seven, Ann. Shall I book it?';
const RATE_HZ = 22_050;
const tidy = tidyUpAfterEach();
/** One for all that do not end it: a process takes some time to start. */
const tts = new SherpaTts({ models: madeModels() });
afterAll(() => tts.close());

/** The made voice, with a word to the faulty process. */
async function faulty(fault: string, options: SherpaTtsOptions = {}): Promise<SherpaTts> {
  const models = madeModels();
  const found = await models.find('made-voice', 'tts');
  models.only = () => Promise.resolve({ ...found, config: { fault } });
  return tidy.open(new SherpaTts({ models, processEntry: FAULTY, ...options }));
}

/** A request to a loaded voice has reached its process within some turns of the event loop. */
async function begun(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('what every voice keeps to', () => {
  it('speaks: trimmed, to the end, with every word once and in order', async () => {
    const { samples, sampleRateHz, durationMs, words } = await speakAll(tts, requestFor(TEXT));
    expect(sampleRateHz).toBe(RATE_HZ);
    expect(words.map(({ text }) => text)).toEqual(TEXT.split(' '));
    const times = words.flatMap(({ startMs, endMs }) => [startMs, endMs]);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBeLessThanOrEqual(durationMs + 1);
    // A character lasts 40 ms, and there are 55; what is silent at the ends of clauses is cut off.
    expect(durationMs).toBeGreaterThan(1800);
    expect(durationMs).toBeLessThan(2700);
    expect(samples.findIndex((sample) => Math.abs(sample) > 500)).toBeLessThan(samples.length / 50);
  });

  it('leaves out what is made for the eye, and ends at once where nothing is to be said', async () => {
    const { words } = await speakAll(tts, requestFor('**Yes** 🎉 — *of course*.'));
    expect(words.map(({ text }) => text)).toEqual(['**Yes**', '🎉', '—', '*of', 'course*.']);
    expect(await speakAll(tts, requestFor('🎉 …'))).toMatchObject({ blocks: [] });
  });

  it('speaks many at once, one after the other', async () => {
    const texts = Array.from({ length: 8 }, (_, i) => `Number ${String(i)} is on its way.`);
    const all = await Promise.all(texts.map((text) => speakAll(tts, requestFor(text))));
    expect(all.map(({ words }) => words.map(({ text }) => text).join(' '))).toEqual(texts);
  });

  it('stops at once when it is taken back, and can go on after that', async () => {
    const stalling = await faulty('stalls');
    await stalling.warmUp();
    const gone = new AbortController();
    const state = { error: null as unknown };
    const work = speakAll(stalling, requestFor(TEXT, { signal: gone.signal }));
    void work.catch((error: unknown) => (state.error = error));
    await begun();
    gone.abort(new Error('barge-in'));
    // The engine is not waited for: a turn of the event loop is all.
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.error).toEqual(new Error('barge-in'));
  });

  it('stops where its reader leaves, and speaks the next', async () => {
    for await (const audio of tts.synthesize(requestFor(TEXT))) if (audio.samples.length > 0) break;
    expect((await speakAll(tts, requestFor('Again.'))).words).toHaveLength(1);
  });

  it('does not begin for a signal that is aborted already', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(speakAll(tts, requestFor(TEXT, { signal }))).rejects.toThrow('too late');
  });

  it('gives nothing after close, which may come twice', async () => {
    const own = await faulty('stalls');
    await own.warmUp();
    const heard: TtsAudio[] = [];
    const work = (async () => {
      for await (const audio of own.synthesize(requestFor(TEXT))) heard.push(audio);
    })();
    const ended = codeOf(work);
    await begun();
    await Promise.all([own.close(), own.close()]);
    expect([await ended, heard]).toEqual(['SESSION_CLOSED', []]);
    expect(await codeOf(speakAll(own, requestFor(TEXT)))).toBe('SESSION_CLOSED');
  });

  it('waits for audio no longer than its deadline', async () => {
    const stalling = await faulty('stalls', { timeoutMs: 50 });
    expect(await codeOf(speakAll(stalling, requestFor(TEXT)))).toBe('PROVIDER_TIMEOUT');
  });

  it('has a process that gives no sign of life any more killed, and speaks with another', async () => {
    const clock = new VirtualClock();
    const stalling = await faulty('stalls', { timeoutMs: 50, clock });
    await stalling.warmUp();
    expect(clock.pending).toBe(0);
    expect(await codeOf(speakAll(stalling, requestFor(TEXT)))).toBe('PROVIDER_TIMEOUT');
    expect(clock.pending).toBe(1);
    const waiting = codeOf(speakAll(stalling, requestFor(TEXT, { signal: AbortSignal.timeout(10_000) })));
    await begun();
    await clock.advanceTo(10_000);
    expect(await waiting).toMatch(/^PROVIDER_(?:FAILED|TIMEOUT)$/u);
    await stalling.warmUp();
  });

  it('fails where its process dies, and speaks again', async () => {
    const dying = await faulty('dies later');
    expect(await codeOf(speakAll(dying, requestFor(TEXT)))).toBe('PROVIDER_FAILED');
    await dying.warmUp();
  });
});

describe('voices', () => {
  const pitchOf = async (parts: Partial<TtsRequest>): Promise<number> => {
    const { samples } = await speakAll(tts, requestFor('aaaa', parts));
    let crossings = 0;
    for (let at = 1; at < samples.length; at++) {
      if ((samples[at - 1] as number) < 0 && (samples[at] as number) >= 0) crossings++;
    }
    return (crossings * RATE_HZ) / samples.length;
  };

  it('are a model and, behind a colon, a speaker in it', async () => {
    expect(Math.abs((await pitchOf({})) - 320)).toBeLessThan(60);
    expect(Math.abs((await pitchOf({ voiceId: 'made-voice' })) - 320)).toBeLessThan(60);
    expect(Math.abs((await pitchOf({ voiceId: 'made-voice:1' })) - 820)).toBeLessThan(60);
    await tts.warmUp({ voiceId: 'made-voice:1', language: 'en', model: null, settings: {} });
    expect(tts.voices()).toEqual([{ id: 'made-voice', name: 'made-voice', language: 'en', sampleRateHz: RATE_HZ }]);
  });

  it.each([
    ['made-voice:2', 'TTS_VOICE_UNKNOWN'],
    ['made-voice:bella', 'TTS_VOICE_UNKNOWN'],
    ['nobody', 'MODEL_UNKNOWN'],
    ['made-whisper', 'MODEL_UNKNOWN'],
    [`${MADE_MODELS}/made-voice`, 'MODEL_UNKNOWN'],
    ['../models/made-voice', 'MODEL_UNKNOWN'],
  ])('%j there is none', async (voiceId, code) => {
    expect(await codeOf(speakAll(tts, requestFor(TEXT, { voiceId })))).toBe(code);
  });

  it('are the operator’s by a path, with a speaker too', async () => {
    const path = `${MADE_MODELS}/made-voice`;
    const own = tidy.open(new SherpaTts({ models: new LocalModels({ paths: [path] }) }));
    expect((await speakAll(own, requestFor('Yes.', { voiceId: `${path}:1` }))).words).toHaveLength(1);
  });

  it('speak languages that their models say', async () => {
    expect(await tts.speaks('en-GB')).toBe(true);
    expect(await tts.speaks('de')).toBe(false);
    expect(await codeOf(speakAll(tts, requestFor(TEXT, { language: 'de' })))).toBe('MODEL_UNKNOWN');
  });

  it('speak as fast as they are asked to, and have one pitch', async () => {
    const normal = await speakAll(tts, requestFor('one two three'));
    const quick = await speakAll(tts, requestFor('one two three', { settings: { rate: 2 } }));
    expect(normal.durationMs / quick.durationMs).toBeCloseTo(2, 1);
    expect(() => tts.checkSettings({ pitch: 2 })).toThrow(/one pitch only/);
    expect(await codeOf(speakAll(tts, requestFor(TEXT, { settings: { nonsense: 1 } })))).toBe('TTS_SETTING_INVALID');
  });
});

/** In CI espeak-ng must be there; otherwise what needs it is left out by name. */
const noEspeak = ESPEAK_DATA === null && process.env['CI'] !== 'true';
describe.each([
  { model: 'made-kokoro', rateHz: 24_000, skip: noEspeak, speakers: ['low', 'high'], unknown: 'bella' },
  { model: 'made-matcha', rateHz: 22_050, skip: false, speakers: [], unknown: '1' },
])('$model', ({ model, rateHz, skip, speakers, unknown }) => {
  let folder = '';
  let own: SherpaTts;
  beforeAll(async () => {
    folder = await allModels();
    own = new SherpaTts({ models: new LocalModels({ folder }) });
  });
  afterAll(async () => {
    await own.close();
    await rm(folder, { recursive: true });
  });

  it.skipIf(skip)('speaks: trimmed, in its speakers, as fast as it is asked to', async () => {
    const text = 'we have a table for two at seven. shall we book it?';
    const request = (parts: Partial<TtsRequest> = {}) => speakAll(own, requestFor(text, { voiceId: model, ...parts }));
    const spoken = await request();
    expect(spoken.sampleRateHz).toBe(rateHz);
    expect(spoken.words.map((word) => word.text)).toEqual(text.split(' '));
    expect(spoken.durationMs).toBeGreaterThan(1200);
    expect(spoken.durationMs).toBeLessThan(4000);
    expect(spoken.samples.some((sample) => Math.abs(sample) > 10_000)).toBe(true);
    const quick = await request({ settings: { rate: 2 } });
    expect(spoken.durationMs / quick.durationMs).toBeGreaterThan(1.6);
    expect(spoken.durationMs / quick.durationMs).toBeLessThan(2.4);
    const voices = await Promise.all(speakers.map((name) => request({ voiceId: `${model}:${name}` })));
    expect(new Set(voices.map(({ samples }) => samples.join())).size).toBe(speakers.length);
    expect(await codeOf(request({ voiceId: `${model}:${unknown}` }))).toBe('TTS_VOICE_UNKNOWN');
    const ids = own.voices().filter(({ id }) => id.startsWith(model));
    expect(ids.map(({ name }) => name)).toEqual(own.voices().length === 0 ? [] : [model, ...speakers]);
  });
});

it.skipIf(noEspeak)('says the same letters as the language is spoken, with a Kokoro of many', async () => {
  const folder = await allModels();
  const path = join(folder, 'made-kokoro/model.onnx');
  const model = await readFile(path);
  // The metadata's "version", a field of one letter.
  model[model.indexOf('version') + 'version'.length + 2] = '2'.charCodeAt(0);
  await writeFile(path, model);
  const own = tidy.open(new SherpaTts({ models: new LocalModels({ folder }) }));
  try {
    const said = async (language: string): Promise<string> => {
      const { samples } = await speakAll(own, requestFor('hola amigo, once', { voiceId: 'made-kokoro', language }));
      expect(samples.length).toBeGreaterThan(0);
      return samples.join();
    };
    const ways = [await said('en-US'), await said('es'), await said('fr')];
    expect(new Set(ways).size).toBe(3);
    expect(await own.speaks('pt')).toBe(true);
  } finally {
    await own.close();
    await rm(folder, { recursive: true });
  }
});
