import { mediaDevices } from './devices.js';
import { CallError } from './errors.js';
import type { CapturedChunk } from './worklet-messages.js';

/** The microphone's audio in 20 ms chunks at 16 kHz. */
export class Microphone {
  readonly #source: MediaStreamAudioSourceNode;
  readonly #worklet: AudioWorkletNode;

  private constructor(
    source: MediaStreamAudioSourceNode,
    worklet: AudioWorkletNode,
    onChunk: (chunk: CapturedChunk) => void,
  ) {
    this.#source = source;
    this.#worklet = worklet;
    worklet.port.onmessage = ({ data }: MessageEvent<CapturedChunk>): void => {
      onChunk(data);
    };
    source.connect(worklet);
  }

  /** Reads a stream. Throws if the context does not support the stream's rate (Firefox). */
  static listen(context: AudioContext, stream: MediaStream, onChunk: (chunk: CapturedChunk) => void): Microphone {
    const source = context.createMediaStreamSource(stream);
    const worklet = new AudioWorkletNode(context, 'parley-capture', { numberOfOutputs: 0 });
    return new Microphone(source, worklet, onChunk);
  }

  close(): void {
    this.#source.disconnect();
    this.#worklet.port.close();
  }
}

/**
 * Requests a microphone.
 * @param deviceId used if available; '' = the system's
 * @throws CallError `microphone`
 */
export async function askForMicrophone(deviceId: string): Promise<MediaStream> {
  const devices = mediaDevices();
  if (devices === undefined) {
    throw new CallError('microphone', 'Browsers give the microphone only to pages from this machine or over https.');
  }
  const cleaning = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  try {
    return await devices.getUserMedia({ audio: { channelCount: 1, deviceId: { ideal: deviceId }, ...cleaning } });
  } catch (error) {
    throw new CallError('microphone', explain(error), { cause: error });
  }
}

/** Stops a stream of `askForMicrophone`. */
export function releaseMicrophone(stream: MediaStream | null): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
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
