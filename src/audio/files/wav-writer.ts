import { type FileHandle, open } from 'node:fs/promises';
import { bytesPerFrame, checkLayout, wavBody, type WavEncoding, wavHeader, type WavLayout } from './wav-format.js';

export interface WavWriterOptions {
  /** 8000 to 48000. */
  readonly sampleRateHz: number;
  /** 1 to 8. Default 1. */
  readonly channels?: number;
  /** Default pcm16. */
  readonly encoding?: WavEncoding;
  /** Audio held in memory before it goes to the file, and so the most that a crash loses. Default 1000. */
  readonly flushEveryMs?: number;
  /** Fails where the file exists, in place of emptying it. Default false. */
  readonly exclusive?: boolean;
  /** Permissions of a new file. Default 0o666, less the process's mask. */
  readonly mode?: number;
}

/**
 * Writes a WAVE file of any length as it comes. After each flush the header is brought up to date, samples first, so
 * that the file is readable at any moment, a crash included. Beyond 4 GiB the file becomes RF64 (EBU Tech 3306).
 */
export class WavWriter {
  readonly #file: FileHandle;
  readonly #layout: WavLayout;
  /** One growing frame store per channel, written out when full. */
  readonly #pending: readonly Int16Array[];
  readonly #headerBytes: number;
  #pendingFrames = 0;
  #writtenFrames = 0;
  /** The end of the last requested write; writes run in order. */
  #tail: Promise<void> = Promise.resolve();
  #closed: Promise<void> | undefined;

  private constructor(file: FileHandle, layout: WavLayout, flushFrames: number) {
    this.#file = file;
    this.#layout = layout;
    this.#pending = Array.from({ length: layout.channels }, () => new Int16Array(flushFrames));
    this.#headerBytes = wavHeader(layout, 0, true).length;
  }

  /**
   * Creates (or empties) the file and writes its header.
   *
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED, AUDIO_WAV_INVALID (channels); the file system's error
   */
  static async create(path: string, options: WavWriterOptions): Promise<WavWriter> {
    const { sampleRateHz, channels = 1, encoding = 'pcm16', flushEveryMs = 1000, exclusive = false, mode } = options;
    const layout = { sampleRateHz, channels, encoding };
    checkLayout(layout);
    const file = await open(path, exclusive ? 'wx' : 'w', mode);
    const writer = new WavWriter(file, layout, Math.max(1, Math.round((flushEveryMs * sampleRateHz) / 1000)));
    try {
      await writeAll(file, wavHeader(layout, 0, true), 0);
    } catch (error) {
      await file.close();
      throw error;
    }
    return writer;
  }

  /** Frames (samples of each channel) taken so far. */
  get frames(): number {
    return this.#writtenFrames + this.#pendingFrames;
  }

  /**
   * Takes one array of samples per channel, of equal length, and copies them. Resolves when full blocks are written
   * (most calls: at once).
   *
   * @throws RangeError for the wrong number of channels or unequal lengths; the file system's error (also of an
   * earlier write); after close(), Error
   */
  write(...channels: readonly Int16Array[]): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('The WAV file is closed'));
    const length = channels[0]?.length ?? 0;
    if (channels.length !== this.#pending.length || channels.some((channel) => channel.length !== length)) {
      return Promise.reject(new RangeError(`${this.#pending.length} channels of equal length are needed`));
    }
    for (let from = 0; from < length;) {
      const count = Math.min(length - from, this.#pending[0]!.length - this.#pendingFrames);
      for (let c = 0; c < channels.length; c++) {
        this.#pending[c]!.set(channels[c]!.subarray(from, from + count), this.#pendingFrames);
      }
      this.#pendingFrames += count;
      from += count;
      if (this.#pendingFrames === this.#pending[0]!.length) this.#flush();
    }
    return this.#tail;
  }

  /** Writes what is left and closes the file. May be called twice. */
  close(): Promise<void> {
    this.#closed ??= this.#finish();
    return this.#closed;
  }

  async #finish(): Promise<void> {
    try {
      if (this.#pendingFrames > 0) this.#flush();
      await this.#tail;
      const end = this.#writtenFrames * bytesPerFrame(this.#layout);
      if (end % 2 === 1) await writeAll(this.#file, new Uint8Array(1), this.#headerBytes + end);
    } finally {
      await this.#file.close();
    }
  }

  /** Encodes what is pending and puts its writing at the end of the queue. */
  #flush(): void {
    const frames = this.#pendingFrames;
    const body = wavBody(this.#pending, frames, this.#layout.encoding);
    const at = this.#headerBytes + this.#writtenFrames * bytesPerFrame(this.#layout);
    this.#pendingFrames = 0;
    this.#writtenFrames += frames;
    const header = wavHeader(this.#layout, this.#writtenFrames, true);
    this.#tail = this.#tail.then(async () => {
      await writeAll(this.#file, body, at);
      await writeAll(this.#file, header, 0);
    });
    // write() and close() report the error; there may be no call waiting now.
    this.#tail.catch(() => undefined);
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
  }
}
