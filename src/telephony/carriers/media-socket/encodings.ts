import { decodeG711, encodeG711, type G711Law } from '../../../audio/codecs/g711.js';
import { pcmBytes, PcmReader } from '../../../transports/pcm.js';

/** Encoding of audio on a media socket; `l16` is signed PCM, little-endian. */
export type MediaEncoding = 'mulaw' | 'alaw' | 'l16';

/** Encodes samples to the base64 text of a message. */
export function encodePayload(encoding: MediaEncoding, samples: Int16Array): string {
  return encoding === 'l16' ? pcmBytes(samples).toString('base64') : companded(encoding, samples);
}

/** Decodes base64 text to samples; none if it is invalid; an odd last byte of `l16` is left out. Never throws. */
export function decodePayload(encoding: MediaEncoding, payload: string): Int16Array {
  const bytes = Buffer.from(payload, 'base64');
  // Node skips characters that are not base64.
  if (bytes.length !== base64Bytes(payload)) return new Int16Array(0);
  return encoding === 'l16' ? new PcmReader().read(bytes) : decodeG711(encoding, bytes);
}

/** Number of bytes of a base64 text. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

function companded(law: G711Law, samples: Int16Array): string {
  const codes = Buffer.allocUnsafe(samples.length);
  encodeG711(law, samples, codes);
  return codes.toString('base64');
}
