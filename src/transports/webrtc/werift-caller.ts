import type { RTCDataChannel, RTCRtpTransceiver } from 'werift';
import { MediaStreamTrack, RTCPeerConnection, RtpHeader, RtpPacket } from 'werift';
import type { MediaPacket } from '../../audio/jitter-buffer.js';
import { keepStrangersOut } from './checked-sources.js';
import { HandshakeGuard } from './handshake-guard.js';
import { keepWay, removeDefaultStunServer, findNewWays, weriftConfig } from './werift-config.js';
import type { PeerSettings } from './peer.js';

/** The calling end, like a browser: for warm-up, measurements, and programs that talk. */
export class WeriftCaller {
  /** Receives audio. */
  onAudio: (packet: MediaPacket) => void = () => undefined;
  onMessage: (text: string) => void = () => undefined;
  /** Resolves when audio and data can flow; rejects if the connection fails before. */
  readonly connected: Promise<void>;
  readonly #settings: PeerSettings;
  readonly #connection: RTCPeerConnection;
  readonly #track = new MediaStreamTrack({ kind: 'audio' });
  readonly #transceiver: RTCRtpTransceiver;
  readonly #channel: RTCDataChannel;
  readonly #guards: HandshakeGuard[] = [];
  #sequence = 0;
  #isFirst = true;

  constructor(settings: PeerSettings) {
    this.#settings = settings;
    this.#connection = new RTCPeerConnection(weriftConfig(settings));
    this.#transceiver = this.#connection.addTransceiver(this.#track, { direction: 'sendrecv' });
    this.#channel = this.#connection.createDataChannel('parley');
    this.#channel.onMessage.subscribe((data) => {
      if (typeof data === 'string') this.onMessage(data);
    });
    this.#transceiver.onTrack.subscribe((track) => {
      track.onReceiveRtp.subscribe(({ header: { sequenceNumber: sequence, timestamp }, payload }) =>
        this.onAudio({ sequence, timestamp, payload }),
      );
    });
    this.connected = new Promise((resolve, reject) => {
      this.#channel.stateChange.subscribe((state) => {
        if (state === 'open') resolve();
      });
      this.#connection.connectionStateChange.subscribe((state) => {
        if (state === 'failed' || state === 'closed') reject(new Error(`the connection is ${state}`));
      });
    });
    this.connected.catch(() => undefined); // may have no reader
  }

  /** @param restart offers new candidates to the same peer (ICE restart) */
  async offer(restart = false): Promise<string> {
    const offer = await this.#connection.createOffer({ iceRestart: restart });
    removeDefaultStunServer(this.#connection, this.#settings);
    for (const { connection } of this.#connection.iceTransports) keepStrangersOut(connection);
    await this.#connection.setLocalDescription(offer);
    return this.#connection.localDescription?.sdp ?? '';
  }

  async accept(answer: string): Promise<void> {
    if (this.#isFirst) {
      const onRefused = (): void => void this.close();
      this.#guards.push(...this.#connection.dtlsTransports.map((each) => new HandshakeGuard(each, onRefused)));
    }
    await this.#connection.setRemoteDescription({ type: 'answer', sdp: answer });
    if (this.#isFirst) for (const transport of this.#connection.iceTransports) keepWay(transport.connection);
    this.#isFirst = false;
    findNewWays(this.#connection);
  }

  /** @param ticks 48 000 a second */
  sendAudio(payload: Uint8Array, ticks: number): void {
    const header = new RtpHeader({ sequenceNumber: this.#sequence, timestamp: ticks >>> 0, payloadType: 0 });
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#track.writeRtp(new RtpPacket(header, Buffer.from(payload)));
  }

  send(text: string): void {
    this.#channel.send(text);
  }

  /** May be called twice. */
  async close(): Promise<void> {
    for (const guard of this.#guards) guard.close();
    await this.#connection.close();
  }
}
