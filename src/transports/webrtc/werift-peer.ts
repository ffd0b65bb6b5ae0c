import type { RTCDataChannel, RTCRtpTransceiver } from 'werift';
import { MediaStreamTrack, RTCPeerConnection, RTCRtpCodecParameters, RtpHeader, RtpPacket } from 'werift';
import type { Cancel, Clock } from '../../clock/clock.js';
import { ParleyError, reasonOf } from '../../errors.js';
import { TelephoneEvents } from '../telephone-event.js';
import type { PeerListener, PeerSettings, WebRtcPeer } from './peer.js';

/** A peer that has not connected by then, or has lost the connection for so long, is given up. */
const CONNECT_MS = 15_000;
const LOST_MS = 10_000;
/** Messages kept until there is a data channel. */
const MAX_EARLY_MESSAGES = 200;
/** Opus DTX: a packet of a byte or two says that nothing more comes for a while (RFC 6716, 3.1; RFC 7587, 3.1.3). */
const DTX_BYTES = 2;

/** A peer on werift, an implementation of WebRTC in TypeScript. */
export class WeriftPeer implements WebRtcPeer {
  readonly #connection: RTCPeerConnection;
  readonly #track = new MediaStreamTrack({ kind: 'audio' });
  readonly #events = new TelephoneEvents();
  readonly #clock: Clock;
  #listener: PeerListener | null = null;
  #channel: RTCDataChannel | null = null;
  #early: string[] = [];
  #sequence = 0;
  #source: number | null = null;
  #cancelDeadline: Cancel = () => undefined;
  #isOver = false;
  #closing: Promise<void> | null = null;

  constructor(settings: PeerSettings, clock: Clock) {
    const { iceServers = [], portRange = null, addresses = [], ipv6 = true } = settings;
    this.#clock = clock;
    this.#connection = new RTCPeerConnection({
      codecs: {
        audio: [
          new RTCRtpCodecParameters({
            mimeType: 'audio/opus',
            clockRate: 48_000,
            channels: 2,
            // What the other side is asked to send: a copy of each packet in the next one, one channel.
            parameters: 'minptime=10;useinbandfec=1;stereo=0;sprop-stereo=0',
          }),
          new RTCRtpCodecParameters({ mimeType: 'audio/telephone-event', clockRate: 48_000, parameters: '0-15' }),
          new RTCRtpCodecParameters({ mimeType: 'audio/telephone-event', clockRate: 8_000, parameters: '0-15' }),
        ],
        video: [],
      },
      iceServers: iceServers.map((server) => ({ ...server })),
      iceUseIpv6: ipv6,
      bundlePolicy: 'max-bundle',
      ...(addresses.length > 0 && { iceAdditionalHostAddresses: [...addresses] }),
      ...(portRange !== null && { icePortRange: [...portRange] as [number, number] }),
    });
    this.#connection.onRemoteTransceiverAdded.subscribe((transceiver) => this.#onTransceiver(transceiver));
    this.#connection.onDataChannel.subscribe((channel) => this.#onChannel(channel));
    this.#connection.connectionStateChange.subscribe((state) => this.#onState(state));
  }

  get bufferedBytes(): number {
    return this.#channel?.bufferedAmount ?? 0;
  }

  async answer(sdp: string): Promise<string> {
    try {
      await this.#connection.setRemoteDescription({ type: 'offer', sdp });
      await this.#connection.setLocalDescription(await this.#connection.createAnswer());
    } catch (error) {
      throw new ParleyError('OFFER_INVALID', { reason: reasonOf(error) }, { cause: error });
    }
    const answer = this.#connection.localDescription?.sdp;
    if (answer === undefined) throw new ParleyError('OFFER_INVALID', { reason: 'it was given up' });
    if (this.#connection.connectionState !== 'connected') this.#expire(CONNECT_MS, 'no connection came about');
    return answer;
  }

  listen(listener: PeerListener): void {
    this.#listener = listener;
    if (this.#connection.connectionState === 'connected') listener.connected();
  }

  sendAudio(payload: Uint8Array, ticks: number, marker: boolean): void {
    if (this.#isOver || this.#connection.connectionState !== 'connected') return;
    const header = new RtpHeader({
      sequenceNumber: this.#sequence,
      timestamp: ticks >>> 0,
      marker,
      payloadType: 0, // the sender puts the negotiated one in
    });
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#track.writeRtp(new RtpPacket(header, Buffer.from(payload)));
  }

  send(text: string): void {
    if (this.#isOver) return;
    if (this.#channel?.readyState !== 'open') {
      if (this.#early.length < MAX_EARLY_MESSAGES) this.#early.push(text);
      return;
    }
    try {
      this.#channel.send(text);
    } catch {
      // It has closed in this moment; the connection's state will tell.
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#over('closed');
    await this.#connection.close();
  }

  #onTransceiver(transceiver: RTCRtpTransceiver): void {
    if (transceiver.kind !== 'audio') return;
    transceiver.setDirection('sendrecv');
    void transceiver.sender.replaceTrack(this.#track);
    transceiver.onTrack.subscribe((track) => {
      track.onReceiveRtp.subscribe(({ header, payload }) => {
        const codec = transceiver.codecs.find(({ payloadType }) => payloadType === header.payloadType);
        if (codec?.mimeType.toLowerCase() === 'audio/telephone-event') {
          const digit = this.#events.read(payload, header.timestamp);
          if (digit !== null) this.#listener?.digit(digit);
          return;
        }
        // One source a line: what claims to be another one is not the one that was agreed upon.
        this.#source ??= header.ssrc;
        if (header.ssrc !== this.#source || payload.length === 0) return;
        const { sequenceNumber: sequence, timestamp } = header;
        this.#listener?.audio({ sequence, timestamp, payload, silent: payload.length <= DTX_BYTES });
      });
    });
  }

  #onChannel(channel: RTCDataChannel): void {
    this.#channel = channel;
    channel.onMessage.subscribe((data) => {
      if (typeof data === 'string') this.#listener?.message(data);
    });
    const flush = (): void => {
      for (const text of this.#early.splice(0)) this.send(text);
    };
    channel.stateChange.subscribe((state) => {
      if (state === 'open') flush();
    });
    if (channel.readyState === 'open') flush();
  }

  #onState(state: string): void {
    if (state === 'connected') {
      this.#cancelDeadline();
      this.#listener?.connected();
    } else if (state === 'disconnected') {
      this.#expire(LOST_MS, 'the connection was lost');
    } else if (state === 'failed' || state === 'closed') {
      this.#over(`the connection ${state === 'failed' ? 'has failed' : 'was closed'}`);
    }
  }

  #expire(afterMs: number, reason: string): void {
    this.#cancelDeadline();
    this.#cancelDeadline = this.#clock.schedule(this.#clock.nowMs() + afterMs, () => this.#over(reason));
  }

  #over(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelDeadline();
    this.#listener?.closed(reason);
    void this.close();
  }
}
