import { chosenDevice } from './devices.js';
import type { CapturedChunk } from './worklet-messages.js';

/** The microphone is not available; the message says what to do. */
export class MicrophoneError extends Error {
  override readonly name = 'MicrophoneError';
}

/** The microphone's audio in 20 ms chunks at 16 kHz. */
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

  /** Requests the microphone: the selected one if available. Rejects with a MicrophoneError. */
  static async ask(): Promise<MediaStream> {
    // Undefined on pages that are neither https nor local.
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

  /** Stops a stream from `ask`. */
  static release(stream: MediaStream | null): void {
    for (const track of stream?.getTracks() ?? []) track.stop();
  }

  /** Reads a stream from `ask`. Throws if the context does not support the stream's rate (Firefox). */
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

/**
 * False if the page, or the page around this frame, blocks the microphone (Permissions Policy; only Chromium reports
 * it).
 */
function isAllowedHere(): boolean {
  const { featurePolicy } = document as { featurePolicy?: { allowsFeature(feature: string): boolean } };
  return featurePolicy?.allowsFeature('microphone') ?? true;
}
