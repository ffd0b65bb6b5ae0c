import { describe, expect, it } from 'vitest';
import { parseVoiceSettings } from '../../../src/providers/tts/speech.js';

describe('voice settings', () => {
  it('default to the voice as it is', () => {
    expect(parseVoiceSettings('flite', {})).toEqual({ rate: 1, pitch: 1, volume: 1 });
    expect(parseVoiceSettings('flite', { rate: null })).toEqual({ rate: 1, pitch: 1, volume: 1 });
  });

  it('are taken within their ranges', () => {
    const settings = { rate: 0.5, pitch: 2, volume: 0 };
    expect(parseVoiceSettings('flite', settings)).toEqual(settings);
  });

  it.each([
    [{ stability: 0.5 }, 'The voice setting "stability" is not valid for flite: it knows rate, pitch, volume'],
    [{ rate: 3 }, 'The voice setting "rate" is not valid for flite: it must be a number from 0.5 to 2'],
    [{ rate: '1' }, 'it must be a number from 0.5 to 2'],
    [{ pitch: Number.NaN }, 'it must be a number'],
    [{ volume: -1 }, 'it must be a number from 0 to 4'],
    [{ ['__proto__x']: 1 }, 'it knows rate'],
    [{ toString: 1 }, 'it knows rate'],
  ])('%j is refused', (settings: Record<string, unknown>, message) => {
    expect(() => parseVoiceSettings('flite', settings)).toThrow(
      expect.objectContaining({ code: 'TTS_SETTING_INVALID', message: expect.stringContaining(message) as string }),
    );
  });
});
