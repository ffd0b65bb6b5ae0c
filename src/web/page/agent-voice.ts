import { LINE_RATE_HZ, type PlaybackState } from './worklet-messages.js';

/**
 * Whether the agent is speaking in the loudspeaker. That something is being played does not tell: a background sounds
 * all the time. The server says where an answer begins and ends; it is heard as long as its audio is being played.
 */
export class AgentVoice {
  #answering = false;
  /** How much will have been played when the answer's last audio has; null = there may be more. */
  #endsAtSamples: number | null = null;
  #speaking = false;

  /** The server's `start_answering`. */
  begins(): void {
    this.#answering = true;
    this.#endsAtSamples = null;
  }

  /** The answer is complete; what is in the buffer is still to be heard. */
  ends({ playedSamples, bufferedMs }: Pick<PlaybackState, 'playedSamples' | 'bufferedMs'>): void {
    this.#endsAtSamples = playedSamples + (bufferedMs * LINE_RATE_HZ) / 1000;
  }

  /** The server's `clear`. */
  isCut(): void {
    this.#answering = false;
    this.#endsAtSamples = null;
  }

  /** What changes with what the loudspeaker does now; null = nothing. */
  follow({ playing, playedSamples }: Pick<PlaybackState, 'playing' | 'playedSamples'>): 'playing' | 'quiet' | null {
    if (this.#endsAtSamples !== null && playedSamples >= this.#endsAtSamples) this.isCut();
    const speaking = this.#answering && playing;
    if (speaking === this.#speaking) return null;
    this.#speaking = speaking;
    return speaking ? 'playing' : 'quiet';
  }
}
