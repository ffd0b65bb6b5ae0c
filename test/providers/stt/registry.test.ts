import { expect, it } from 'vitest';
import { STT_PROVIDERS, sttProvider } from '../../../src/providers/stt/registry.js';

it('makes the provider that is named', async () => {
  const stt = sttProvider('embedded');
  expect(stt).toMatchObject({ name: 'embedded', virtualTime: true });
  await stt.close();
});

it.each(['whisper', '', 'constructor', '__proto__'])('names the known ones where it is asked for %j', (name) => {
  expect(() => sttProvider(name)).toThrow(`No speech-to-text provider is called "${name}". Known: embedded`);
  expect(STT_PROVIDERS).toContain('embedded');
});
