/** Resolution of a waveform. */
export const PEAK_MS = 10;

/** Peak level (0 to 1) of each 10 ms, for both sides. */
export interface Peaks {
  user: Float32Array;
  agent: Float32Array;
}

interface Format {
  channels: number;
  sampleRateHz: number;
}

/**
 * Reads a recording (RIFF WAVE, 16 bits, two channels) as it loads, and keeps only the peaks, so that an hour takes a
 * few megabytes. Chunks may be cut anywhere. @throws Error for other files
 */
export class PeakReader {
  #head = new Uint8Array(0);
  #format: Format | null = null;
  #inData = false;
  #left = Infinity;
  #odd = new Uint8Array(0);
  #frames = 0;
  #user = new Float32Array(6000);
  #agent = new Float32Array(6000);

  push(bytes: Uint8Array): void {
    if (this.#inData) {
      this.#samples(bytes);
      return;
    }
    this.#head = joined(this.#head, bytes);
    const dataAt = this.#readHead();
    if (dataAt === null) {
      if (this.#head.length > 65_536) throw new Error('The recording contains no audio.');
      return;
    }
    this.#inData = true;
    this.#samples(this.#head.subarray(dataAt));
    this.#head = new Uint8Array(0);
  }

  /** The peaks so far. */
  get peaks(): Peaks {
    const count = this.#format === null ? 0 : Math.ceil(this.#frames / this.#framesPerPeak);
    return { user: this.#user.subarray(0, count), agent: this.#agent.subarray(0, count) };
  }

  get durationMs(): number {
    return this.#format === null ? 0 : (this.#frames / this.#format.sampleRateHz) * 1000;
  }

  get #framesPerPeak(): number {
    return ((this.#format?.sampleRateHz ?? 0) * PEAK_MS) / 1000;
  }

  /** Position of the samples; null = not reached yet. */
  #readHead(): number | null {
    const view = new DataView(this.#head.buffer, this.#head.byteOffset, this.#head.byteLength);
    if (view.byteLength < 12) return null;
    if (fourCc(view, 0) !== 'RIFF' || fourCc(view, 8) !== 'WAVE') throw new Error('The recording is not a WAV file.');
    for (let at = 12; at + 8 <= view.byteLength;) {
      const id = fourCc(view, at);
      const size = view.getUint32(at + 4, true);
      if (id === 'data') {
        if (this.#format === null) throw new Error('The recording has no format.');
        if (size > 0 && size < 0xffff_ffff) this.#left = size;
        return at + 8;
      }
      if (id === 'fmt ' && at + 24 <= view.byteLength) {
        const format = { channels: view.getUint16(at + 10, true), sampleRateHz: view.getUint32(at + 12, true) };
        if (format.channels !== 2 || view.getUint16(at + 22, true) !== 16) {
          throw new Error('The recording is not 16-bit stereo.');
        }
        this.#format = format;
      }
      at += 8 + size + (size % 2);
    }
    return null;
  }

  #samples(bytes: Uint8Array): void {
    const wanted = bytes.subarray(0, Math.min(bytes.length, this.#left));
    this.#left -= wanted.length;
    const all = this.#odd.length === 0 ? wanted : joined(this.#odd, wanted);
    const frames = all.length >> 2;
    const view = new DataView(all.buffer, all.byteOffset, all.byteLength);
    const perPeak = this.#framesPerPeak;
    this.#reserve(Math.ceil((this.#frames + frames) / perPeak));
    for (let frame = 0; frame < frames; frame++) {
      const at = Math.floor((this.#frames + frame) / perPeak);
      const left = Math.abs(view.getInt16(frame * 4, true)) / 32_768;
      const right = Math.abs(view.getInt16(frame * 4 + 2, true)) / 32_768;
      if (left > (this.#user[at] ?? 0)) this.#user[at] = left;
      if (right > (this.#agent[at] ?? 0)) this.#agent[at] = right;
    }
    this.#frames += frames;
    this.#odd = all.slice(frames * 4);
  }

  #reserve(count: number): void {
    if (count <= this.#user.length) return;
    const length = Math.max(count, this.#user.length * 2);
    const user = new Float32Array(length);
    const agent = new Float32Array(length);
    user.set(this.#user);
    agent.set(this.#agent);
    this.#user = user;
    this.#agent = agent;
  }
}

/** The maximum of some peaks. */
export function loudest(peaks: Float32Array, fromMs: number, toMs: number): number {
  const from = Math.max(0, Math.floor(fromMs / PEAK_MS));
  const to = Math.min(peaks.length, Math.max(from + 1, Math.ceil(toMs / PEAK_MS)));
  let top = 0;
  for (let at = from; at < to; at++) top = Math.max(top, peaks[at] ?? 0);
  return top;
}

function fourCc(view: DataView, at: number): string {
  return String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
