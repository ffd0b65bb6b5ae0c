import { chosenDevice } from './device-choice.js';
import type { CapturedChunk } from './worklet-messages.js';

/** The microphone cannot be had; the message says what can be done about it. */
export class MicrophoneError extends Error {
  override readonly name = 'MicrophoneError';
}

/** The microphone as 20 ms chunks at 16 kHz. */
export class Microphone {
  readonly #stream: MediaStream;
  readonly #source: MediaStreamAudioSourceNode;
  readonly #worklet: AudioWorkletNode;

  private constructor(
    stream: MediaStream,
    source: MediaStreamAudioSourceNode,
    worklet: AudioWorkletNode,
    onChunk: (chunk: CapturedChunk) => void,
  ) {
    this.#stream = stream;
    this.#source = source;
    this.#worklet = worklet;
    worklet.port.onmessage = ({ data }: MessageEvent<CapturedChunk>): void => {
      onChunk(data);
    };
    source.connect(worklet);
  }

  /** Asks for the microphone: the chosen one where it is there. Rejects with a MicrophoneError. */
  static async ask(): Promise<MediaStream> {
    // Undefined on pages that did not come over https or from this machine.
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (devices === undefined) {
      throw new MicrophoneError('Browsers give the microphone only to pages from this machine or over https.');
    }
    const cleaning = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    try {
      return await devices.getUserMedia({
        audio: { channelCount: 1, deviceId: { ideal: chosenDevice('audioinput') }, ...cleaning },
      });
    } catch (error) {
      throw new MicrophoneError(explain(error), { cause: error });
    }
  }

  /** Lets go of a stream from `ask`. */
  static release(stream: MediaStream | null): void {
    for (const track of stream?.getTracks() ?? []) track.stop();
  }

  /** Listens to a stream from `ask`. Throws where the context cannot take the stream's rate (Firefox). */
  static listen(context: AudioContext, stream: MediaStream, onChunk: (chunk: CapturedChunk) => void): Microphone {
    const source = context.createMediaStreamSource(stream);
    const worklet = new AudioWorkletNode(context, 'parley-capture', { numberOfOutputs: 0 });
    return new Microphone(stream, source, worklet, onChunk);
  }

  /** A muted microphone gives silence. */
  set muted(muted: boolean) {
    for (const track of this.#stream.getAudioTracks()) track.enabled = !muted;
  }

  close(): void {
    this.#source.disconnect();
    this.#worklet.port.close();
  }
}

function explain(error: unknown): string {
  switch (error instanceof DOMException ? error.name : '') {
    case 'NotAllowedError':
    case 'SecurityError':
      if (!isAllowedHere()) return 'This page is set up so that nothing in it may use the microphone.';
      return 'This page may not use the microphone. Allow it in the address bar and call again.';
    case 'NotFoundError':
    case 'OverconstrainedError':
      return 'No microphone was found.';
    case 'NotReadableError':
    case 'AbortError':
      return 'The microphone is in use by another program, or it does not answer.';
    default:
      return 'The microphone could not be opened.';
  }
}

/** False where the page, or the one around this frame, has ruled the microphone out (Permissions Policy; Chromium tells). */
function isAllowedHere(): boolean {
  const { featurePolicy } = document as { featurePolicy?: { allowsFeature(feature: string): boolean } };
  return featurePolicy?.allowsFeature('microphone') ?? true;
}
