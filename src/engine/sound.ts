import { rnnoise } from '../audio/rnnoise.js';
import type { Clock } from '../clock/clock.js';
import type { ResolvedSound } from '../config/sound.js';
import { ParleyError } from '../errors.js';
import { backgroundLine } from '../session/background.js';
import { Recording, type RecordingSink } from '../session/recording.js';
import { recordingFolder } from '../session/recording-folder.js';
import type { SessionOptions } from '../session/session-options.js';
import type { Transport } from '../transports/transport.js';
import { Backgrounds, type BackgroundsOptions } from './backgrounds.js';

export interface SoundOptions {
  clock: Clock;
  recordings: RecordingSink | string | undefined;
  backgrounds: BackgroundsOptions;
}

export interface LineRequest {
  transport: Transport;
  sound: ResolvedSound;
  sessionId: string;
  /** Something is missing; the call goes on. */
  onFault: (name: string, reason: string) => void;
}

/** What lies around the lines of an engine's sessions: recordings, backgrounds and denoisers. */
export class Sound {
  readonly #clock: Clock;
  readonly #recordings: RecordingSink | null;
  readonly #backgrounds: Backgrounds;

  constructor({ clock, recordings, backgrounds }: SoundOptions) {
    this.#clock = clock;
    this.#recordings = typeof recordings === 'string' ? recordingFolder(recordings) : (recordings ?? null);
    this.#backgrounds = new Backgrounds(backgrounds);
  }

  /** @throws ParleyError CONFIG_INVALID for an agent that asks for what this engine cannot give */
  check({ recording }: ResolvedSound): void {
    if (!recording || this.#recordings !== null) return;
    const reason = 'call_settings.enable_recording: this engine has no place for recordings (its option `recordings`)';
    throw new ParleyError('CONFIG_INVALID', { reason });
  }

  /** The line that a session is to run on, and what goes with it. */
  async line(request: LineRequest): Promise<Pick<SessionOptions, 'transport' | 'recording' | 'denoising'>> {
    const { transport, sound, sessionId, onFault } = request;
    const recording =
      sound.recording && this.#recordings !== null
        ? new Recording({
            ...{ sink: this.#recordings, sessionId, transport, clock: this.#clock },
            onFault: (reason) => onFault('recording.failed', reason),
          })
        : null;
    const denoising = sound.denoise && { ...sound.denoise, denoiser: await rnnoise(sound.denoise.strength) };
    // The recording has the background too: it is what the line hears.
    const line = recording?.line ?? transport;
    return {
      transport: sound.background === null ? line : await this.#withBackground(line, sound.background, onFault),
      ...(recording !== null && { recording }),
      ...(denoising !== null && { denoising }),
    };
  }

  close(): void {
    this.#backgrounds.close();
  }

  async #withBackground(
    transport: Transport,
    { url, volume }: { url: string; volume: number },
    onFault: LineRequest['onFault'],
  ): Promise<Transport> {
    const loop = this.#backgrounds.loop(url, transport.outputRateHz);
    loop.catch(() => undefined); // the line tells
    // Nobody waits for it in a call; in virtual time it is there from the beginning, so that two runs are the same.
    if (this.#clock.virtual) await loop.catch(() => undefined);
    return backgroundLine(transport, { loop, volume, onFault: (reason) => onFault('background.failed', reason) });
  }
}
