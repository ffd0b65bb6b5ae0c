import { type Clock, delay } from '../../base/clock.js';
import { RealClock } from '../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { Resampler } from '../dsp/resample.js';
import { decodeWav, type WavAudio } from './wav.js';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, endianness, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Seconds of input to resample at once; the event loop serves calls in between. */
const SLICE_S = 1;

/** A WAV above this size, in bytes, is left to ffmpeg where there is one: reading it here would hold up calls. */
const LARGE_WAV = 2_000_000;

/**
 * A file of any common audio format as one channel at a rate. Plain WAV is read here; the rest, and WAV of unusual
 * coding or size, by ffmpeg.
 *
 * @throws ParleyError AUDIO_UNDECODABLE, AUDIO_DECODER_MISSING; the signal's reason
 */
export async function decodeMedia(bytes: Uint8Array, options: Omit<FfmpegOptions, 'format'>): Promise<Int16Array> {
  const format = mediaFormat(bytes);
  if (format === null)
    throw new ParleyError('AUDIO_UNDECODABLE', { reason: 'it is not an audio file of a known format' });
  if (format !== 'wav') return decodeWithFfmpeg(bytes, { ...options, format });
  if (bytes.length > LARGE_WAV) {
    try {
      return await decodeWithFfmpeg(bytes, { ...options, format });
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== 'AUDIO_DECODER_MISSING') throw error;
    }
  }
  const plain = plainWav(bytes);
  if (plain === null) return decodeWithFfmpeg(bytes, { ...options, format });
  const samples = plain.samples.subarray(0, options.maxLengthS * plain.sampleRateHz);
  return resampled(samples, plain.sampleRateHz, options.sampleRateHz, options.clock);
}

/** Rate at which ffmpeg gives recordings. */
const RECORDING_RATE_HZ = 16_000;
/** Longest recording, and how long ffmpeg may take for it. */
const RECORDING_LIMITS = { maxLengthS: 3_600, timeoutMs: 120_000 };

/**
 * A recording of the operator's own: WAV at its rate, everything else through ffmpeg at 16 kHz.
 *
 * @param channel from 0; null = all channels, mixed
 * @throws ParleyError AUDIO_WAV_INVALID, AUDIO_RATE_UNSUPPORTED, AUDIO_UNDECODABLE, AUDIO_DECODER_MISSING; the signal's
 *   reason
 */
export async function decodeRecording(
  bytes: Uint8Array,
  channel: number | null = null,
  signal: AbortSignal = new AbortController().signal,
): Promise<Pick<WavAudio, 'samples' | 'sampleRateHz' | 'warnings'>> {
  const format = mediaFormat(bytes);
  if (format === null || format === 'wav') return decodeWav(bytes, channel === null ? {} : { channel });
  const [sampleRateHz, clock] = [RECORDING_RATE_HZ, new RealClock()];
  const samples = await decodeWithFfmpeg(bytes, { ...RECORDING_LIMITS, format, sampleRateHz, channel, clock, signal });
  return { samples, sampleRateHz, warnings: [] };
}

function plainWav(bytes: Uint8Array): { samples: Int16Array; sampleRateHz: number } | null {
  try {
    return decodeWav(bytes);
  } catch {
    return null; // ADPCM, 96 kHz and the like
  }
}

/** As `resample`, giving way between slices. */
async function resampled(samples: Int16Array, fromHz: number, toHz: number, clock: Clock): Promise<Int16Array> {
  if (fromHz === toHz) return samples;
  const resampler = new Resampler(fromHz, toHz);
  const skip = Math.round(resampler.delaySamples);
  const out = new Int16Array(Math.ceil((samples.length * toHz) / fromHz) + 2 * skip + 2);
  let written = 0;
  for (let at = 0; at < samples.length; at += SLICE_S * fromHz) {
    written += resampler.processInto(samples.subarray(at, at + SLICE_S * fromHz), out.subarray(written));
    await delay(clock, 0);
  }
  out.set(resampler.flush(), written);
  return out.subarray(skip, skip + Math.round((samples.length * toHz) / fromHz));
}

export interface FfmpegOptions {
  format: MediaFormat;
  /** Rate of what comes out: 8000 to 48000. */
  sampleRateHz: number;
  /** From 0. Default: all channels, mixed. */
  channel?: number | null;
  /** The rest is left out. */
  maxLengthS: number;
  /** The program is killed after so long, on `clock`. */
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
  /** Default `ffmpeg` of PATH. */
  program?: string | undefined;
}

/** Largest piece of memory that ffmpeg may ask for at once, in bytes. */
const MAX_ALLOC = 67_108_864;

/**
 * Decodes a file to one channel with the program ffmpeg. The file is not trusted: ffmpeg gets the detected format, so
 * that the file cannot refer to other files or addresses, and limited time and memory. It runs at low priority,
 * because calls come first.
 *
 * @throws ParleyError AUDIO_DECODER_MISSING, AUDIO_UNDECODABLE; the signal's reason
 */
