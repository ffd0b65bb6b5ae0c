import { decodeG711, encodeG711, type G711Law } from '../../../audio/codecs/g711.js';
import { pcmBytes, PcmReader } from '../../../transports/pcm.js';

/** How sound is written on a media socket; `l16` is signed PCM, low byte first. */
export type MediaEncoding = 'mulaw' | 'alaw' | 'l16';

/** Samples as the base64 text of a message. */
export function encodePayload(encoding: MediaEncoding, samples: Int16Array): string {
  return encoding === 'l16' ? pcmBytes(samples).toString('base64') : companded(encoding, samples);
}

/** The samples of a base64 text, none where it is not one; odd bytes at the end of `l16` are left out. Never throws. */
export function decodePayload(encoding: MediaEncoding, payload: string): Int16Array {
  const bytes = Buffer.from(payload, 'base64');
  // Node leaves out what is no base64, and takes the rest.
  if (bytes.length !== base64Bytes(payload)) return new Int16Array(0);
  return encoding === 'l16' ? new PcmReader().read(bytes) : decodeG711(encoding, bytes);
}

/** How many bytes a base64 text stands for. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

function companded(law: G711Law, samples: Int16Array): string {
  const codes = Buffer.allocUnsafe(samples.length);
  encodeG711(law, samples, codes);
  return codes.toString('base64');
}
