import type { Denoiser } from '../audio/dsp/denoiser.js';
import { rnnoise } from '../audio/dsp/rnnoise.js';
import type { Clock } from '../base/clock.js';
import { faultOf } from '../schema/issues.js';
import type { ResolvedSound } from '../agent/resolve.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { SherpaDenoisers } from '../providers/denoise/sherpa.js';
import type { LocalModels } from '../providers/local/local-models.js';
import { backgroundLine } from '../session/speech/background-loop.js';
import { Recording, type RecordingSink } from '../session/record/recording.js';
import { recordingFolder } from '../session/record/recording-folder.js';
import type { SessionOptions } from '../session/session-options.js';
import type { Transport } from '../transports/transport.js';
import { decodeMedia } from '../audio/files/decode.js';
import { makeLoop } from '../audio/dsp/mix.js';
import { MediaStore, type MediaStoreOptions } from '../net/media-store.js';

interface LineDecoratorsOptions {
  clock: Clock;
  recordings: RecordingSink | string | undefined;
  backgrounds: BackgroundsOptions;
  /** One of them may denoise in place of RNNoise. */
  localModels: LocalModels;
}

interface LineRequest {
  transport: Transport;
  sound: ResolvedSound;
  sessionId: string;
  /** Called when something is missing; the call continues. */
  onFault: (name: string, reason: string) => void;
}

/** Decorates the lines of an engine's sessions with recordings, backgrounds and denoisers. */
export class LineDecorators {
  readonly #clock: Clock;
  readonly #recordings: RecordingSink | null;
  readonly #backgrounds: Backgrounds;
  readonly #localModels: LocalModels;
  #denoisers: Promise<SherpaDenoisers> | null = null;

  constructor({ clock, recordings, backgrounds, localModels }: LineDecoratorsOptions) {
    this.#clock = clock;
    this.#localModels = localModels;
    this.#recordings = typeof recordings === 'string' ? recordingFolder(recordings) : (recordings ?? null);
    this.#backgrounds = new Backgrounds(backgrounds);
  }

