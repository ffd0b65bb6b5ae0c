import { chosenDevice } from './devices.js';
import { Microphone } from './microphone.js';
import { type CapturedChunk, LINE_RATE_HZ, type PlaybackCommand, type PlaybackState } from './worklet-messages.js';

/** Plays the agent's audio with the playback worklet. */
export class Playback {
  readonly #worklet: AudioWorkletNode;
  #state: PlaybackState = {
    playing: false,
    held: false,
    level: 0,
    playedSamples: 0,
    bufferedMs: 0,
    targetMs: 0,
    underruns: 0,
  };

  constructor(context: AudioContext, onState: (state: PlaybackState) => void) {
    this.#worklet = new AudioWorkletNode(context, 'parley-playback', { numberOfInputs: 0, outputChannelCount: [1] });
    this.#worklet.port.onmessage = ({ data }: MessageEvent<PlaybackState>): void => {
      this.#state = data;
      onState(data);
    };
    this.#worklet.connect(context.destination);
  }

  /** The worklet's last report. */
  get state(): PlaybackState {
    return this.#state;
  }

  push(samples: Int16Array<ArrayBuffer>): void {
    this.#tell({ type: 'audio', samples }, [samples.buffer]);
  }

  hold(): void {
    this.#tell({ type: 'hold' });
  }

  resume(): void {
    this.#tell({ type: 'resume' });
  }

  clear(): void {
    this.#tell({ type: 'clear' });
  }

  close(): void {
    this.#worklet.disconnect();
    this.#worklet.port.close();
  }

  #tell(command: PlaybackCommand, transfer: Transferable[] = []): void {
    this.#worklet.port.postMessage(command, transfer);
  }
}

export interface AudioEvents {
  onChunk(chunk: CapturedChunk): void;
  onPlayback(state: PlaybackState): void;
}

/** Playback is not possible; the message is a sentence for people. */
export class LoudspeakerError extends Error {
  override readonly name = 'LoudspeakerError';
}

/** Starting takes about 100 ms; without an output device some browsers wait forever. */
const START_TIMEOUT_MS = 5000;

/** Resolves when the context runs. @throws LoudspeakerError */
async function started(context: AudioContext): Promise<void> {
  let timer = 0;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new LoudspeakerError('The sound does not start. Is a loudspeaker or a headset connected?'));
    }, START_TIMEOUT_MS);
  });
  await Promise.race([context.resume(), late]).finally(() => clearTimeout(timer));
}

/** The selected one, if the browser supports it; otherwise the system's. */
async function toLoudspeaker(context: AudioContext & { setSinkId?: (id: string) => Promise<void> }): Promise<void> {
  const id = chosenDevice('audiooutput');
  await context.setSinkId?.(id).catch(() => (id === '' ? undefined : context.setSinkId?.('')));
}

const WORKLETS = ['/assets/capture-worklet.js', '/assets/playback-worklet.js'];

/** Microphone and loudspeaker of one call, on one audio context. */
export class CallAudio {
  readonly playback: Playback;
  readonly #context: AudioContext;
  readonly #events: AudioEvents;
  #microphone: Microphone | null;

  private constructor(context: AudioContext, stream: MediaStream | null, events: AudioEvents) {
    this.#context = context;
    this.#events = events;
    this.#microphone = stream === null ? null : this.#listen(stream);
    this.playback = new Playback(context, (state) => {
      events.onPlayback(state);
    });
  }

  /**
   * Sets everything up. Call it from a click or a key, because browsers play nothing before.
   * @param base address of the daemon with the worklets
   * @param stream from `Microphone.ask`, or null for a typed call
   */
  static async open(base: string, stream: MediaStream | null, events: AudioEvents): Promise<CallAudio> {
    try {
      return await CallAudio.#openAt(base, { sampleRate: LINE_RATE_HZ }, stream, events);
    } catch (error) {
      if (error instanceof LoudspeakerError) throw error;
      // Not every browser supports the line's rate: then the worklets resample.
      return CallAudio.#openAt(base, {}, stream, events);
    }
  }

  static async #openAt(
    base: string,
    rate: AudioContextOptions,
    stream: MediaStream | null,
    events: AudioEvents,
  ): Promise<CallAudio> {
    const context = new AudioContext({ latencyHint: 'interactive', ...rate });
    try {
      await Promise.all(WORKLETS.map((path) => context.audioWorklet.addModule(base + path)));
      await toLoudspeaker(context);
      await started(context);
      return new CallAudio(context, stream, events);
    } catch (error) {
      void context.close().catch(() => undefined); // if it has not started, this may also wait forever
      throw error;
    }
  }

  /** Null if the call has none. */
  get microphone(): Microphone | null {
    return this.#microphone;
  }

  /** Uses another stream from `Microphone.ask`. Throws if the context does not support its rate. */
  listenTo(stream: MediaStream): void {
    const microphone = this.#listen(stream);
    this.#microphone?.close();
    this.#microphone = microphone;
  }

  /** Switches to the selected loudspeaker. */
  async changeLoudspeaker(): Promise<void> {
    await toLoudspeaker(this.#context);
  }

  #listen(stream: MediaStream): Microphone {
    return Microphone.listen(this.#context, stream, (chunk) => this.#events.onChunk(chunk));
  }

  get sampleRateHz(): number {
    return this.#context.sampleRate;
  }

  /** May be called twice. */
  close(): void {
    if (this.#context.state === 'closed') return;
    this.#microphone?.close();
    this.playback.close();
    void this.#context.close();
  }
}
