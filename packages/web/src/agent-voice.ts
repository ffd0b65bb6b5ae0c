import { LINE_RATE_HZ, type PlaybackState } from './worklet-messages.js';

/**
 * Whether the agent is speaking in the loudspeaker. Playback alone does not show that, because a background plays all
 * the time: the server reports the start and end of an answer, which is heard until its audio has played.
 */
export class AgentVoice {
  #answering = false;
  /** Number of played samples at the end of the answer; null = it may continue. */
  #endsAtSamples: number | null = null;
  #speaking = false;

  /** The server's `start_answering`. */
  begins(): void {
    this.#answering = true;
    this.#endsAtSamples = null;
  }

  /** The answer is complete; buffered audio is still to be played. */
  ends({ playedSamples, bufferedMs }: Pick<PlaybackState, 'playedSamples' | 'bufferedMs'>): void {
    this.#endsAtSamples = playedSamples + (bufferedMs * LINE_RATE_HZ) / 1000;
  }

  /** The server's `clear`. */
  isCut(): void {
    this.#answering = false;
    this.#endsAtSamples = null;
  }

  /** The change that the loudspeaker's state causes; null = none. */
  follow({ playing, playedSamples }: Pick<PlaybackState, 'playing' | 'playedSamples'>): 'playing' | 'quiet' | null {
    if (this.#endsAtSamples !== null && playedSamples >= this.#endsAtSamples) this.isCut();
    const speaking = this.#answering && playing;
    if (speaking === this.#speaking) return null;
    this.#speaking = speaking;
    return speaking ? 'playing' : 'quiet';
  }
}
