import type { ExpectedAnswer } from '../../agent/expected-answer.js';
import { HEARING_RATE_HZ } from '../../audio/frame.js';
import type { SttStream } from '../stt/stt.js';

/** Audio kept from before speech, and at most per turn. */
const LEAD_SAMPLES = 1.5 * HEARING_RATE_HZ;
const MAX_SAMPLES = 60 * HEARING_RATE_HZ;

type Heard =
  { type: 'audio'; samples: Int16Array; startSample: number } | { type: 'started' | 'stopped'; sample: number };

/**
 * The audio and speech marks of the current turn, kept to replay them to a fallback recogniser so that the user need
 * not repeat anything.
 */
export class HeardAudio implements Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped' | 'endTurn'> {
  #heard: Heard[] = [];
  #samples = 0;
  #speaking = false;
  /** Position where the latest speech ended. */
  #stopSample = 0;
  #inTurn = false;
  #expected: ExpectedAnswer | null = null;

  /** Copies the samples. */
  push(samples: Int16Array, startSample: number): void {
    this.#heard.push({ type: 'audio', samples: samples.slice(), startSample });
    this.#samples += samples.length;
    this.#trim(this.#inTurn ? MAX_SAMPLES : LEAD_SAMPLES);
  }

  speechStarted(sample: number): void {
    this.#speaking = true;
    this.#inTurn = true;
    this.#heard.push({ type: 'started', sample });
  }

  speechStopped(sample: number): void {
    this.#speaking = false;
    this.#stopSample = sample;
    this.#heard.push({ type: 'stopped', sample });
  }

  endTurn(): void {
    const from = this.#speaking ? this.#end : this.#stopSample;
    // The next turn must not contain any audio of this one.
    this.#heard = this.#heard.filter((heard) => heard.type === 'audio' && heard.startSample >= from);
    this.#samples = this.#heard.reduce((sum, heard) => sum + (heard.type === 'audio' ? heard.samples.length : 0), 0);
    this.#trim(LEAD_SAMPLES);
    this.#inTurn = this.#speaking;
    // Speech has already resumed: the audio from here on belongs to it.
    if (this.#speaking) this.#heard.push({ type: 'started', sample: this.#end });
  }

  expect(answer: ExpectedAnswer | null): void {
    this.#expected = answer;
  }

  replayTo(stream: Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped' | 'expect'>): void {
    if (this.#expected !== null) stream.expect?.(this.#expected);
    for (const heard of this.#heard) {
      if (heard.type === 'audio') stream.push(heard.samples.slice(), heard.startSample);
      else if (heard.type === 'started') stream.speechStarted(heard.sample);
      else stream.speechStopped(heard.sample);
    }
  }

  get #end(): number {
    const last = this.#heard.findLast((heard) => heard.type === 'audio');
    return last === undefined ? 0 : last.startSample + last.samples.length;
  }

  /** Drops the oldest audio; the speech marks stay. */
  #trim(most: number): void {
    while (this.#samples > most) {
      const at = this.#heard.findIndex(({ type }) => type === 'audio');
      const [oldest] = at < 0 ? [] : this.#heard.splice(at, 1);
      if (oldest?.type !== 'audio') return;
      this.#samples -= oldest.samples.length;
    }
  }
}
