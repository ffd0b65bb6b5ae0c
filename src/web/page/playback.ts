import type { PlaybackCommand, PlaybackState } from './worklet-messages.js';

/** The agent's voice: audio in, loudspeaker out, by the playback worklet. */
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

  /** The last that was heard of the worklet. */
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
