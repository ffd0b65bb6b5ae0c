import { ParleyError } from '../../base/errors.js';
import { decodeG711 } from '../codecs/g711.js';
import { checkLayout, WAV_TAG, wavBody, type WavEncoding, wavHeader } from './wav-format.js';

export type { WavEncoding } from './wav-format.js';

export interface WavAudio {
  /** One channel for the engine: the mean of all, or the requested one. */
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
  /** Every channel of the file; 16 bits whatever the file had. All are equally long. */
  readonly channels: readonly Int16Array[];
  /** What was wrong with the file and how it was read all the same; empty for a sound file. */
  readonly warnings: readonly string[];
}

export interface WavReadOptions {
  /** Which channel becomes `samples`, from 0. Default: the mean of all. */
  readonly channel?: number;
}

interface Format {
  readonly kind: 'pcm' | 'float' | 'mulaw' | 'alaw';
  readonly channels: number;
  readonly sampleRateHz: number;
  /** Bytes of one sample of one channel. */
  readonly width: number;
}

/** Real files have a handful; a hostile one could be nothing but chunks. */
const MAX_CHUNKS = 1000;

/** Sizes that programs write when they do not know yet how long the file will be. */
const UNKNOWN_SIZES: readonly number[] = [0xffff_ffff, 0x7fff_ffff, 0x7fff_f000, 0xffff_f000];

/**
 * Reads a WAVE file: RIFF or RF64, plain or extensible format; PCM of 8 to 32 bits, 32-bit float, mu-law or A-law;
 * 8 to 48 kHz; 1 to 8 channels; chunks in any order and with or without their padding.
 *
 * A damaged file is read as far as that is well defined, and `warnings` says so: a data chunk that claims more than
 * the file holds (or the sizes that streams write) ends with the file; a broken last frame is dropped; a wrong block
 * size is worked out again from the sample's width.
 *
 * @throws ParleyError AUDIO_WAV_INVALID with the reason, AUDIO_RATE_UNSUPPORTED
 */
export function decodeWav(bytes: Uint8Array, options: WavReadOptions = {}): WavAudio {
  const warnings: string[] = [];
  const { fmt, data } = findChunks(bytes, warnings);
  if (!fmt) throw invalid('it has no "fmt " chunk');
  if (!data) throw invalid('it has no "data" chunk');
  const format = readFormat(fmt, warnings);
  const chosen = options.channel;
  if (chosen !== undefined && !(Number.isInteger(chosen) && chosen >= 0 && chosen < format.channels)) {
    throw invalid(`channel ${chosen} was requested, but it has ${format.channels}, numbered from 0`);
  }
  const frameBytes = format.width * format.channels;
  const frames = Math.floor(data.length / frameBytes);
  const left = data.length - frames * frameBytes;
  if (left > 0) warnings.push(`the last ${left} bytes are not a whole sample frame and were dropped`);

  const channels = Array.from({ length: format.channels }, (_, channel) => readChannel(data, format, channel, frames));
  const samples =
    channels.length === 1 ? channels[0]! : chosen === undefined ? mean(channels, frames) : channels[chosen]!;
  return { samples, sampleRateHz: format.sampleRateHz, channels, warnings };
}

export interface WavWriteOptions {
  /** Default: pcm16. */
  readonly encoding?: WavEncoding;
}

/**
 * A whole WAVE file of one channel or several (shorter ones end in silence).
 *
 * @throws ParleyError AUDIO_RATE_UNSUPPORTED; AUDIO_WAV_INVALID for no or more than 8 channels, or beyond 4 GiB
 */
export function encodeWav(
  audio: Int16Array | readonly Int16Array[],
  sampleRateHz: number,
  options: WavWriteOptions = {},
): Uint8Array {
  const channels = audio instanceof Int16Array ? [audio] : audio;
  const layout = { sampleRateHz, channels: channels.length, encoding: options.encoding ?? 'pcm16' };
  checkLayout(layout);
  const frames = channels.reduce((longest, channel) => Math.max(longest, channel.length), 0);
  const header = wavHeader(layout, frames);
  const body = wavBody(channels, frames, layout.encoding);
  const file = new Uint8Array(header.length + body.length + (body.length & 1));
  file.set(header);
  file.set(body, header.length);
  return file;
}

interface Chunks {
  readonly fmt: Uint8Array | undefined;
  readonly data: Uint8Array | undefined;
}

function findChunks(bytes: Uint8Array, warnings: string[]): Chunks {
  if (bytes.length < 12) throw invalid(`${bytes.length} bytes are too few for a header`);
  const form = tagAt(bytes, 0);
  if (form === 'RIFX') throw invalid('it is big-endian (RIFX)');
  if ((form !== 'RIFF' && form !== 'RF64') || tagAt(bytes, 8) !== 'WAVE')
    throw invalid('it does not start as RIFF/WAVE');
  const view = viewOf(bytes);
  let fmt: Uint8Array | undefined;
  let data: Uint8Array | undefined;
  let data64: number | undefined;
  let at = 12;
  for (let count = 0; at + 8 <= bytes.length && !(fmt && data); count++) {
    const id = tagAt(bytes, at);
    if (count === MAX_CHUNKS) throw invalid(`it has more than ${MAX_CHUNKS} chunks before its audio`);
    if (!isChunkId(id)) {
      warnings.push(`what follows byte ${at} is not a chunk and was ignored`);
      break;
    }
    const start = at + 8;
    const stated = view.getUint32(at + 4, true);
    const first = id === 'data' && !data;
    const size = first ? dataSize(bytes, start, stated, data64, warnings) : stated;
    const body = bytes.subarray(start, start + size);
    if (first) data = body;
    else if (id === 'fmt ') fmt ??= body;
    else if (id === 'ds64' && body.length >= 16) data64 = Number(viewOf(body).getBigUint64(8, true));
    at = nextChunk(bytes, start + size, warnings);
  }
  return { fmt, data };
}

