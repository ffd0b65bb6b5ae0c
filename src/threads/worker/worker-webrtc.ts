import { loadOpus } from '../../audio/codecs/opus.js';
import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { Transport } from '../../transports/transport.js';
import { openWebRtc } from '../../transports/webrtc/open-webrtc.js';
import type { PeerSettings } from '../../transports/webrtc/peer.js';
import type { WebRtcTransport } from '../../transports/webrtc/webrtc-transport.js';
import type { MainMethods } from '../wire/protocol.js';
import { type Rpc, toWire } from '../wire/rpc.js';

/** The browser lines of a media thread, by the main thread's ids. */
export class WorkerWebRtc {
  readonly #main: Rpc<MainMethods>;
  readonly #clock: Clock;
  readonly #lines = new Map<string, WebRtcTransport>();

  constructor(main: Rpc<MainMethods>, clock: Clock) {
    this.#main = main;
    this.#clock = clock;
  }

  /** Loads and exercises WebRTC, so that the first call is not slower. */
  async warmUp(): Promise<void> {
    const [{ warmUpWebRtc }] = await Promise.all([import('../../transports/webrtc/warm-up.js'), loadOpus()]);
    await warmUpWebRtc(this.#clock);
  }

  async open(id: string, peers: PeerSettings): Promise<void> {
    const transport = await openWebRtc(peers, this.#clock);
    this.#lines.set(id, transport);
    transport.connected.then(
      () => this.#main.tell('connected', id),
      (error: unknown) => this.#main.tell('notConnected', { line: id, error: toWire(error) }),
    );
  }

  answer(id: string, sdp: string): Promise<string> {
    const line = this.#lines.get(id);
    if (line === undefined) throw new ParleyError('SESSION_CLOSED');
    return line.answer(sdp);
  }

  /** The transport of a session; null if there is no such line. */
  transport(id: string): Transport | null {
    return this.#lines.get(id) ?? null;
  }

  /** Its session is over, or will never start. May be called twice. */
  async close(id: string): Promise<void> {
    const line = this.#lines.get(id);
    this.#lines.delete(id);
    await line?.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#lines.keys()].map((id) => this.close(id)));
  }
}
