import { dtmfTones } from './dtmf.js';
import { msToSamples } from '../frame.js';

/** A key's tone and the silence after it, as phone systems need them, and what a `w` waits. */
export const KEY_ON_MS = 100;
export const KEY_OFF_MS = 100;
export const WAIT_MS = 500;

/** How long keys take to be sent. */
export function dialMs(keys: string): number {
  return [...keys].reduce((sum, key) => sum + (key === 'w' ? WAIT_MS : KEY_ON_MS + KEY_OFF_MS), 0);
}

/**
 * Keys as tones to be played: 0-9, *, #, A-D, each 100 ms and 100 ms of silence; `w` waits 500 ms.
 *
 * @throws RangeError for anything else
 */
export function dialTones(keys: string, sampleRateHz: number): Int16Array {
  const out = new Int16Array(msToSamples(dialMs(keys), sampleRateHz));
  let at = 0;
  for (const part of keys.match(/w|[^w]+/g) ?? []) {
    if (part !== 'w') {
      out.set(dtmfTones(part, sampleRateHz, { onMs: KEY_ON_MS, offMs: KEY_OFF_MS }), at);
    }
    at += msToSamples(dialMs(part), sampleRateHz);
  }
  return out;
}