/** How much of what follows `start` is audio, whatever the header states. */
function dataSize(
  bytes: Uint8Array,
  start: number,
  stated: number,
  data64: number | undefined,
  warnings: string[],
): number {
  const size = stated === 0xffff_ffff && data64 !== undefined ? data64 : stated;
  const room = bytes.length - start;
  if (size <= room && (size > 0 || room === 0 || isChunkChain(bytes, start))) return size;
  warnings.push(
    size === 0 || UNKNOWN_SIZES.includes(size)
      ? 'the data chunk states no size and was read to the end of the file'
      : `the data chunk states ${size} bytes and the file has ${room} of them`,
  );
  return room;
}

/** Chunks start at even offsets; some programs forget the padding byte. */
function nextChunk(bytes: Uint8Array, end: number, warnings: string[]): number {
  if (end % 2 === 0) return end;
  if (end + 4 <= bytes.length && !isChunkId(tagAt(bytes, end + 1)) && isChunkId(tagAt(bytes, end))) {
    warnings.push(`a padding byte is missing at byte ${end}`);
    return end;
  }
  return end + 1;
}

/** Whether whole chunks fill the file from `at` to its end. Tells an empty data chunk from one without a size. */
function isChunkChain(bytes: Uint8Array, at: number): boolean {
  const view = viewOf(bytes);
  for (let count = 0; count < MAX_CHUNKS && at + 8 <= bytes.length && isChunkId(tagAt(bytes, at)); count++) {
    const size = view.getUint32(at + 4, true);
    at += 8 + size + (size & 1);
    if (at === bytes.length || at - 1 === bytes.length) return true;
  }
  return false;
}

function readFormat(body: Uint8Array, warnings: string[]): Format {
  if (body.length < 16) throw invalid(`its "fmt " chunk has ${body.length} bytes instead of 16 or more`);
  const view = viewOf(body);
  let tag = view.getUint16(0, true);
  const channels = view.getUint16(2, true);
  const sampleRateHz = view.getUint32(4, true);
  const blockBytes = view.getUint16(12, true);
  const bits = view.getUint16(14, true);
  // The extensible format's GUID starts with the tag proper.
  if (tag === WAV_TAG.extensible && body.length >= 26) tag = view.getUint16(24, true);
  checkLayout({ sampleRateHz, channels });

  const kind = kindOf(tag);
  if (!kind) throw invalid(`its format tag is 0x${tag.toString(16)} (PCM, float, mu-law and A-law are read)`);
  if (kind === 'pcm' && (bits < 8 || bits > 32)) throw invalid(`${bits}-bit PCM (8 to 32 are read)`);
  if (kind === 'float' && bits !== 32) throw invalid(`${bits}-bit float (32 is read)`);
  const width = kind === 'pcm' ? Math.ceil(bits / 8) : kind === 'float' ? 4 : 1;
  if (blockBytes !== width * channels) {
    warnings.push(`it states ${blockBytes} bytes a sample frame where its format makes ${width * channels}`);
  }
  return { kind, channels, sampleRateHz, width };
}

function kindOf(tag: number): Format['kind'] | undefined {
  if (tag === WAV_TAG.pcm) return 'pcm';
  if (tag === WAV_TAG.float) return 'float';
  if (tag === WAV_TAG.mulaw) return 'mulaw';
  if (tag === WAV_TAG.alaw) return 'alaw';
  return undefined;
}

function readChannel(data: Uint8Array, format: Format, channel: number, frames: number): Int16Array {
  const out = new Int16Array(frames);
  const stride = format.width * format.channels;
  const view = viewOf(data);
  let at = channel * format.width;
  if (format.kind === 'mulaw' || format.kind === 'alaw') {
    const codes = new Uint8Array(frames);
    for (let i = 0; i < frames; i++, at += stride) codes[i] = data[at]!;
    return decodeG711(format.kind, codes, out);
  }
  if (format.kind === 'float') {
    for (let i = 0; i < frames; i++, at += stride) out[i] = clamp(Math.round(view.getFloat32(at, true) * 32_768));
  } else if (format.width === 1) {
    for (let i = 0; i < frames; i++, at += stride) out[i] = (data[at]! - 128) << 8;
  } else if (format.width === 2) {
    for (let i = 0; i < frames; i++, at += stride) out[i] = view.getInt16(at, true);
  } else {
    // 24 and 32 bits: the top 16, rounded by the bit below them.
    const top = format.width - 2;
    for (let i = 0; i < frames; i++, at += stride) {
      out[i] = clamp(view.getInt16(at + top, true) + (data[at + top - 1]! >> 7));
    }
  }
  return out;
}

/** To the range of a sample; NaN is silence. */
function clamp(value: number): number {
  return value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : Number.isNaN(value) ? 0 : value;
}

function mean(channels: readonly Int16Array[], frames: number): Int16Array {
  const out = new Int16Array(frames);
  for (let i = 0; i < frames; i++) {
    let sum = 0;
    for (let c = 0; c < channels.length; c++) sum += channels[c]![i]!;
    out[i] = Math.round(sum / channels.length);
  }
  return out;
}

function tagAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0, bytes[at + 3] ?? 0);
}

function isChunkId(id: string): boolean {
  return /^[\x20-\x7e]{4}$/.test(id);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function invalid(reason: string): ParleyError {
  return new ParleyError('AUDIO_WAV_INVALID', { reason });
}
