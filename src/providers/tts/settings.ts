import { ParleyError } from '../../base/errors.js';

/** What the embedded voices take as `voice.settings`. All are factors; 1 is the voice's own. */
export interface VoiceSettings {
  /** Speed, 0.5 (half) to 2 (twice as fast). Default 1. */
  rate: number;
  /** Pitch, 0.5 (an octave lower) to 2 (an octave higher). Default 1. */
  pitch: number;
  /** Loudness, 0 to 4; what exceeds full scale is softly clipped. Default 1. */
  volume: number;
}

const RANGES: Readonly<Record<keyof VoiceSettings, readonly [least: number, most: number]>> = {
  rate: [0.5, 2],
  pitch: [0.5, 2],
  volume: [0, 4],
};

/** @throws ParleyError TTS_SETTING_INVALID for an unknown name, another type or a value out of range */
export function parseVoiceSettings(provider: string, settings: Readonly<Record<string, unknown>>): VoiceSettings {
  const parsed: VoiceSettings = { rate: 1, pitch: 1, volume: 1 };
  for (const [name, value] of Object.entries(settings)) {
    if (!isSetting(name)) throw invalid(provider, name, `it knows ${Object.keys(RANGES).join(', ')}`);
    if (value === null || value === undefined) continue;
    const [least, most] = RANGES[name];
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      throw invalid(provider, name, `it must be a number from ${least} to ${most}`);
    }
    parsed[name] = value;
  }
  return parsed;
}

function isSetting(name: string): name is keyof VoiceSettings {
  return Object.hasOwn(RANGES, name);
}

function invalid(provider: string, setting: string, reason: string): ParleyError {
  return new ParleyError('TTS_SETTING_INVALID', { provider, setting: setting.slice(0, 100), reason });
}
