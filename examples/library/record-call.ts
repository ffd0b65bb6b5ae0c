/** Records both sides of a call from the taps of its session: a WAVE file with the user left and the agent right. */
import { encodeWav, resample, type Session } from '@parley-voice/parley';

const RATE_HZ = 16_000;

/** Call it before `session.run()`. Resolves when the session is over. */
export async function recordCall(session: Session): Promise<Uint8Array> {
  return encodeWav(await Promise.all([sideOf(session, 'user'), sideOf(session, 'agent')]), RATE_HZ);
}

async function sideOf(session: Session, side: 'user' | 'agent'): Promise<Int16Array> {
  const frames: { samples: Int16Array; atSample: number }[] = [];
  let rateHz = RATE_HZ;
  let length = 0;
  for await (const { samples, atSample, sampleRateHz } of session.tap(side)) {
    frames.push({ samples, atSample });
    rateHz = sampleRateHz;
    length = atSample + samples.length;
  }
  // What a side did not bring or play is silence.
  const whole = new Int16Array(length);
  for (const { samples, atSample } of frames) whole.set(samples, atSample);
  return resample(whole, rateHz, RATE_HZ);
}
