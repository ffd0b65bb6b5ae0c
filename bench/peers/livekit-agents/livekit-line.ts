import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web';
import { initializeLogger, voice } from '@livekit/agents';
import { AudioFrame } from '@livekit/rtc-node';
import { FRAME_MS, HEARING_RATE_HZ } from '../../../dist/audio/frame.js';

// Its sessions refuse to be made before; nothing is logged.
initializeLogger({ pretty: false, level: 'silent' });

/** The user's microphone: LiveKit's public seam for audio that comes from no room. */
export class PushedInput extends voice.AudioInput {
  #controller: ReadableStreamDefaultController<AudioFrame> | null = null;

  constructor() {
    super();
    this.multiStream.addInputStream(
      new ReadableStream({ start: (controller) => void (this.#controller = controller) }),
    );
  }

  /** @param samples kept: they must not change after the call */
  push(samples: Int16Array): void {
    this.#controller?.enqueue(new AudioFrame(samples, HEARING_RATE_HZ, 1, samples.length));
  }
}

/**
 * The user's loudspeaker: takes frames faster than they are played, plays 20 ms a tick, and counts as heard, or as
 * silent, at once when it is given a first frame, paused, emptied or resumed: later would be the sink's doing.
 */
export class PacedOutput extends voice.AudioOutput {
  readonly #onSound: () => void;
  readonly #onQuiet: () => void;
  #isOpen = false;
  #isFlushed = false;
  #isPaused = false;
  #isHeard = false;
  #takenMs = 0;
  #playedMs = 0;

  constructor(onSound: () => void, onQuiet: () => void) {
    super(HEARING_RATE_HZ, undefined, { pause: true });
    this.#onSound = onSound;
    this.#onQuiet = onQuiet;
  }

  override async captureFrame(frame: AudioFrame): Promise<void> {
    await super.captureFrame(frame);
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#isFlushed = false;
      this.#takenMs = 0;
      this.#playedMs = 0;
      this.onPlaybackStarted(Date.now());
    }
    this.#takenMs += (1000 * frame.samplesPerChannel) / frame.sampleRate;
    this.#hear();
  }

  /** 20 ms go by. */
  tick(): void {
    if (!this.#isOpen || this.#isPaused) return;
    if (this.#playedMs < this.#takenMs) {
      this.#playedMs = Math.min(this.#takenMs, this.#playedMs + FRAME_MS);
      return;
    }
    this.#fallSilent();
    if (this.#isFlushed) this.#finish(false);
  }

  override flush(): void {
    super.flush();
    this.#isFlushed = true;
  }

  override clearBuffer(): void {
    this.#fallSilent();
    if (this.#isOpen) this.#finish(true);
  }

  override pause(): void {
    super.pause();
    this.#isPaused = true;
    this.#fallSilent();
  }

  override resume(): void {
    super.resume();
    this.#isPaused = false;
    this.#hear();
  }

  #hear(): void {
    if (this.#isHeard || this.#isPaused || !this.#isOpen || this.#playedMs >= this.#takenMs) return;
    this.#isHeard = true;
    this.#onSound();
  }

  #fallSilent(): void {
    if (!this.#isHeard) return;
    this.#isHeard = false;
    this.#onQuiet();
  }

  #finish(interrupted: boolean): void {
    this.#isOpen = false;
    this.onPlaybackFinished({ playbackPosition: this.#playedMs / 1000, interrupted });
  }
}
