import type { OpusEncoderOptions } from '../../../src/audio/codecs/opus.js';
import { PcmReader, pcmBytes } from '../../../src/transports/pcm.js';
import type { PeerListener, WebRtcPeer } from '../../../src/transports/webrtc/peer.js';
import type { WebRtcCodec } from '../../../src/transports/webrtc/webrtc-transport.js';

/** A peer without a network: what it is given is kept, and the test is the other side. */
export class FarEnd implements WebRtcPeer {
  readonly packets: { payload: Uint8Array; ticks: number; marker: boolean }[] = [];
  readonly messages: { method: string; [name: string]: unknown }[] = [];
  bufferedBytes = 0;
  timesClosed = 0;
  #listener: PeerListener | null = null;
  #sequence = 65_530;
  #ticks = 0;

  answer(sdp: string): Promise<string> {
    return Promise.resolve(`answer to ${String(sdp.length)}`);
  }

  listen(listener: PeerListener): void {
    this.#listener = listener;
  }

  sendAudio(payload: Uint8Array, ticks: number, marker: boolean): void {
    this.packets.push({ payload, ticks, marker });
  }

  send(text: string): void {
    this.messages.push(JSON.parse(text) as { method: string });
  }

  close(): Promise<void> {
    this.timesClosed++;
    return Promise.resolve();
  }

  connect(): void {
    this.#listener?.connected();
  }

  /** The next packet of 20 ms; without a payload it gets lost on the way. */
  speak(payload: Uint8Array | null): void {
    const [sequence, timestamp] = [this.#sequence++ & 0xffff, this.#ticks];
    this.#ticks += 960;
    if (payload !== null) this.#listener?.audio({ sequence, timestamp, payload });
  }

  press(digits: string): void {
    for (const digit of digits) this.#listener?.digit(digit);
  }

  say(message: unknown): void {
    this.#listener?.message(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Tells how much it has lost, 0..1. */
  report(share: number): void {
    this.#listener?.loss(share);
  }

  hangUp(reason = 'closed'): void {
    this.#listener?.closed(reason);
  }
}

/** A codec that changes nothing: packets hold the samples themselves. */
export const PLAIN: WebRtcCodec = {
  encoder: (_options: OpusEncoderOptions) => ({
    encode: pcmBytes,
    expectLoss: () => undefined,
    close: () => undefined,
  }),
  decoder: (sampleRateHz) => ({
    decode: (packet) => new PcmReader().read(packet),
    conceal: (ms) => new Int16Array((ms * sampleRateHz) / 1000).fill(-1),
    recover: (following, ms) => new Int16Array((ms * sampleRateHz) / 1000).fill(-(following[0] ?? 0)),
    close: () => undefined,
  }),
};