  /** @throws ParleyError CONFIG_INVALID for an agent that needs what this engine does not have */
  check({ recording }: ResolvedSound): void {
    if (!recording || this.#recordings !== null) return;
    const msg = 'this engine has no place for recordings (its option `recordings`)';
    throw faultOf(['call_settings', 'enable_recording'], msg);
  }

  /** The loop of an audio file at a rate; do not modify it. @throws ParleyError NET_…, AUDIO_…, SESSION_CLOSED */
  loop(url: string, sampleRateHz: number): Promise<Int16Array> {
    return this.#backgrounds.loop(url, sampleRateHz);
  }

  /** The line of a session, with its decorations. */
  async line(request: LineRequest): Promise<Pick<SessionOptions, 'transport' | 'recording' | 'denoising'>> {
    const { transport, sound, sessionId, onFault } = request;
    const recording =
      sound.recording && this.#recordings !== null
        ? new Recording({
            sink: this.#recordings,
            sessionId,
            transport,
            clock: this.#clock,
            onFault: (reason) => onFault('recording.failed', reason),
          })
        : null;
    const denoising = sound.denoise && {
      ...sound.denoise,
      denoiser: await this.#denoiser(sound.denoise.strength, onFault),
    };
    // The recording has the background too: it is what the line hears.
    const line = recording?.line ?? transport;
    return {
      transport: sound.background === null ? line : await this.#withBackground(line, sound.background, onFault),
      recording: recording ?? undefined,
      denoising: denoising ?? undefined,
    };
  }

  /** Loads the denoising model, if there is one. Sessions that need it report a failure. */
  async warmUp(): Promise<void> {
    const { denoise } = this.#localModels;
    if (denoise === null || this.#clock.virtual) return;
    await this.#modelDenoisers(denoise)
      .then((denoisers) => denoisers.warmUp())
      .catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#backgrounds.close();
    const denoisers = await this.#denoisers?.catch(() => null);
    await denoisers?.close();
  }

  /** The operator's model, otherwise RNNoise: a call continues without a model that cannot be loaded. */
  async #denoiser(strength: number, onFault: LineRequest['onFault']): Promise<Denoiser> {
    const { denoise } = this.#localModels;
    if (denoise === null) return rnnoise(strength);
    try {
      if (this.#clock.virtual) throw new ParleyError('PROVIDER_REMOTE_IN_VIRTUAL_TIME', { provider: denoise });
      const denoisers = await this.#modelDenoisers(denoise);
      return await denoisers.open(strength, (reason) => onFault('denoise.failed', reason));
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      onFault('denoise.failed', `${reasonOf(error)}; RNNoise takes its place`);
      return rnnoise(strength);
    }
  }

  #modelDenoisers(name: string): Promise<SherpaDenoisers> {
    this.#denoisers ??= this.#localModels
      .find(name, 'denoise')
      .then((model) => new SherpaDenoisers({ model, threads: this.#localModels.threads }))
      .catch((error: unknown) => {
        this.#denoisers = null;
        throw error;
      });
    return this.#denoisers;
  }

  async #withBackground(
    transport: Transport,
    { url, volume }: { url: string; volume: number },
    onFault: LineRequest['onFault'],
  ): Promise<Transport> {
    const loop = this.#backgrounds.loop(url, transport.outputRateHz);
    loop.catch(() => undefined); // the line reports it
    // A call does not wait for it. In virtual time it is available from the start, so that two runs are equal.
    if (this.#clock.virtual) await loop.catch(() => undefined);
    return backgroundLine(transport, { loop, volume, onFault: (reason) => onFault('background.failed', reason) });
  }
}

interface BackgroundsOptions extends MediaStoreOptions {
  /** A real-time clock: decoding takes real time. */
  clock: Clock;
  /** Default: `ffmpeg` on PATH. */
  ffmpeg?: string;
}

/** Of longer audio only the beginning is looped: 10 MB at 16 kHz. */
const MAX_LENGTH_S = 300;
const DECODE_TIMEOUT_MS = 30_000;
/** Maximum number of loops in memory; the least recently used one is removed first. */
const MAX_LOOPS = 8;
/** Age at which a loop is made again. */
const FRESH_MS = 86_400_000;

/** The backgrounds of all sessions: each address is downloaded and decoded once, with one loop per rate. */
class Backgrounds {
  readonly #options: BackgroundsOptions;
  readonly #store: MediaStore;
  readonly #loops = new Map<string, { loop: Promise<Int16Array>; sinceMs: number }>();
  readonly #closing = new AbortController();

  constructor(options: BackgroundsOptions) {
    this.#options = options;
    this.#store = new MediaStore(options);
  }

  /**
   * A loop; do not modify it.
   * @throws ParleyError NET_…, AUDIO_UNDECODABLE, AUDIO_DECODER_MISSING, SESSION_CLOSED
   */
  loop(url: string, sampleRateHz: number): Promise<Int16Array> {
    const key = `${String(sampleRateHz)} ${url}`;
    const nowMs = this.#options.clock.nowMs();
    let entry = this.#loops.get(key);
    this.#loops.delete(key);
    if (entry === undefined || nowMs - entry.sinceMs > FRESH_MS) {
      const made = { loop: this.#make(url, sampleRateHz), sinceMs: nowMs };
      made.loop.catch(() => {
        // The next session tries again.
        if (this.#loops.get(key) === made) this.#loops.delete(key);
      });
      entry = made;
    }
    this.#loops.set(key, entry);
    for (const oldest of this.#loops.keys()) {
      if (this.#loops.size <= MAX_LOOPS) break;
      this.#loops.delete(oldest);
    }
    return entry.loop;
  }

  /** Cancels everything in progress. May be called twice. */
  close(): void {
    this.#closing.abort(new ParleyError('SESSION_CLOSED'));
  }

  async #make(url: string, sampleRateHz: number): Promise<Int16Array> {
    const { signal } = this.#closing;
    const samples = await decodeMedia(await this.#store.fetch(url, signal), {
      sampleRateHz,
      signal,
      clock: this.#options.clock,
      maxLengthS: MAX_LENGTH_S,
      timeoutMs: DECODE_TIMEOUT_MS,
      program: this.#options.ffmpeg,
    });
    if (samples.length === 0) throw new ParleyError('AUDIO_UNDECODABLE', { reason: 'it contains no audio' });
    return makeLoop(samples, sampleRateHz);
  }
}
