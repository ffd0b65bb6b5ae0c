import { expect, it } from 'vitest';
import { STT_PROVIDERS, sttProvider } from '../../../src/providers/stt/registry.js';

it('makes the provider that is named', async () => {
  const stt = sttProvider('embedded');
  expect(stt).toMatchObject({ name: 'embedded', virtualTime: true });
  await stt.close();
});

it.each(['wisper', '', 'constructor', '__proto__'])('names the known ones where it is asked for %j', (name) => {
  expect(() => sttProvider(name)).toThrow(`Unknown speech-to-text provider "${name}". Known: embedded`);
  expect(STT_PROVIDERS).toContain('embedded');
});

it.each(STT_PROVIDERS.filter((name) => name !== 'embedded' && name !== 'sherpa'))(
  '%s needs access, and has its name',
  async (name) => {
    expect(() => sttProvider(name)).toThrow(expect.objectContaining({ code: 'PROVIDER_NOT_CONFIGURED' }));
    const access = { apiKey: 'key', baseUrl: 'http://127.0.0.1:9', region: 'westeurope' };
    const stt = sttProvider(name, { [name]: access });
    expect(stt).toMatchObject({ name, virtualTime: false });
    expect(stt.abilities).toBeDefined();
    await stt.close();
    await stt.close();
  },
);
