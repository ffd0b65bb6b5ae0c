import { afterEach, describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { type Probe, detectProviders } from '../../src/settings/detect.js';
import { DEFAULT_SETTINGS, type Settings } from '../../src/settings/settings.js';
import { Engine } from '../../src/engine/engine.js';
import { chooseStt, chooseVoice } from '../../src/engine/languages.js';
import { sttProvider } from '../../src/providers/stt/registry.js';
import { ttsProvider } from '../../src/providers/tts/registry.js';

const access = { apiKey: 'a-key', baseUrl: null, region: null };
const VENDORS = { deepgram: access, gladia: access, elevenlabs: access, rime: access };
const providers = {
  stt: (name: string) => sttProvider(name, VENDORS),
  tts: (name: string) => ttsProvider(name, VENDORS),
};
const NOTHING: Probe = { json: () => Promise.reject(new Error('nobody')), hasCommand: () => Promise.resolve(false) };

afterEach(() => vi.unstubAllEnvs());

const found = (settings: Partial<Settings>) =>
  detectProviders(
    { ...DEFAULT_SETTINGS, dataDir: '/tmp/x', ...settings },
    { probe: NOTHING, clock: new VirtualClock(), signal: new AbortController().signal },
  );
const keys = { vendors: { gladia: { apiKey: 'g' }, elevenlabs: { apiKey: 'e' }, deepgram: { apiKey: 'd' } } };

describe('a language that the embedded engines lack', () => {
  it('is heard by the first vendor with a key that understands it', () => {
    const vendors = { stt: ['deepgram', 'gladia'], tts: [] };
    expect(chooseStt('en-US', 'embedded', vendors, providers)).toBe('embedded');
    expect(chooseStt('de', 'embedded', vendors, providers)).toBe('deepgram');
    expect(chooseStt('cy', 'embedded', vendors, providers)).toBe('gladia');
    expect(chooseStt('de', 'embedded', { stt: [], tts: [] }, providers)).toBe('embedded');
  });

  it('is spoken by the first vendor with a key that speaks it', async () => {
    vi.stubEnv('PATH', '');
    const vendors = { stt: [], tts: ['rime', 'elevenlabs'] };
    expect(await chooseVoice('en-GB', vendors, providers)).toBe('flite');
    expect(await chooseVoice('de', vendors, providers)).toBe('rime');
    expect(await chooseVoice('fi', vendors, providers)).toBe('elevenlabs');
    await expect(chooseVoice('cy', vendors, providers)).rejects.toMatchObject({ code: 'TTS_LANGUAGE_UNSUPPORTED' });
  });

  it('is served by an engine that has the vendors, and refused by one that has none', async () => {
    const { languageVendors, vendors, defaults } = await found(keys);
    const german = { agent: { language: 'de' as const, prompt: 'You sell bread.' }, script: undefined };
    const engine = new Engine({ defaults, vendors, languageVendors });
    const bare = new Engine({ defaults, vendors });
    try {
      await engine.checkAgent(german);
      await expect(bare.checkAgent(german)).rejects.toMatchObject({ code: 'STT_LANGUAGE_UNSUPPORTED' });
    } finally {
      await Promise.all([engine.close(), bare.close()]);
    }
  });

  it('has its vendors in an order that the start prints, unless the operator has named an engine', async () => {
    const { languageVendors, choices } = await found(keys);
    expect(languageVendors).toEqual({ stt: ['deepgram', 'gladia', 'elevenlabs'], tts: ['elevenlabs', 'deepgram'] });
    expect(choices).toContain(
      'speech recognition: embedded; for languages that the embedded engines lack: deepgram, gladia, elevenlabs',
    );
    expect(choices).toContain('voice: flite; for languages that the embedded engines lack: elevenlabs, deepgram');
    const named = await found({ ...keys, stt: 'embedded', tts: 'flite' });
    expect(named.languageVendors).toEqual({ stt: [], tts: [] });
    expect((await found({})).choices).toContain('speech recognition: embedded');
  });
});
