import type { Clock } from '../../src/base/clock.js';
import { Random } from '../../src/base/random.js';
import { wireMessage } from '../../src/transports/talk-control.js';
import type { TalkServerMessage } from '../../src/transports/talk-protocol.js';
import type { TransportMessage } from '../../src/transports/transport.js';

const RATE_HZ = 16_000;
/** What an audio worklet renders at a time. */
const QUANTUM = 128;
const QUANTUM_MS = (QUANTUM * 1000) / RATE_HZ;

/**
 * A talk client as strict as published ones are: it plays what it has at once, without a jitter buffer; after `pause` it
 * plays nothing until `unpause`, also after `clear`; and it queues whatever audio comes, also while it is paused.
 * Messages and audio come in order over a network that delays each by up to `jitterMs`.
 */
export class StrictClient {
  readonly messages: { atMs: number; message: TalkServerMessage }[] = [];
  /** Loudness of each quantum that was rendered, 0..1. */
  readonly rendered: { atMs: number; level: number }[] = [];
  /** Milliseconds for which it had nothing to play in the middle of an answer. */
  dryMs = 0;
  /** The most audio that waited to be played, in milliseconds. */
  mostQueuedMs = 0;
  #queue: number[] = [];
  #isPaused = false;
  /** An answer has been announced by its text; its first audio has come. */
  #isAnswering = false;
  #isSpeaking = false;
  #deliveredMs = 0;
  readonly #random: Random;

  constructor(
    readonly clock: Clock,
    readonly jitterMs: number,
  ) {
    this.#random = new Random(5);
    const render = (): void => {
      this.#render();
      clock.schedule(clock.nowMs() + QUANTUM_MS, render);
    };
    render();
  }

  audio(frame: Int16Array | null): void {
    if (frame === null) return;
    const samples = [...frame];
    this.#deliver(() => {
      this.#queue.push(...samples);
      this.#isSpeaking = this.#isAnswering;
      this.mostQueuedMs = Math.max(this.mostQueuedMs, (this.#queue.length * 1000) / RATE_HZ);
    });
  }

  take(reported: TransportMessage): void {
    const message = wireMessage(reported);
    this.#deliver(() => {
      this.messages.push({ atMs: this.clock.nowMs(), message });
      if (message.method === 'pause') this.#isPaused = true;
      else if (message.method === 'unpause') this.#isPaused = false;
      else if (message.method === 'clear') this.#queue = [];
      else if (message.method === 'onresponsetext') {
        this.#isAnswering = !message.payload.is_final;
        this.#isSpeaking &&= this.#isAnswering;
      }
    });
  }

  /** Whether anything was to be heard between two moments. */
  isAudible(fromMs: number, toMs: number): boolean {
    return this.rendered.some(({ atMs, level }) => atMs >= fromMs && atMs < toMs && level > 0.01);
  }

  /** Milliseconds of sound between two moments. */
  soundMs(fromMs: number, toMs: number): number {
    const loud = this.rendered.filter(({ atMs, level }) => atMs >= fromMs && atMs < toMs && level > 0.01);
    return loud.length * QUANTUM_MS;
  }

  #deliver(arrive: () => void): void {
    const atMs = this.clock.nowMs() + this.#random.next() * this.jitterMs;
    this.#deliveredMs = Math.max(this.#deliveredMs, atMs);
    this.clock.schedule(this.#deliveredMs, arrive);
  }

  #render(): void {
    const atMs = this.clock.nowMs();
    const samples = this.#isPaused ? [] : this.#queue.splice(0, QUANTUM);
    if (!this.#isPaused && this.#isSpeaking) this.dryMs += ((QUANTUM - samples.length) * 1000) / RATE_HZ;
    const squares = samples.reduce((sum, sample) => sum + (sample / 32_768) ** 2, 0);
    this.rendered.push({ atMs, level: Math.sqrt(squares / QUANTUM) });
  }
}
