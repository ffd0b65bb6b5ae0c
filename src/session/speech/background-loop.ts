import { Fader } from '../../audio/dsp/fade.js';
import { frameSamples, msToSamples } from '../../audio/frame.js';
import { mix } from '../../audio/dsp/mix.js';
import { reasonOf } from '../../base/errors.js';
import { lineOver } from '../line-over.js';
import type { Transport, TransportMessage } from '../../transports/transport.js';

export interface BackgroundOptions {
  /** The loop at the line's output rate. It may arrive during the call, and starts then. */
  loop: Promise<Int16Array>;
  /** Linear gain, 0..2. */
  volume: number;
  /** There is no background; the call continues. */
  onFault: (reason: string) => void;
}

/** Fade-in, to avoid a click. */
const FADE_IN_MS = 500;

/**
 * A line with background audio under the agent's speech and in its silences. It is mixed in after the playout, and the
 * rest of the session does not know of it. It continues while the agent is held for an interruption, except if the
 * client stops all audio at `pause`: then it is left out until `unpause`.
 */
export function backgroundLine(transport: Transport, options: BackgroundOptions): Transport {
  const background = new BackgroundLoop(transport.outputRateHz, options.volume);
  const stops = transport.leadMs !== undefined && transport.playsThroughPauses !== true;
  let isPaused = false;
  return lineOver(transport, {
    // Continuous audio cannot be taken back: if the client does not stop it, none is sent ahead.
    leadMs: stops ? transport.leadMs : undefined,
    start: (sink) => {
      options.loop.then(
        (loop) => background.begin(loop),
        (error: unknown) => options.onFault(reasonOf(error)),
      );
      transport.start(sink);
    },
    play: (frame) => {
      if (isPaused) return;
      const mixed = background.under(frame);
      if (mixed !== null) transport.play(mixed, frame === null);
      else transport.play(frame);
    },
    send: (message) => {
      if (stops && (message.type === 'pause' || message.type === 'unpause')) isPaused = message.type === 'pause';
      transport.send(background.isOn && !stops ? goingOn(message) : message);
    },
  });
}

/** The background continues through holds and drops: the client must not stop playing. */
function goingOn(message: TransportMessage): TransportMessage {
  const { type } = message;
  return type === 'pause' || type === 'unpause' || type === 'clear' ? { type, soundGoesOn: true } : message;
}

class BackgroundLoop {
  readonly #volume: number;
  readonly #frame: Int16Array;
  readonly #fader = new Fader(0);
  readonly #fadeSamples: number;
  #loop: Int16Array | null = null;
  #at = 0;

  constructor(sampleRateHz: number, volume: number) {
    this.#volume = volume;
    this.#frame = new Int16Array(frameSamples(sampleRateHz));
    this.#fadeSamples = msToSamples(FADE_IN_MS, sampleRateHz);
  }

  get isOn(): boolean {
    return this.#loop !== null;
  }

  begin(loop: Int16Array): void {
    if (loop.length === 0) return;
    this.#loop = loop;
    this.#fader.fadeTo(1, this.#fadeSamples);
  }

  /** The frame for the line (null = silence) with the background mixed in; unchanged if there is none. */
  under(frame: Int16Array | null): Int16Array | null {
    const loop = this.#loop;
    if (loop === null) return null;
    const sound = this.#frame;
    for (let filled = 0; filled < sound.length;) {
      const piece = loop.subarray(this.#at, this.#at + sound.length - filled);
      sound.set(piece, filled);
      filled += piece.length;
      this.#at = (this.#at + piece.length) % loop.length;
    }
    this.#fader.apply(sound);
    const out = new Int16Array(sound.length);
    if (frame === null) mix(out, [sound], [this.#volume]);
    else mix(out, [frame, sound], [1, this.#volume]);
    return out;
  }
}
