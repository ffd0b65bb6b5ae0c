import { ParleyError } from '../../base/errors.js';
import { encodeG711 } from '../codecs/g711.js';
import { checkRate } from '../frame.js';

/** Format tags of `fmt ` chunks (RFC 2361; Microsoft's mmreg.h). */
export const WAV_TAG = { pcm: 1, float: 3, alaw: 6, mulaw: 7, extensible: 0xfffe } as const;

/** What parley writes: 16-bit PCM, or G.711 at half the size. */
export type WavEncoding = 'pcm16' | 'mulaw' | 'alaw';

export interface WavLayout {
  readonly sampleRateHz: number;
  /** 1 to 8. */
  readonly channels: number;
  readonly encoding: WavEncoding;
}

const MAX_CHANNELS = 8;

const UINT32_MAX = 0xffff_ffff;
/** The body of a `ds64` chunk without a table: RIFF size, data size and sample count in 64 bits each. */
const DS64_BYTES = 28;

/** @throws ParleyError AUDIO_RATE_UNSUPPORTED, AUDIO_WAV_INVALID */
export function checkLayout(layout: { readonly sampleRateHz: number; readonly channels: number }): void {
  const { sampleRateHz, channels } = layout;
  checkRate(sampleRateHz);
  if (!Number.isInteger(channels) || channels < 1 || channels > MAX_CHANNELS) {
    throw new ParleyError('AUDIO_WAV_INVALID', { reason: `${channels} channels (1 to ${MAX_CHANNELS} are read)` });
  }
}

export function bytesPerFrame(layout: WavLayout): number {
  return layout.channels * (layout.encoding === 'pcm16' ? 2 : 1);
}

/**
 * Everything in front of the samples: RIFF, `fmt ` (with `fact` for G.711, as the standard asks) and the head of
 * `data`. With `growable` the length is the same whatever the size: a `JUNK` chunk keeps the place of the `ds64`
 * chunk that files beyond 4 GiB need (RF64, EBU Tech 3306).
 */
export function wavHeader(layout: WavLayout, frames: number, growable = false): Uint8Array {
  const { encoding } = layout;
  const pcm = encoding === 'pcm16';
  const fmtBytes = pcm ? 16 : 18;
  const length = 12 + (growable ? 8 + DS64_BYTES : 0) + 8 + fmtBytes + (pcm ? 0 : 12) + 8;
  const frameBytes = bytesPerFrame(layout);
  const dataBytes = frames * frameBytes;
  const riffBytes = length - 8 + dataBytes + (dataBytes & 1);
  const large = riffBytes > UINT32_MAX;
  if (large && !growable) throw new ParleyError('AUDIO_WAV_INVALID', { reason: 'more than 4 GiB of audio' });

  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  const tag = (id: string): void => {
    for (let i = 0; i < 4; i++) bytes[at++] = id.charCodeAt(i);
  };
  const u16 = (value: number): void => {
    view.setUint16(at, value, true);
    at += 2;
  };
  const u32 = (value: number): void => {
    view.setUint32(at, Math.min(value, UINT32_MAX), true);
    at += 4;
  };
  const u64 = (value: number): void => {
    view.setBigUint64(at, BigInt(value), true);
    at += 8;
  };

  tag(large ? 'RF64' : 'RIFF');
  u32(riffBytes);
  tag('WAVE');
  if (growable) {
    tag(large ? 'ds64' : 'JUNK');
    u32(DS64_BYTES);
    u64(large ? riffBytes : 0);
    u64(large ? dataBytes : 0);
    u64(large ? frames : 0);
    u32(0);
  }
  tag('fmt ');
  u32(fmtBytes);
  u16(encoding === 'pcm16' ? WAV_TAG.pcm : WAV_TAG[encoding]);
  u16(layout.channels);
  u32(layout.sampleRateHz);
  u32(layout.sampleRateHz * frameBytes);
  u16(frameBytes);
  u16(pcm ? 16 : 8);
  if (!pcm) {
    u16(0);
    tag('fact');
    u32(4);
    u32(frames);
  }
  tag('data');
  u32(large ? UINT32_MAX : dataBytes);
  return bytes;
}

/**
 * The samples as they stand in the file: channels interleaved, little-endian. Shorter channels end in silence.
 */
export function wavBody(channels: readonly Int16Array[], frames: number, encoding: WavEncoding): Uint8Array {
  const interleaved =
    channels.length === 1 && channels[0]!.length === frames ? channels[0]! : interleave(channels, frames);
  if (encoding !== 'pcm16') return encodeG711(encoding, interleaved);
  const bytes = new Uint8Array(interleaved.length * 2);
  for (let i = 0; i < interleaved.length; i++) {
    const sample = interleaved[i]!;
    bytes[i * 2] = sample;
    bytes[i * 2 + 1] = sample >> 8;
  }
  return bytes;
}

function interleave(channels: readonly Int16Array[], frames: number): Int16Array {
  const out = new Int16Array(frames * channels.length);
  for (let c = 0; c < channels.length; c++) {
    const from = channels[c]!;
    const count = Math.min(frames, from.length);
    for (let i = 0, at = c; i < count; i++, at += channels.length) out[at] = from[i]!;
  }
  return out;
}
