import type { TtsVoice } from '../tts.js';

/**
 * The voices inside flite. `slt`, `rms` and `awb` are statistical (Clustergen) voices: muffled but human. `kal` and
 * `kal16` are diphone voices: buzzing, but clear and fast.
 */
export const FLITE_VOICES = [
  { id: 'slt', name: 'SLT, US English, female', language: 'en-US', sampleRateHz: 16_000 },
  { id: 'rms', name: 'RMS, US English, male', language: 'en-US', sampleRateHz: 16_000 },
  { id: 'awb', name: 'AWB, Scottish English, male', language: 'en-GB', sampleRateHz: 16_000 },
  { id: 'kal16', name: 'KAL, US English, male, diphone', language: 'en-US', sampleRateHz: 16_000 },
  { id: 'kal', name: 'KAL, US English, male, diphone, telephone band', language: 'en-US', sampleRateHz: 8_000 },
] as const satisfies readonly TtsVoice[];

export type FliteVoiceId = (typeof FLITE_VOICES)[number]['id'];

/**
 * The one that is understood best: an independent recogniser gets 11.5 % of its words wrong, 24.5 % of slt's (see
 * docs/providers.md).
 */
export const DEFAULT_FLITE_VOICE: FliteVoiceId = 'rms';

/** Speaks where an agent sets a pitch and names no voice, because the default voice has one pitch only. */
export const PITCHED_FLITE_VOICE: FliteVoiceId = 'slt';

/** A separate model (SPAM) generates their intonation, which flite cannot adjust. */
export const FIXED_PITCH_VOICES: ReadonlySet<FliteVoiceId> = new Set<FliteVoiceId>(['rms']);

export function isFliteVoice(id: string): id is FliteVoiceId {
  return FLITE_VOICES.some((voice) => voice.id === id);
}

/** English in all its kinds; `multi` (the user's language, not yet known) starts in English. */
export function speaksEnglish(language: string): boolean {
  return language === 'en' || language.startsWith('en-') || language === 'multi';
}
