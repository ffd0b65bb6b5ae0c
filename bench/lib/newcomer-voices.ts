import { resample } from '../../dist/audio/dsp/resample.js';
import { HEARING_RATE_HZ } from '../../dist/audio/frame.js';
import type { CallerVoices } from '../../dist/eval/call/caller-voices.js';
import type { CallerAudio } from '../../dist/eval/caller/caller.js';
import type { CallerVoice } from '../../dist/eval/suite/suite-schema.js';
import type { Group } from './newcomer-phrases.js';

/** A voice, and how much faster and higher it speaks than it is made: a smaller person. */
export interface Speaker {
  voice: CallerVoice;
  scale: number;
}

const flite = (voiceId: string, scale = 1): Speaker => ({ voice: { provider: 'flite', voice_id: voiceId }, scale });
const espeak = (voiceId: string): Speaker => ({ voice: { provider: 'espeak-ng', voice_id: voiceId }, scale: 1 });

/** Eight of ten speak with flite, two with espeak-ng, which is far from a person's voice. */
export const SPEAKERS: Readonly<Record<Group, readonly Speaker[]>> = {
  'held-out': [
    flite('rms'),
    flite('awb'),
    flite('rms', 1.0625),
    flite('awb', 0.9375),
    espeak('en-us+f2'),
    flite('rms', 0.9375),
    flite('awb', 1.0625),
    flite('rms', 1.03125),
    flite('awb', 1.03125),
    espeak('en-gb+m3'),
  ],
  tuning: [
    flite('slt'),
    flite('kal16'),
    flite('slt', 0.9375),
    flite('kal16', 1.0625),
    espeak('en-us+m1'),
    flite('slt', 1.0625),
    flite('kal16', 0.9375),
    flite('slt', 0.90625),
    flite('kal16', 1.03125),
    espeak('en-gb+f4'),
  ],
};

/** What a speaker says, at their own rate. */
export async function spoken(voices: CallerVoices, { voice, scale }: Speaker, say: string): Promise<CallerAudio> {
  const { samples, sampleRateHz } = await voices.speak({ say }, voice, 'en-US');
  return { samples, sampleRateHz: sampleRateHz * scale };
}

/** The same at the recogniser's rate. */
export async function heard(voices: CallerVoices, speaker: Speaker, say: string): Promise<Int16Array> {
  const { samples, sampleRateHz } = await spoken(voices, speaker, say);
  return resample(samples, sampleRateHz, HEARING_RATE_HZ);
}
