import type { EngineTranscript } from './engine-protocol.js';
import type { SherpaResult } from '../sherpa-package.js';

export function heardOf({
  text,
  tokens = [],
  timestamps = [],
  ys_probs = [],
  ys_log_probs = [],
}: SherpaResult): EngineTranscript {
  return { text, tokens, timesS: timestamps, logProbs: ys_probs.length > 0 ? ys_probs : ys_log_probs };
}

export function floats(samples: Int16Array): Float32Array {
  const out = new Float32Array(samples.length);
  for (let index = 0; index < out.length; index++) out[index] = (samples[index] as number) / 32_768;
  return out;
}

export function integers(samples: Float32Array): Int16Array {
  const out = new Int16Array(samples.length);
  for (let index = 0; index < out.length; index++) {
    out[index] = Math.max(-32_768, Math.min(32_767, Math.round((samples[index] as number) * 32_768)));
  }
  return out;
}