export async function decodeWithFfmpeg(bytes: Uint8Array, options: FfmpegOptions): Promise<Int16Array> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-media-'));
  try {
    const path = join(folder, 'media'); // a file, not a pipe: MP4 keeps its index at either end
    await writeFile(path, bytes, { mode: 0o600 });
    const pcm = await run(path, folder, options);
    // A copy, because the buffer's offset may be odd.
    return new Int16Array(Uint8Array.prototype.slice.call(pcm, 0, pcm.length & ~1).buffer);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(path: string, folder: string, options: FfmpegOptions): Promise<Buffer> {
  const { format, sampleRateHz, channel = null, maxLengthS, timeoutMs, clock, signal, program = 'ffmpeg' } = options;
  signal.throwIfAborted();
  const args = [
    '-nostdin',
    '-hide_banner',
    '-loglevel',
    'error',
    '-threads',
    '1',
    '-max_alloc',
    String(MAX_ALLOC),
    '-protocol_whitelist',
    'file',
    '-f',
    format,
    '-i',
    `file:${path}`,
    '-map',
    '0:a:0',
    '-t',
    String(maxLengthS),
    ...(channel === null ? ['-ac', '1'] : ['-af', `channelmap=${String(channel)}:mono`]),
    '-ar',
    String(sampleRateHz),
    '-f',
    endianness() === 'LE' ? 's16le' : 's16be',
    '-protocol_whitelist',
    'pipe',
    'pipe:1',
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces: Buffer[] = [];
    let said = '';
    let failure: Error | undefined;
    const kill = (reason: Error): void => {
      failure ??= reason;
      child.kill('SIGKILL');
    };
    const onAbort = (): void => kill(signal.reason as Error);
    const cancel = clock.schedule(clock.nowMs() + timeoutMs, () =>
      kill(undecodable(`it was not decoded within ${String(timeoutMs)} ms`)),
    );
    signal.addEventListener('abort', onAbort, { once: true });
    if (child.pid !== undefined) lowPriority(child.pid);
    child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
    child.stderr.on('data', (piece: Buffer) => (said = (said + piece.toString('utf8')).slice(-500)));
    child.once('error', (error: NodeJS.ErrnoException) => {
      failure ??= error.code === 'ENOENT' ? missing(format) : undecodable(reasonOf(error));
    });
    child.once('close', (code) => {
      cancel();
      signal.removeEventListener('abort', onAbort);
      if (failure === undefined && code !== 0) failure = undecodable(reasonIn(said, folder));
      if (failure === undefined) resolve(Buffer.concat(pieces));
      else reject(failure);
    });
  });
}

function lowPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // it has ended already
  }
}

function missing(format: MediaFormat): ParleyError {
  return new ParleyError('AUDIO_DECODER_MISSING', { format });
}

function undecodable(reason: string): ParleyError {
  return new ParleyError('AUDIO_UNDECODABLE', { reason });
}

/** The first line of ffmpeg's output, without the file's path. */
function reasonIn(said: string, folder: string): string {
  const line = said.split('\n').find((text) => text.trim() !== '') ?? '';
  return line.replaceAll(`file:${folder}/`, '').trim() || 'ffmpeg could not read it';
}

/** Audio files that are known by their first bytes, by ffmpeg's name of what reads them. */
export type MediaFormat =
  'wav' | 'mp3' | 'aac' | 'ogg' | 'flac' | 'mov' | 'matroska' | 'aiff' | 'caf' | 'au' | 'amr' | 'asf';

const MAGIC: readonly (readonly [format: MediaFormat, at: number, bytes: string])[] = [
  ['ogg', 0, 'OggS'],
  ['flac', 0, 'fLaC'],
  ['mp3', 0, 'ID3'],
  ['mov', 4, 'ftyp'],
  ['matroska', 0, '\x1a\x45\xdf\xa3'],
  ['caf', 0, 'caff'],
  ['au', 0, '.snd'],
  ['amr', 0, '#!AMR'],
  ['asf', 0, '\x30\x26\xb2\x75\x8e\x66\xcf\x11'],
];

/**
 * What kind of audio (or video with sound) a file is, whatever its name or its server say; null for everything else,
 * playlists among them: those could have a decoder read other files.
 */
export function mediaFormat(bytes: Uint8Array): MediaFormat | null {
  const text = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  if ((text(0, 4) === 'RIFF' || text(0, 4) === 'RF64') && text(8, 4) === 'WAVE') return 'wav';
  if (text(0, 4) === 'FORM' && (text(8, 4) === 'AIFF' || text(8, 4) === 'AIFC')) return 'aiff';
  const known = MAGIC.find(([, at, magic]) => text(at, magic.length) === magic);
  if (known !== undefined) return known[0];
  return mpegFrame(bytes);
}

/** An MPEG audio frame begins with eleven ones; where its layer should be, AAC in ADTS has two zeros. */
function mpegFrame([first = 0, second = 0, third = 0]: Uint8Array): 'mp3' | 'aac' | null {
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return null;
  if ((second & 0xf6) === 0xf0) return 'aac';
  const layer = (second >> 1) & 3;
  const version = (second >> 3) & 3;
  return layer !== 0 && version !== 1 && third >> 4 !== 15 && ((third >> 2) & 3) !== 3 ? 'mp3' : null;
}
