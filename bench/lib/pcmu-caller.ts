import { frameSamples, HEARING_RATE_HZ } from '../../dist/audio/frame.js';
import { encodeG711 } from '../../dist/audio/codecs/g711.js';
import { resample } from '../../dist/audio/dsp/resample.js';
import { type Conduct, soundOf } from './caller-sound.js';

const PCMU_RATE_HZ = 8_000;

/** A caller's sound for one cycle as payloads of 20 ms. */
export function pcmuPayloads(conduct: Conduct): Uint8Array[] {
  return cut(resample(soundOf(conduct), HEARING_RATE_HZ, PCMU_RATE_HZ), PCMU_RATE_HZ).map((frame) =>
    encodeG711('mulaw', frame),
  );
}

/** Sound in frames of 20 ms. */
export function cut(sound: Int16Array, rateHz: number): Int16Array[] {
  const frame = frameSamples(rateHz);
  return Array.from({ length: sound.length / frame }, (_, n) => sound.slice(n * frame, (n + 1) * frame));
}

/** A caller's answer to whatever is offered: PCMU at that port of loopback. */
export function answerOf(port: number, takesComfortNoise = false): string {
  return [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${String(port)} RTP/AVP 0${takesComfortNoise ? ' 13' : ''}`,
    'a=rtpmap:0 PCMU/8000',
    'a=sendrecv',
    '',
  ].join('\r\n');
}
