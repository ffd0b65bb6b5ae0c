import { FRAME_MS, HEARING_RATE_HZ } from '../../audio/frame.js';
import type { JitterStats, MediaPacket } from '../../audio/jitter-buffer.js';
import type { OpusDecoder, OpusEncoder, OpusEncoderOptions, OpusRateHz } from '../../audio/codecs/opus.js';
import { gatherTurn } from '../../base/gathering.js';
import type { Clock } from '../../base/clock.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { TalkControl, wireMessage } from '../talk-control.js';
import type { LineStats, Transport, TransportMessage, TransportSink } from '../transport.js';
import { checkOffer } from './offer.js';
import { OPUS_CLOCK_HZ, type WebRtcPeer } from './peer.js';
import { InboundStream, OpusMediaDecoder } from '../rtp/inbound-stream.js';
import { INITIAL_LOSS, ReportedLoss } from '../rtp/rtcp.js';

type Encoder = Pick<OpusEncoder, 'encode' | 'expectLoss' | 'close'>;
type Decoder = Pick<OpusDecoder, 'decode' | 'recover' | 'conceal' | 'close'>;

/** The result of `loadOpus`. */
export interface WebRtcCodec {
  encoder(options: OpusEncoderOptions): Encoder;
  decoder(sampleRateHz: OpusRateHz): Decoder;
}

/** The messages of a data channel: the talk socket's, or another protocol. */
export interface SideChannel {
  /** Whether the client answers forms. */
  readonly showsForms: boolean;
  /** Unreadable or meaningless messages. */
  readonly badMessages: number;
  /** A text message of the client. */
  receive(text: string, sink: TransportSink | null): void;
  /** A message of the session. */
  tell(message: TransportMessage): void;
  /** The connection has ended. Called once. */
  closed(error?: Error): void;
}

/** What a side channel can do with its line. */
export interface SideChannelLink {
  send(text: string): void;
  /** Ends the line. */
  fail(error: ParleyError): void;
  /** Answers another offer of the same connection. */
  answer(sdp: string): Promise<string>;
}

export interface WebRtcTransportOptions {
  /** Default: the messages of the talk socket. */
  channel?: (link: SideChannelLink) => SideChannel;
  peer: WebRtcPeer;
  opus: WebRtcCodec;
  clock: Clock;
  /** Bytes of messages that may wait for a slow client before it is disconnected. Default 512 kB. */
  maxBufferedBytes?: number;
}

export interface WebRtcStats extends JitterStats {
  /** Packets that are not valid Opus. */
  undecodable: number;
  sentPackets: number;
  badMessages: number;
}

/** Rate of the agent's audio: as high as its voices need, and cheaper than 48 kHz. */
export const OUTPUT_RATE_HZ = 24_000;
const FRAME_TICKS = (OPUS_CLOCK_HZ * FRAME_MS) / 1000;
/** Silence sent after speech; then nothing until the next audio. */
const TAIL_FRAMES = 12;
/** Maximum number of audio packets kept before the session starts. */
const MAX_EARLY = 250;
/** On close, the last words and messages are on their way, or in the other end's buffer. */
const LINGER_MS = 300;

/** A browser or any WebRTC client: Opus both ways, and the talk socket's messages on a data channel. */
export class WebRtcTransport implements Transport {
  readonly name = 'webrtc';
  readonly inputRateHz = HEARING_RATE_HZ;
  readonly outputRateHz = OUTPUT_RATE_HZ;
  readonly showsForms: boolean;
  /**
   * Whether packets go on in silence. Browsers' jitter buffers then keep a short delay: after a gap they wait for half of
   * what they aim at before they play on.
   */
  sendsSilence = false;
  /** Resolves when the other side can hear; rejects if the connection fails. */
  readonly connected: Promise<void>;
  readonly #options: Required<Omit<WebRtcTransportOptions, 'channel'>>;
  readonly #encoder: Encoder;
  readonly #inbound: InboundStream;
  readonly #loss = new ReportedLoss();
  readonly #channel: SideChannel;
  readonly #silence = new Int16Array((OUTPUT_RATE_HZ * FRAME_MS) / 1000);
  #sink: TransportSink | null = null;
  #early: MediaPacket[] = [];
  #isStarted = false;
  #isConnected = false;
  #isOver = false;
  #ticks = 0;
  #tail = 0;
  #sentPackets = 0;
  #closing: Promise<void> | null = null;
  #reject: (error: Error) => void = () => undefined;

