import { HEARING_RATE_HZ } from '../audio/frame.js';
import { OUTPUT_RATE_HZ } from '../transports/webrtc/webrtc-transport.js';
import type { MediaThread } from './media-thread.js';
import { ThreadLine } from './thread-line.js';

/** A browser's line in a media thread: its sockets, its packets and the messages to its page are there. */
export class WebRtcLine extends ThreadLine {
  readonly name = 'webrtc';
  readonly inputRateHz = HEARING_RATE_HZ;
  readonly outputRateHz = OUTPUT_RATE_HZ;
  readonly showsForms = true;
  /** Resolves when the other side can hear; rejects where it does not come to that. */
  readonly connected: Promise<void>;
  #resolve!: () => void;
  #reject!: (error: Error) => void;

  constructor(id: string, thread: MediaThread) {
    super(id, thread);
    this.connected = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.connected.catch(() => undefined); // not everybody asks
  }

  /** Answers an offer, the first and every further one. @throws ParleyError as `WebRtcTransport.answer`, MEDIA_THREAD_LOST */
  answer(sdp: string): Promise<string> {
    return this.thread.answerOffer(this.id, sdp);
  }

  isConnected(): void {
    this.#resolve();
  }

  lost(error: Error): void {
    this.#reject(error);
  }
}
