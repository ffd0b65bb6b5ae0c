import { expect, it } from 'vitest';
import { vadProvider } from '../../../src/providers/vad/registry.js';

it('gives Silero unless asked otherwise', () => {
  expect(vadProvider().name).toBe('silero');
});

it.each(['silero', 'silero-gated', 'webrtc'])('knows %s, and makes it once', (name) => {
  expect(vadProvider(name).name).toBe(name);
  expect(vadProvider(name)).toBe(vadProvider(name));
});

it.each(['', 'Silero', 'ten', '__proto__', 'constructor'])('does not know "%s", and says what it knows', (name) => {
  expect(() => vadProvider(name)).toThrow(
    expect.objectContaining({
      code: 'PROVIDER_UNKNOWN',
      message: `Unknown vad provider "${name}". Known: silero, silero-gated, webrtc`,
    }),
  );
});
