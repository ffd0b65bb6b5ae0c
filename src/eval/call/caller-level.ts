import { frameSamples, HEARING_RATE_HZ, joinedSamples, msToSamples } from '../../audio/frame.js';
import { dbToGain, levelOf, SILENCE_DBFS } from '../../audio/dsp/level.js';
import type { CallerAudio } from '../caller/caller.js';

/** Level of the caller's speech, without its pauses. */
export const SPEECH_DBFS = -20;
const MUMBLED_DB = -10;
/** Quieter parts of speech than this below its loudest are pauses. */
const SPEECH_RANGE_DB = 25;
const FULL_SCALE = 32_768;

/** Speech at the caller's level, however loud its voice is, without the silence before and after it. */
export function atCallerLevel({ samples, sampleRateHz }: CallerAudio, mumbled = false): CallerAudio {
  const frame = frameSamples(sampleRateHz);
  const parts = Array.from({ length: Math.ceil(samples.length / frame) }, (_, at) =>
    samples.subarray(at * frame, (at + 1) * frame),
  );
  const levels = parts.map((part) => levelOf(part).rmsDbfs);
  const pauseDbfs = Math.max(...levels) - SPEECH_RANGE_DB;
  let squares = 0;
  let count = 0;
  for (const [index, part] of parts.entries()) {
    if ((levels[index] ?? SILENCE_DBFS) <= Math.max(pauseDbfs, SILENCE_DBFS)) continue;
    for (const sample of part) squares += sample * sample;
    count += part.length;
  }
  if (count === 0) return { samples, sampleRateHz };
  const isSpeech = (level: number): boolean => level > pauseDbfs;
  const spoken = samples.subarray(levels.findIndex(isSpeech) * frame, (levels.findLastIndex(isSpeech) + 1) * frame);
  const target = FULL_SCALE * dbToGain(SPEECH_DBFS + (mumbled ? MUMBLED_DB : 0));
  const gain = target / Math.sqrt(squares / count);
  const scale = (sample: number): number => Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, Math.round(sample * gain)));
  return { samples: spoken.map(scale), sampleRateHz };
}

/** Pieces of speech with silence between them. */
export function joinedSpeech(pieces: readonly CallerAudio[], pauseMs: number): CallerAudio {
  const sampleRateHz = pieces[0]?.sampleRateHz ?? HEARING_RATE_HZ;
  const pause = new Int16Array(msToSamples(pauseMs, sampleRateHz));
  const parts = pieces.flatMap(({ samples }, index) => (index === 0 ? [samples] : [pause, samples]));
  return { samples: joinedSamples(parts), sampleRateHz };
}
