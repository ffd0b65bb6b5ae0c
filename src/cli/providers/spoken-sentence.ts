import { HEARING_RATE_HZ } from '../../audio/frame.js';
import { Resampler } from '../../audio/dsp/resample.js';
import { RealClock } from '../../base/real-clock.js';
import { FliteTts } from '../../providers/tts/flite/flite.js';

export const SENTENCE = 'We have a table for two at seven o’clock this evening.';

/** Uses the embedded voice, at the sample rate of recognisers. */
export async function spokenSentence(signal: AbortSignal): Promise<Int16Array> {
  const voice = new FliteTts();
  try {
    const clock = new RealClock();
    const parts: Int16Array[] = [];
    let resampler: Resampler | null = null;
    const request = { text: SENTENCE, language: 'en-US', voiceId: null, model: null, settings: {}, clock, signal };
    for await (const { samples, sampleRateHz } of voice.synthesize(request)) {
      resampler ??= new Resampler(sampleRateHz, HEARING_RATE_HZ);
      parts.push(resampler.process(samples).slice());
    }
    return Int16Array.from(parts.flatMap((part) => [...part]));
  } finally {
    await voice.close();
  }
}
