import { decodeG711, encodeG711, type G711Law } from '../../audio/g711.js';
import { pcmBytes, PcmReader } from '../../transports/pcm.js';

/** How sound is written on a media socket; `l16` is signed PCM, low byte first. */
export type MediaEncoding = 'mulaw' | 'alaw' | 'l16';

/** Samples as the base64 text of a message. */
export function encodePayload(encoding: MediaEncoding, samples: Int16Array): string {
  return encoding === 'l16' ? pcmBytes(samples).toString('base64') : companded(encoding, samples);
}

/** The samples of a base64 text; odd bytes at the end of `l16` are left out. Never throws. */
export function decodePayload(encoding: MediaEncoding, payload: string): Int16Array {
  const bytes = Buffer.from(payload, 'base64');
  return encoding === 'l16' ? new PcmReader().read(bytes) : decodeG711(encoding, bytes);
}

function companded(law: G711Law, samples: Int16Array): string {
  const codes = Buffer.allocUnsafe(samples.length);
  encodeG711(law, samples, codes);
  return codes.toString('base64');
}
