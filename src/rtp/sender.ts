import type { Opus } from '../audio/opus.js';
import { FRAME_MS, frameSamples } from '../audio/frame.js';
import { Resampler } from '../audio/resample.js';
import { KeyPresses } from './key-presses.js';
import { type MediaEncoder, mediaEncoder } from './media-codec.js';
import type { Agreement } from './negotiation.js';
import type { RtpPacket } from './packet.js';
import type { SentSoFar } from './reports.js';

export interface SenderOptions {
  /** Rate of the frames that are given. */
  rateHz: number;
  /** Whom packets say they are of. */
  ssrc: number;
  /** Where they begin to count: unforeseeable (RFC 3550, 5.1), and with SRTP below 2^15, so that the roll-over is seen. */
  sequence: number;
  timestamp: number;
  /** Loaded, where it may be agreed upon. */
  opus: Opus | null;
  onPacket: (packet: RtpPacket) => void;
}

/** A gap between frames of more than this is one in the stream as well. */
const MAX_LATE_MS = 3 * FRAME_MS;

/** What we send: a packet for each 20 ms that the line is given, sound, silence or keys. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #silence: Int16Array;
  readonly #keys: KeyPresses;
  #agreement: Agreement | null = null;
  #encoder: MediaEncoder | null = null;
  #resampler: Resampler | null = null;
  #sequence: number;
  #timestamp: number;
  #lastMs: number | null = null;
  #isFirst = true;
  #packets = 0;
  #octets = 0;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#silence = new Int16Array(frameSamples(options.rateHz));
    this.#sequence = options.sequence;
    this.#timestamp = options.timestamp;
    this.#keys = new KeyPresses(options.rateHz);
  }

  /** What has been sent, and what the media clock says at a moment. */
  sentAt(nowMs: number): SentSoFar {
    const clockRateHz = this.#agreement?.codec.facts.clockRateHz ?? 8_000;
    const since = Math.round(((nowMs - (this.#lastMs ?? nowMs)) * clockRateHz) / 1_000);
    const { ssrc } = this.#options;
    return { ssrc, packets: this.#packets, octets: this.#octets, timestamp: (this.#timestamp + since) >>> 0 };
  }

  configure(agreement: Agreement): void {
    const before = this.#agreement?.codec.facts;
    const { facts } = agreement.codec;
    this.#agreement = agreement;
    this.#keys.useEvents(agreement.events);
    if (before === facts) return;
    this.#encoder?.close();
    this.#encoder = mediaEncoder(facts, this.#options.opus);
    this.#resampler = new Resampler(this.#options.rateHz, facts.sampleRateHz);
    this.#isFirst = true;
  }

  /** What is lost on the way, 0..1, as the other side reports it. */
  expectLoss(share: number): void {
    this.#encoder?.expectLoss?.(share);
  }

  /** The next 20 ms; null = silence. */
  frame(frame: Int16Array | null, nowMs: number): void {
    const [agreement, encoder, resampler] = [this.#agreement, this.#encoder, this.#resampler];
    if (agreement === null || encoder === null || resampler === null) return;
    const ticks = (agreement.codec.facts.clockRateHz * FRAME_MS) / 1_000;
    this.#skipGap(ticks, nowMs);
    const timestamp = this.#timestamp;
    this.#timestamp = (this.#timestamp + ticks) >>> 0;
    if (!agreement.sends) {
      this.#isFirst = true;
      return;
    }
    const key = this.#keys.next();
    if (key?.kind === 'event') {
      const { payload, ageFrames, isFirst } = key;
      this.#send(agreement.events?.payloadType ?? 0, isFirst, (timestamp - ageFrames * ticks) >>> 0, payload);
      this.#isFirst = true;
      return;
    }
    const heard = key?.kind === 'tone' ? key.samples : key === null ? frame : null;
    const payload = encoder.encode(resampler.process(heard ?? this.#silence));
    this.#send(agreement.codec.payloadType, this.#isFirst, timestamp, payload);
    this.#isFirst = false;
  }

  /** Sends keys in place of sound. Resolves when they are sent; while the other side is on hold they wait. */
  press(keys: string, signal: AbortSignal): Promise<void> {
    return this.#keys.press(keys, signal);
  }

  close(): void {
    this.#keys.close();
    this.#encoder?.close();
    this.#encoder = null;
  }

  /** Nobody has given anything for a while: the stream's time goes on with the world's. */
  #skipGap(ticks: number, nowMs: number): void {
    const lateMs = this.#lastMs === null ? 0 : nowMs - this.#lastMs - FRAME_MS;
    this.#lastMs = nowMs;
    if (lateMs <= MAX_LATE_MS) return;
    this.#timestamp = (this.#timestamp + Math.round(lateMs / FRAME_MS) * ticks) >>> 0;
    this.#isFirst = true;
  }

  #send(payloadType: number, marker: boolean, timestamp: number, payload: Uint8Array): void {
    const sequence = this.#sequence;
    this.#sequence = (sequence + 1) & 0xffff;
    this.#packets++;
    this.#octets += payload.length;
    this.#options.onPacket({ payloadType, marker, sequence, timestamp, ssrc: this.#options.ssrc, payload });
  }
}
