import { describe, expect, it } from 'vitest';
import { VENDORS, type Vendors } from '../../../src/settings/vendor-settings.js';
import { EspeakTts, findEspeak } from '../../../src/providers/tts/espeak.js';
import { TTS_PROVIDERS, ttsProvider, chooseTts } from '../../../src/providers/tts/registry.js';
import { codeOf, requestFor, speakAll } from './requests.js';

describe('the registry of text to speech', () => {
  /** A key and an address for every vendor. */
  const access = { apiKey: 'k', baseUrl: 'http://127.0.0.1:9', region: 'westeurope' };
  const all = Object.fromEntries(Object.keys(VENDORS).map((name) => [name, access])) as Vendors;

  it('makes each provider that it names', async () => {
    for (const name of TTS_PROVIDERS) {
      const provider = ttsProvider(name, all);
      expect(provider.name).toBe(name);
      expect(provider.virtualTime).toBe(name === 'flite' || name === 'espeak-ng');
      await provider.close();
    }
  });

  it.each(['playht', 'neets'])('says that %s has closed', (name) => {
    expect(() => ttsProvider(name, all)).toThrow(
      /^\w+ has shut its service down: .* with the setting voiceSubstitutes, or choose another$/,
    );
  });

  it('says what a vendor lacks', () => {
    expect(() => ttsProvider('elevenlabs')).toThrow(
      'The text-to-speech provider "elevenlabs" has no access to its vendor: set ELEVENLABS_API_KEY (in the library: EngineOptions.vendors.elevenlabs)',
    );
  });

  it.each(['nobody', '', 'toString', '__proto__'])('refuses %j and lists what it knows', (name) => {
    expect(() => ttsProvider(name)).toThrow(`Unknown text-to-speech provider "${name}". Known: flite, espeak-ng`);
  });
});

describe('choosing a voice for a language', () => {
  /** As on a machine without the program: an empty PATH. */
  async function withoutEspeak<T>(work: () => Promise<T>): Promise<T> {
    const path = process.env['PATH'];
    process.env['PATH'] = '';
    try {
      return await work();
    } finally {
      process.env['PATH'] = path;
    }
  }

  it.each(['en', 'en-US', 'en-GB', 'en-IN', 'multi'])('takes flite for %s', async (language) => {
    expect(await withoutEspeak(() => chooseTts(language))).toBe('flite');
  });

  it('says what would help where nothing speaks it', async () => {
    await withoutEspeak(async () => {
      await expect(chooseTts('de')).rejects.toThrow(
        'No voice for the language "de": flite speaks English only; install espeak-ng',
      );
      const provider = new EspeakTts();
      expect(provider.available).toBe(false);
      expect(await provider.speaks('de')).toBe(false);
      expect(await codeOf(speakAll(provider, requestFor('Hallo', { language: 'de' })))).toBe('TTS_ENGINE_MISSING');
      expect(await codeOf(provider.warmUp())).toBe('TTS_ENGINE_MISSING');
      expect(provider.voices()).toEqual([]);
      await provider.close();
    });
  });

  it.skipIf(findEspeak() === undefined && process.env['CI'] !== 'true')(
    'takes espeak-ng for what it speaks (needs espeak-ng on PATH)',
    async () => {
      expect(await chooseTts('de')).toBe('espeak-ng');
      expect(await chooseTts('zh-TW')).toBe('espeak-ng');
      await expect(chooseTts('ilo')).rejects.toThrow('espeak-ng has no voice for it');
    },
  );
});