  constructor(options: WebRtcTransportOptions) {
    this.#options = { maxBufferedBytes: 512_000, ...options };
    const { peer, opus, clock, channel = (link) => new TalkChannel(link, clock) } = options;
    this.#encoder = opus.encoder({ sampleRateHz: OUTPUT_RATE_HZ, expectedLoss: INITIAL_LOSS });
    this.#inbound = new InboundStream({
      decoder: new OpusMediaDecoder(opus.decoder(HEARING_RATE_HZ)),
      clockRateHz: OPUS_CLOCK_HZ,
      sampleRateHz: HEARING_RATE_HZ,
      rateHz: HEARING_RATE_HZ,
      listener: { hear: (samples) => this.#sink?.audio(samples) },
    });
    this.#channel = channel({
      send: (text) => this.#send(text),
      fail: (error) => this.#fail(error),
      answer: (sdp) => this.answer(sdp),
    });
    this.showsForms = this.#channel.showsForms;
    let onConnected: () => void = () => undefined;
    this.connected = new Promise((resolve, reject) => {
      onConnected = resolve;
      this.#reject = reject;
    });
    this.connected.catch(() => undefined); // may have no reader
    peer.listen({
      connected: () => {
        this.#isConnected = true;
        onConnected();
      },
      audio: (packet) => this.#onPacket(packet),
      digit: (digit) => this.#sink?.digits(digit),
      message: (text) => this.#channel.receive(text, this.#sink),
      loss: (share) => this.#onLoss(share),
      // Browsers send no goodbye when their page closes: a peer that was connected and disappears has hung up.
      closed: (reason) => {
        const isHangUp = this.#isConnected || reason === 'closed';
        this.#gone(isHangUp ? undefined : new ParleyError('LINE_LOST', { reason }));
      },
    });
  }

  get stats(): WebRtcStats {
    return {
      ...this.#inbound.stats,
      undecodable: this.#inbound.undecodable,
      sentPackets: this.#sentPackets,
      badMessages: this.#channel.badMessages,
    };
  }

  lineStats(): LineStats {
    const { received, lost, late, duplicate, reordered, jitterMs, patienceMs } = this.#inbound.stats;
    const both = { sent: this.#sentPackets, reportedLoss: this.#loss.last };
    return { received, lost, late, duplicate, reordered, jitterMs, patienceMs, ...both };
  }

  /**
   * Answers another offer of the same connection: an ICE restart, another device.
   * @throws ParleyError OFFER_INVALID; the line continues unchanged
   */
  async answer(sdp: string): Promise<string> {
    checkOffer(sdp);
    return this.#options.peer.answer(sdp);
  }

  start(sink: TransportSink): void {
    if (this.#isOver) {
      sink.closed();
      return;
    }
    this.#sink = sink;
    this.#isStarted = true;
    queueMicrotask(() => {
      for (const packet of this.#early.splice(0)) this.#onPacket(packet);
    });
  }

  play(frame: Int16Array | null): void {
    if (this.#isOver) return;
    // Called on every tick of the session, spoken or silent, so received audio is polled here.
    this.#inbound.poll(this.#options.clock.nowMs());
    this.#ticks += FRAME_TICKS;
    if (frame === null && this.#tail === 0 && !this.sendsSilence) return;
    const isFirst = frame !== null && this.#tail === 0;
    this.#tail = frame === null ? Math.max(0, this.#tail - 1) : TAIL_FRAMES;
    this.#options.peer.sendAudio(this.#encoder.encode(frame ?? this.#silence), this.#ticks, isFirst);
    this.#sentPackets++;
  }

  send(message: TransportMessage): void {
    this.#channel.tell(message);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { clock, peer } = this.#options;
    if (this.#isConnected && !this.#isOver) {
      await new Promise<void>((resolve) => void clock.schedule(clock.nowMs() + LINGER_MS, resolve));
    }
    await peer.close();
    this.#gone();
  }

  #onLoss(share: number): void {
    const expected = this.#loss.take(share);
    if (expected !== null && !this.#isOver) this.#encoder.expectLoss(expected);
  }

  #onPacket(packet: MediaPacket): void {
    if (!this.#isStarted) {
      if (this.#early.length < MAX_EARLY) this.#early.push(packet);
      return;
    }
    gatherTurn();
    this.#inbound.push(packet, this.#options.clock.nowMs());
  }

  #send(text: string): void {
    const { peer, maxBufferedBytes } = this.#options;
    if (this.#isOver) return;
    peer.send(text);
    const bytes = peer.bufferedBytes;
    if (bytes > maxBufferedBytes) this.#fail(new ParleyError('TALK_CLIENT_TOO_SLOW', { bytes }));
  }

  #fail(error: ParleyError): void {
    this.#gone(error);
    void this.close();
  }

  #gone(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#encoder.close();
    this.#inbound.close();
    this.#reject(error ?? new ParleyError('LINE_LOST', { reason: 'it was closed' }));
    const sink = this.#sink;
    this.#sink = null;
    this.#channel.closed(error);
    sink?.closed(error);
  }
}

/** The talk socket's messages. */
class TalkChannel implements SideChannel {
  readonly showsForms = true;
  readonly #link: SideChannelLink;
  readonly #control: TalkControl;

  constructor(link: SideChannelLink, clock: Clock) {
    this.#link = link;
    this.#control = new TalkControl({
      clock,
      send: (message) => link.send(JSON.stringify(message)),
      onTooBad: (error) => link.fail(error),
      onOffer: (sdp) => {
        void this.#renegotiate(sdp);
        return true;
      },
    });
  }

  get badMessages(): number {
    return this.#control.badMessages;
  }

  receive(text: string, sink: TransportSink | null): void {
    this.#control.receive(text, sink);
  }

  tell(message: TransportMessage): void {
    this.#link.send(JSON.stringify(wireMessage(message)));
  }

  closed(): void {
    // Nothing waits for it.
  }

  async #renegotiate(offer: string): Promise<void> {
    try {
      const sdp = await this.#link.answer(offer);
      this.#link.send(JSON.stringify({ method: 'answer', payload: { sdp, type: 'answer' } }));
    } catch (error) {
      this.#link.send(JSON.stringify({ method: 'onerror', data: reasonOf(error) }));
    }
  }
}
