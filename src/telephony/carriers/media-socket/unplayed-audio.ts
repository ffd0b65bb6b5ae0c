import { FRAME_MS } from '../../../audio/frame.js';

/** Frames that are kept for being sent again: no carrier's own buffer of what was sent in time is longer. */
const MOST_FRAMES = 150;
/** A mark that has not come back by then is lost, and what was sent before it has been heard for all that is known. */
const LOST_MS = MOST_FRAMES * FRAME_MS;

interface Mark {
  name: string;
  /** Frames that had been sent before it. */
  frames: number;
  sentMs: number;
}

/**
 * What has been sent over a media socket and has not been heard yet, judged by the marks that the carrier returns: each
 * comes back when what was sent before it has been played. Between two marks the delay of the last one holds, or how
 * long the next one has been waited for, where that is longer: the carrier, or the way to it, stands still.
 */
export class UnplayedAudio {
  /** The last frames sent, as they went out. */
  readonly #kept: string[] = [];
  readonly #marks: Mark[] = [];
  #sent = 0;
  #played = 0;
  /** From sending to the word that it was played. */
  #delayMs = 0;
  #names = 0;

  /** How long what was sent and not heard yet lasts. */
  ms(nowMs: number): number {
    this.#forget(nowMs);
    const waitedMs = nowMs - (this.#marks[0]?.sentMs ?? nowMs);
    return Math.min((this.#sent - this.#played) * FRAME_MS, Math.max(this.#delayMs, waitedMs));
  }

  /** Everything that was sent has been played, as far as the marks tell. */
  get isAllPlayed(): boolean {
    return this.#played === this.#sent;
  }

  /** The delay of the last mark that came back, in milliseconds: carrier's buffer and the network both ways. */
  get delayMs(): number {
    return this.#delayMs;
  }

  sent(payload: string): void {
    this.#sent++;
    this.#kept.push(payload);
    if (this.#kept.length > MOST_FRAMES) this.#kept.shift();
  }

  /** A mark behind what has been sent so far; null where the last one is there already. */
  mark(nowMs: number): string | null {
    this.#forget(nowMs);
    if ((this.#marks.at(-1)?.frames ?? this.#played) === this.#sent) return null;
    const name = `p${String(this.#names++)}`;
    this.#marks.push({ name, frames: this.#sent, sentMs: nowMs });
    return name;
  }

  /** A mark has come back. Names that nobody waits for (of what was cleared, or made up) are of no effect. */
  played(name: string, nowMs: number): void {
    const at = this.#marks.findIndex((mark) => mark.name === name);
    const mark = this.#marks[at];
    if (mark === undefined) return;
    this.#marks.splice(0, at + 1);
    this.#played = mark.frames;
    this.#delayMs = nowMs - mark.sentMs;
  }

  /**
   * What is under way is dropped there: nobody will hear it, and marks that come back now tell nothing.
   * @returns the frames that were dropped, as they went out
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
