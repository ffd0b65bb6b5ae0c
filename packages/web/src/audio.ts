import { CallError } from './errors.js';
import { Microphone } from './microphone.js';
import { workletUrls } from './worklets.js';
import { type CapturedChunk, LINE_RATE_HZ, type PlaybackCommand, type PlaybackState } from './worklet-messages.js';

/** Plays the agent's audio with the playback worklet. */
export class Playback {
  readonly #worklet: AudioWorkletNode;
  readonly #volume: GainNode;
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
    this.#volume = new GainNode(context);
    this.#worklet.connect(this.#volume).connect(context.destination);
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

  setVolume(volume: number): void {
    this.#volume.gain.value = volume;
  }

  close(): void {
    this.#worklet.disconnect();
    this.#volume.disconnect();
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

/** Starting takes about 100 ms; without an output device some browsers wait forever. */
const START_TIMEOUT_MS = 5000;

/** Resolves when the context runs. @throws CallError `loudspeaker` */
async function started(context: AudioContext): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new CallError('loudspeaker', 'The sound does not start. Is a loudspeaker or a headset connected?'));
    }, START_TIMEOUT_MS);
  });
  await Promise.race([context.resume(), late]).finally(() => clearTimeout(timer));
}

/** Switches to this loudspeaker if the browser can; otherwise to the system's. */
async function toLoudspeaker(
  context: AudioContext & { setSinkId?: (id: string) => Promise<void> },
  id: string,
): Promise<void> {
  await context.setSinkId?.(id).catch(() => (id === '' ? undefined : context.setSinkId?.('')));
}

export interface AudioOptions {
  /** The microphone; null for a typed call. */
  stream: MediaStream | null;
  /** Id of the loudspeaker; '' = the system's. */
  speaker: string;
  /** Folder with the built worklets; null = the inlined ones. */
  worklets: string | null;
}

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

  /** Sets everything up. Call it from a click or a key, because browsers play nothing before. */
  static async open(options: AudioOptions, events: AudioEvents): Promise<CallAudio> {
    try {
      return await CallAudio.#openAt({ sampleRate: LINE_RATE_HZ }, options, events);
    } catch (error) {
      if (error instanceof CallError) throw error;
      // Not every browser supports the line's rate: then the worklets resample.
      return CallAudio.#openAt({}, options, events);
    }
  }

  static async #openAt(
    rate: AudioContextOptions,
    { stream, speaker, worklets }: AudioOptions,
    events: AudioEvents,
  ): Promise<CallAudio> {
    const context = new AudioContext({ latencyHint: 'interactive', ...rate });
    try {
      await Promise.all(workletUrls(worklets).map((url) => context.audioWorklet.addModule(url)));
      await toLoudspeaker(context, speaker);
      await started(context);
      return new CallAudio(context, stream, events);
    } catch (error) {
      void context.close().catch(() => undefined); // if it has not started, this may also wait forever
      throw error;
    }
  }

  /** Uses another microphone. Throws if the context does not support its rate. */
  listenTo(stream: MediaStream): void {
    const microphone = this.#listen(stream);
    this.#microphone?.close();
    this.#microphone = microphone;
  }

  /** Switches to another loudspeaker. */
  async speakThrough(speaker: string): Promise<void> {
    await toLoudspeaker(this.#context, speaker);
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
