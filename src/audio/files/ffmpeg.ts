import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, endianness, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { MediaFormat } from '../codecs/media-format.js';

export interface FfmpegOptions {
  format: MediaFormat;
  /** Rate of what comes out: 8000 to 48000. */
  sampleRateHz: number;
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
  const { format, sampleRateHz, maxLengthS, timeoutMs, clock, signal, program = 'ffmpeg' } = options;
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
    '-ac',
    '1',
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
