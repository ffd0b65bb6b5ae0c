import { FRAME_MS } from '../../../audio/frame.js';

/** Frames kept for sending again: larger than any carrier's buffer of audio sent on time. */
const MOST_FRAMES = 150;
/** A mark that has not returned by then is lost, and the audio before it counts as heard. */
const LOST_MS = MOST_FRAMES * FRAME_MS;

interface Mark {
  name: string;
  /** Number of frames sent before it. */
  frames: number;
  sentMs: number;
}

/**
 * Sent audio that was not heard yet, according to the carrier's marks: each returns when the audio before it has been
 * played. Between two marks the delay of the last one applies, or the time that the next one has been awaited if that
 * is longer, because the carrier or the network stalls.
 */
export class UnplayedAudio {
  /** The last sent frames, as sent. */
  readonly #kept: string[] = [];
  readonly #marks: Mark[] = [];
  #sent = 0;
  #played = 0;
  /** From sending to the report that it was played. */
  #delayMs = 0;
  #names = 0;

  /** Duration of sent audio that was not heard yet. */
  ms(nowMs: number): number {
    this.#forget(nowMs);
    const waitedMs = nowMs - (this.#marks[0]?.sentMs ?? nowMs);
    return Math.min((this.#sent - this.#played) * FRAME_MS, Math.max(this.#delayMs, waitedMs));
  }

  /** Whether all sent audio has been played, according to the marks. */
  get isAllPlayed(): boolean {
    return this.#played === this.#sent;
  }

  /** The delay of the last returned mark, in milliseconds: the carrier's buffer and the network both ways. */
  get delayMs(): number {
    return this.#delayMs;
  }

  sent(payload: string): void {
    this.#sent++;
    this.#kept.push(payload);
    if (this.#kept.length > MOST_FRAMES) this.#kept.shift();
  }

  /** A mark after the audio sent so far; null if the last one is already there. */
  mark(nowMs: number): string | null {
    this.#forget(nowMs);
    if ((this.#marks.at(-1)?.frames ?? this.#played) === this.#sent) return null;
    const name = `p${String(this.#names++)}`;
    this.#marks.push({ name, frames: this.#sent, sentMs: nowMs });
    return name;
  }

  /** A mark has returned. Unknown names (of cleared audio, or invented) have no effect. */
  played(name: string, nowMs: number): void {
    const at = this.#marks.findIndex((mark) => mark.name === name);
    const mark = this.#marks[at];
    if (mark === undefined) return;
    this.#marks.splice(0, at + 1);
    this.#played = mark.frames;
    this.#delayMs = nowMs - mark.sentMs;
  }

  /**
   * The carrier drops unplayed audio, and marks that return now mean nothing.
   * @returns the dropped frames, as sent
   */
  drop(nowMs: number): readonly string[] {
    const frames = Math.min(Math.ceil(this.ms(nowMs) / FRAME_MS), this.#kept.length);
    const dropped = frames === 0 ? [] : this.#kept.slice(-frames);
    this.#marks.length = 0;
    this.#kept.length = 0;
    this.#played = this.#sent;
    return dropped;
  }

  #forget(nowMs: number): void {
    for (let first = this.#marks[0]; first !== undefined && nowMs - first.sentMs > LOST_MS; first = this.#marks[0]) {
      this.#played = first.frames;
      this.#marks.shift();
    }
  }
}
