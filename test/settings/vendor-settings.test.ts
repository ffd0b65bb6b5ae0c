import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../src/settings/load-settings.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { missingOf, vendorAccess, vendorsOf } from '../../src/settings/vendor-settings.js';
import { InvalidConfigError } from '../../src/schema/issues.js';
import { scrubber } from '../../src/daemon/operations/log.js';

const env = (more: Record<string, string>) => ({ HOME: '/home/op', ...more });

describe('access to vendors', () => {
  it('comes from the environment', async () => {
    const { settings } = await loadSettings({
      env: env({
        DEEPGRAM_API_KEY: ' dg-1 ',
        DEEPGRAM_BASE_URL: '',
        KOKORO_BASE_URL: 'http://127.0.0.1:8880/v1',
        AZURE_SPEECH_KEY: 'az-1',
        AZURE_SPEECH_REGION: 'westeurope',
        OPENAI_API_KEY: 'sk-1',
      }),
    });
    expect(settings.vendors).toEqual({
      deepgram: { apiKey: 'dg-1' },
      kokoro: { baseUrl: 'http://127.0.0.1:8880/v1' },
      azure: { apiKey: 'az-1', region: 'westeurope' },
    });
    expect(vendorsOf(settings)).toMatchObject({
      deepgram: { apiKey: 'dg-1', baseUrl: null, region: null },
      openai: { apiKey: 'sk-1', baseUrl: 'https://api.openai.com/v1' },
    });
  });

  it('is reported with the variable at fault, and never with its value', async () => {
    const error: unknown = await loadSettings({
      env: env({ RIME_API_KEY: 'two words', RIME_BASE_URL: 'nowhere', AZURE_SPEECH_REGION: 'West Europe' }),
    }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidConfigError);
    const { issues, message } = error as InvalidConfigError;
    expect(issues.map(({ loc }) => loc.join())).toEqual(['AZURE_SPEECH_REGION', 'RIME_API_KEY', 'RIME_BASE_URL']);
    expect(message).not.toContain('two words');
  });

  it('is missing in words that say what to set', () => {
    expect(missingOf('azure', {})).toBe('AZURE_SPEECH_KEY and AZURE_SPEECH_REGION or AZURE_SPEECH_BASE_URL');
    expect(() => vendorAccess('cartesia', 'text-to-speech', 'cartesia', {})).toThrow(
      'The text-to-speech provider "cartesia" has no access to its vendor: set CARTESIA_API_KEY (in the library: EngineOptions.vendors.cartesia)',
    );
    const access = { apiKey: null, baseUrl: 'http://box', region: null };
    expect(vendorAccess('kokoro', 'text-to-speech', 'kokoro', { kokoro: access })).toEqual(access);
  });

  it('is never written into a log', () => {
    const settings = { ...DEFAULT_SETTINGS, dataDir: '/x', vendors: { rime: { apiKey: 'very-secret' } } };
    expect(scrubber(settings)('it says very-secret')).toBe('it says [secret]');
  });
});
