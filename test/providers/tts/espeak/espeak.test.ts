import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../../../src/agent/language.js';
import {
  EspeakTts,
  type EspeakOptions,
  espeakVoiceFor,
  findEspeak,
  parseEspeakVoices,
} from '../../../../src/providers/tts/espeak.js';
import type { TtsRequest } from '../../../../src/providers/tts/tts.js';
import {
  abortAfterFirstBlock,
  codeOf,
  requestFor,
  speakAll,
  speakInVirtualTime,
  tidyUpAfterEach,
} from '../requests.js';

/** In CI the program must be there; otherwise its tests are left out by name. */
const missing = findEspeak() === undefined && process.env['CI'] !== 'true';
const installed = missing ? describe.skip : describe;
const because = missing ? ' (skipped: no program espeak-ng on PATH; apt-get install espeak-ng)' : '';

const tidied = tidyUpAfterEach();
const open = (options: EspeakOptions = {}): EspeakTts => tidied.open(new EspeakTts(options));

/** A program of the same options with a fault of its own. */
async function faulty(script: string): Promise<string> {
  const path = join(await tidied.makeFolder(), 'espeak-ng');
  const voices =
    'if [ "$1" = --voices ]; then printf "Pty Language Age/Gender VoiceName File\\n 5 en-us --/M English_(America) gmw/en-US\\n"; exit 0; fi';
  await writeFile(path, `#!/bin/sh\n${voices}\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

installed(`espeak-ng${because}`, () => {
  it.each([
    ['en-US', 'Hello there, how are you?'],
    ['de', 'Guten Tag, wie geht es Ihnen?'],
    ['fr', 'Bonjour, ça va bien ?'],
    ['ru', 'Добрый день, как дела?'],
    ['hi', 'नमस्ते, आप कैसे हैं?'],
    ['zh', '你好，今天天气很好。'],
    ['ar', 'مرحبا، كيف حالك؟'],
  ])('speaks %s with every word in order and in time', async (language, text) => {
    const { words, durationMs, sampleRateHz, samples } = await speakAll(open(), requestFor(text, { language }));
    expect(sampleRateHz).toBe(22_050);
    expect(durationMs).toBeGreaterThan(600);
    expect(words.map((word) => word.text).join('')).toBe(text.replaceAll(/\s/g, ''));
    let lastMs = 0;
    for (const { startMs, endMs } of words) {
      expect(startMs).toBeGreaterThanOrEqual(lastMs - 1e-6);
      expect(endMs).toBeGreaterThanOrEqual(startMs);
      lastMs = endMs;
    }
    expect(lastMs).toBeCloseTo(durationMs, 3);
    const loud = (sample: number): boolean => Math.abs(sample) >= 104;
    expect(samples.findIndex(loud)).toBeLessThanOrEqual(221);
    expect(samples.length - samples.findLastIndex(loud)).toBeLessThanOrEqual(222);
  });

  it('has a voice for most of the languages of the interface', async () => {
    const provider = open();
    await provider.warmUp();
    const spoken = await Promise.all(LANGUAGES.map((language) => provider.speaks(language)));
    expect(spoken.filter(Boolean).length).toBeGreaterThan(75);
    expect(provider.voices().length).toBeGreaterThan(100);
    expect(provider.voices().find((voice) => voice.id === 'de')?.name).toBe('German');
  });

  it('obeys rate, pitch and volume', async () => {
    const provider = open();
    const speak = (settings: Record<string, unknown>) =>
      speakAll(provider, requestFor('a quick brown fox', { settings }));
    const own = await speak({});
    expect((await speak({ rate: 2 })).durationMs).toBeLessThan(0.7 * own.durationMs);
    expect((await speak({ rate: 0.5 })).durationMs).toBeGreaterThan(1.5 * own.durationMs);
    expect((await speak({ pitch: 1.5 })).samples).not.toEqual(own.samples);
    expect(Math.max(...(await speak({ volume: 0.1 })).samples)).toBeLessThan(0.2 * Math.max(...own.samples));
  });

  it('speaks in the voice that is asked for, and refuses one it does not have', async () => {
    const provider = open();
    const speak = (voiceId: string) => speakAll(provider, requestFor('Hello.', { voiceId }));
    for (const voice of ['en-gb', 'fr-fr', 'de']) {
      const own = await speak(voice);
      expect(own.durationMs).toBeGreaterThan(200);
      expect((await speak(`${voice}+f2`)).samples).not.toEqual(own.samples);
    }
    for (const bad of ['xx', 'en-us+', 'en-us+whisper', '--help', '../en', 'en-us/../../etc', '']) {
      expect(await codeOf(speak(bad))).toBe('TTS_VOICE_UNKNOWN');
    }
    await expect(speak('xx')).rejects.toThrow(/espeak-ng has no voice "xx"\. Known: .*\bde\b/);
    expect(await codeOf(speakAll(provider, requestFor('x', { language: 'ilo' })))).toBe('TTS_LANGUAGE_UNSUPPORTED');
  });

  it('takes text that looks like an option, a command or mark-up as text', async () => {
    const provider = open();
    for (const text of [
      '--help me',
      '-w /tmp/x.wav now',
      '$(touch x) `id`; ls',
      "[[h@l'oU]] <speak>a</speak>",
      'a\u0000b',
    ]) {
      expect((await speakAll(provider, requestFor(text))).durationMs).toBeGreaterThan(100);
    }
  });

  it('says nothing for nothing', async () => {
    for (const text of ['', '🙂', '***']) expect((await speakAll(open(), requestFor(text))).blocks).toEqual([]);
  });

  it('gives the same audio at the same times in every virtual run', async () => {
    const provider = open();
    const run = () => speakInVirtualTime(provider, 'Hello there. How are you?');
    const first = await run();
    expect(first.blocks.length).toBeGreaterThan(0);
    expect(first.pending).toBe(0);
    expect(await run()).toEqual(first);
  });

  it('is killed by an abort', async () => {
    const provider = open({ processes: 1 });
    const { error, blocks } = await abortAfterFirstBlock(provider, 'word '.repeat(100));
    expect(error).toEqual(new Error('barge-in'));
    expect(blocks).toBe(1);
    expect((await speakAll(provider, requestFor('Next.'))).durationMs).toBeGreaterThan(200);
  });

  it('speaks several requests in turn where only one process may run', async () => {
    const provider = open({ processes: 1 });
    const all = await Promise.all(['One.', 'Two.', 'Three.'].map((text) => speakAll(provider, requestFor(text))));
    expect(all.every(({ durationMs }) => durationMs > 100)).toBe(true);
  });
});

describe('espeak-ng with faults', () => {
  const speak = (provider: EspeakTts, parts: Partial<TtsRequest> = {}) =>
    speakAll(provider, requestFor('Hello.', parts));

  it('says what to install where it is missing', async () => {
    const provider = open({ program: '/nowhere/espeak-ng' });
    expect(await codeOf(speak(provider))).toBe('PROVIDER_FAILED');
    expect(findEspeak('/nowhere:/also-nowhere:')).toBeUndefined();
    expect(findEspeak('')).toBeUndefined();
  });

  it.each([
    ['echo not audio', 'it is not a WAV file'],
    ['echo no such voice >&2; exit 2', 'no such voice'],
    ['exit 4', 'it ended with code 4'],
    ['kill -9 $$', 'it ended with code null'],
  ])('fails clearly: %s', async (script, reason) => {
    const provider = open({ program: await faulty(script) });
    await expect(speak(provider)).rejects.toThrow(`espeak-ng failed: ${reason}`);
    expect(await codeOf(speak(provider))).toBe('PROVIDER_FAILED');
  });

  it('gives nothing where the program gives nothing', async () => {
    expect((await speak(open({ program: await faulty('cat > /dev/null') }))).blocks).toEqual([]);
  });

  it('times out, kills the program and gives its place to the next', async () => {
    // The list of voices, which comes before, has the same deadline: a busy machine may take 150 ms to start a program.
    const provider = open({ program: await faulty('exec sleep 60'), timeoutMs: 1500, processes: 1 });
    await provider.warmUp();
    expect(await codeOf(speak(provider))).toBe('PROVIDER_TIMEOUT');
    expect(await codeOf(speak(provider))).toBe('PROVIDER_TIMEOUT');
  });

  it('ends with close, which may be called twice', async () => {
    const provider = open({ program: await faulty('exec sleep 60'), processes: 1 });
    await provider.warmUp();
    const work = [codeOf(speak(provider)), codeOf(speak(provider))];
    await new Promise((resolve) => setImmediate(resolve));
    await provider.close();
    await provider.close();
    expect(await Promise.all(work)).toEqual(['SESSION_CLOSED', 'SESSION_CLOSED']);
    expect(await codeOf(speak(provider))).toBe('SESSION_CLOSED');
  });
});

describe("espeak-ng's voices", () => {
  const table = `Pty Language       Age/Gender VoiceName          File                 Other Languages
 5  af              --/M      Afrikaans          gmw/af
 5  cmn             --/M      Chinese_(Mandarin,_latin_as_English) sit/cmn              (zh-cmn 5)(zh 5)
 2  en-gb           --/M      English_(Great_Britain) gmw/en               (en 2)
 2  en-us           --/M      English_(America)  gmw/en-US            (en 3)
 5  pt-br           --/M      Portuguese_(Brazil) roa/pt-BR            (pt 6)
 5  nl              --/M      Dutch              gmw/nl

`;

  it('are read from its table', () => {
    const voices = parseEspeakVoices(table);
    expect(voices.length).toBe(6);
    expect(voices[3]).toEqual({ id: 'en-us', name: 'English (America)', file: 'gmw/en-US' });
    expect(parseEspeakVoices('')).toEqual([]);
    expect(parseEspeakVoices('garbage\n\n x')).toEqual([]);
  });

  it.each([
    ['en-US', 'en-us'],
    ['en', 'en-us'],
    ['en-AU', 'en-gb'],
    ['zh', 'cmn'],
    ['zh-TW', 'cmn'],
    ['pt-BR', 'pt-br'],
    ['nl-BE', 'nl'],
    ['multi', 'en-us'],
    ['de', undefined],
    ['no', undefined],
  ])('%s is spoken by %s', (language, voice) => {
    expect(espeakVoiceFor(language, parseEspeakVoices(table))).toBe(voice);
  });
});
