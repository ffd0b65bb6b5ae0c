import { FRAME_MS, frameSamples } from '../../audio/frame.js';
import type { Opus } from '../../audio/codecs/opus.js';
import { type Resampler, resamplerBetween } from '../../audio/dsp/resample.js';
import { COMFORT_NOISE_TYPE, LONGEST_SENT_MS, mediaEncoder, type MediaEncoder } from './media-codec.js';
import type { Agreement } from './negotiation.js';
import type { RtpPacket } from './packet.js';
import type { SentSoFar } from './rtcp.js';
import { dialTones, KEY_OFF_MS, KEY_ON_MS, WAIT_MS } from '../../audio/tones/dtmf.js';

interface SenderOptions {
  /** Rate of the frames. */
  rateHz: number;
  /** Source of the packets. */
  ssrc: number;
  /**
   * First sequence number: unpredictable (RFC 3550, 5.1), and with SRTP below 2^15, so that the receiver sees the
   * roll-over.
   */
  sequence: number;
  timestamp: number;
  /** Loaded, if it may be negotiated. */
  opus: Opus | null;
  /** The packet's payload is overwritten by the next packet of any sender. */
  wire: { send(packet: RtpPacket): void };
}

/** The encoding path of the negotiated codec. */
interface Voice {
  readonly encoder: MediaEncoder;
  /** Null: the line has the codec's rate. */
  readonly resampler: Resampler | null;
  readonly ticksPerMs: number;
  /** Samples per packet. */
  readonly packetSamples: number;
  readonly ticksPerPacket: number;
}

/** A longer gap between frames is also a gap in the stream. */
const MAX_LATE_MS = 3 * FRAME_MS;
/** After this much silence comfort noise is sent, if negotiated; repeated at intervals, for NATs. */
const QUIET_AFTER_FRAMES = 10;
const QUIET_EVERY_FRAMES = 25;
/** Its level, in -dBov (RFC 3389, 3.1): a quiet room on the telephone. */
const QUIET_LEVEL = Uint8Array.of(70);

/** Sends audio, silence or keys, 20 ms at a time, in packets of the requested length. */
export class Sender {
  readonly #rateHz: number;
  readonly #ssrc: number;
  readonly #opus: Opus | null;
  readonly #wire: SenderOptions['wire'];
  readonly #silence: Int16Array;
  readonly #keys: KeyPresses;
  /** Audio of an incomplete packet, at the codec's rate. */
  readonly #waiting: Int16Array;
  #waits = 0;
  #agreement: Agreement | null = null;
  /** The members that each frame reads. */
  #sends = false;
  #comfortNoise = false;
  #payloadType = 0;
  #voice: Voice | null = null;
  #sequence: number;
  #timestamp: number;
  #lastMs: number | null = null;
  /** The current key: its timestamp must not change during the key. */
  #event = { payloadType: 0, timestamp: 0 };
  #isFirst = true;
  #isPressing = false;
  #silentFrames = 0;
  #packets = 0;
  #octets = 0;

  constructor(options: SenderOptions) {
    this.#rateHz = options.rateHz;
    this.#ssrc = options.ssrc;
    this.#opus = options.opus;
    this.#wire = options.wire;
    this.#silence = new Int16Array(frameSamples(options.rateHz));
    this.#waiting = new Int16Array(((LONGEST_SENT_MS + FRAME_MS) / FRAME_MS) * frameSamples(16_000));
    this.#sequence = options.sequence;
    this.#timestamp = options.timestamp;
    this.#keys = new KeyPresses(options.rateHz);
  }

  /** What was sent, and the media time at a moment. */
  sentAt(nowMs: number): SentSoFar {
    const clockRateHz = this.#agreement?.codec.facts.clockRateHz ?? 8_000;
    const since = Math.round(((nowMs - (this.#lastMs ?? nowMs)) * clockRateHz) / 1_000);
    return {
      ssrc: this.#ssrc,
      packets: this.#packets,
      octets: this.#octets,
      timestamp: (this.#timestamp + since) >>> 0,
    };
  }

  configure(agreement: Agreement): void {
    const before = this.#agreement;
    const { facts } = agreement.codec;
    this.#agreement = agreement;
    this.#sends = agreement.sends;
    this.#comfortNoise = agreement.comfortNoise;
    this.#payloadType = agreement.codec.payloadType;
    this.#keys.useEvents(agreement.events);
    if (before?.codec.facts === facts && before.packetMs === agreement.packetMs) return;
    this.#voice?.encoder.close();
    const ticksPerMs = facts.clockRateHz / 1_000;
    this.#voice = {
      encoder: mediaEncoder(facts, this.#opus),
      resampler: resamplerBetween(this.#rateHz, facts.sampleRateHz),
      ticksPerMs,
      packetSamples: (facts.sampleRateHz * agreement.packetMs) / 1_000,
      ticksPerPacket: ticksPerMs * agreement.packetMs,
    };
    this.#breakOff();
  }

  /** Packet loss, 0 to 1, as reported by the other side. */
  expectLoss(share: number): void {
    this.#voice?.encoder.expectLoss?.(share);
  }

  /** The next 20 ms; null = silence. */
  frame(frame: Int16Array | null, nowMs: number): void {
    const voice = this.#voice;
    if (voice === null) return;
    const ticks = voice.ticksPerMs * FRAME_MS;
    this.#skipGap(ticks, nowMs);
    const timestamp = this.#timestamp;
    this.#timestamp = (this.#timestamp + ticks) >>> 0;
    if (!this.#sends) {
      this.#breakOff();
      return;
    }
    const key = this.#isPressing ? this.#keys.next() : null;
    if (key === null) this.#isPressing = false;
    if (key?.kind === 'event') {
      const { payload, isFirst } = key;
      if (isFirst) this.#event = { payloadType: this.#agreement?.events?.payloadType ?? 0, timestamp };
      this.#send(this.#event.payloadType, isFirst, this.#event.timestamp, payload);
      this.#breakOff();
      return;
    }
    const heard = key?.kind === 'tone' ? key.samples : key === null ? frame : null;
    if (this.#comfortNoise && this.#isQuiet(heard, timestamp)) return;
    const { encoder, packetSamples } = voice;
    const isSilent = heard === null && voice.resampler === null && this.#waits === 0;
    if (isSilent && encoder.silence !== undefined && packetSamples === this.#silence.length) {
      this.#sendSound(timestamp, encoder.silence(packetSamples));
      return;
    }
    const samples = heard ?? this.#silence;
    this.#speak(voice, voice.resampler === null ? samples : voice.resampler.process(samples), timestamp);
  }

  /** Sends keys in place of audio. Resolves when they are sent; they wait while the other side is on hold. */
  press(keys: string, signal: AbortSignal): Promise<void> {
    this.#isPressing = true;
    return this.#keys.press(keys, signal);
  }

  close(): void {
    this.#keys.close();
    this.#voice?.encoder.close();
    this.#voice = null;
  }

  /** Packetises audio. @param timestamp of its start */
  #speak({ encoder, packetSamples, ticksPerPacket }: Voice, samples: Int16Array, timestamp: number): void {
    if (this.#waits === 0 && samples.length === packetSamples) {
      // The usual case.
      this.#sendSound(timestamp, encoder.encode(samples));
      return;
    }
    const waiting = this.#waiting;
    let at = (timestamp - (this.#waits * ticksPerPacket) / packetSamples) >>> 0;
    waiting.set(samples, this.#waits);
    const end = this.#waits + samples.length;
    let from = 0;
    for (; from + packetSamples <= end; from += packetSamples) {
      this.#sendSound(at, encoder.encode(waiting.subarray(from, from + packetSamples)));
      at = (at + ticksPerPacket) >>> 0;
    }
    waiting.copyWithin(0, from, end);
    this.#waits = end - from;
  }

  /** Whether silence continues as comfort noise: one packet at intervals. */
  #isQuiet(frame: Int16Array | null, timestamp: number): boolean {
    if (frame !== null) {
      this.#silentFrames = 0;
      return false;
    }
    const quiet = this.#silentFrames++ - QUIET_AFTER_FRAMES;
    if (quiet < 0) return false;
    if (quiet === 0) this.#breakOff();
    if (quiet % QUIET_EVERY_FRAMES === 0) this.#send(COMFORT_NOISE_TYPE, false, timestamp, QUIET_LEVEL);
    return true;
  }

  /** The audio ends here and restarts later. An incomplete packet is dropped. */
  #breakOff(): void {
    this.#waits = 0;
    this.#isFirst = true;
  }

  /** No frames for a while: the stream's time advances with real time. */
  #skipGap(ticks: number, nowMs: number): void {
    const lateMs = this.#lastMs === null ? 0 : nowMs - this.#lastMs - FRAME_MS;
    this.#lastMs = nowMs;
    if (lateMs <= MAX_LATE_MS) return;
    this.#timestamp = (this.#timestamp + Math.round(lateMs / FRAME_MS) * ticks) >>> 0;
    this.#breakOff();
  }

  #sendSound(timestamp: number, payload: Uint8Array): void {
    this.#send(this.#payloadType, this.#isFirst, timestamp, payload);
    this.#isFirst = false;
  }

  #send(payloadType: number, marker: boolean, timestamp: number, payload: Uint8Array): void {
    const sequence = this.#sequence;
    this.#sequence = (sequence + 1) & 0xffff;
    this.#packets++;
    this.#octets += payload.length;
    this.#wire.send({ payloadType, marker, sequence, timestamp, ssrc: this.#ssrc, payload });
  }
}

/** 20 ms of a key press. */
type KeyFrame =
  /**
   * A packet of an event (RFC 4733, 2.3). `isFirst`: the first packet of its key; all packets of a key have the same
   * timestamp.
   */
  { kind: 'event'; payload: Uint8Array; isFirst: boolean } | { kind: 'tone'; samples: Int16Array } | { kind: 'pause' };

interface Press {
  readonly keys: string[];
  readonly done: () => void;
  readonly fail: (reason: Error) => void;
}

const KEYS = '0123456789*#ABCD';
const ON_FRAMES = KEY_ON_MS / FRAME_MS;
const KEY_FRAMES = ON_FRAMES + KEY_OFF_MS / FRAME_MS;
const WAIT_FRAMES = WAIT_MS / FRAME_MS;
/** The last packet of a key is sent three times (RFC 4733, 2.5.1.4). */
const END_PACKETS = 3;
const END_BIT = 0x80;
/** Volume of the tones, in -dBm0. */
const VOLUME = 10;

/** Outgoing keys, 20 ms at a time: as events if the other side accepts them, otherwise as tones. */
class KeyPresses {
  readonly #rateHz: number;
  readonly #presses: Press[] = [];
  #events: { clockRateHz: number } | null = null;
  /** The current key, its sent frames, and its form, which does not change during a key. */
  #key: string | null = null;
  #frames = 0;
  #clockRateHz: number | null = null;
  #tone: Int16Array = new Int16Array();

  /** @param rateHz of the tones */
  constructor(rateHz: number) {
    this.#rateHz = rateHz;
  }

  /** Applies from the next key on. */
  useEvents(events: { clockRateHz: number } | null): void {
    this.#events = events;
  }

  /** 0-9, *, #, A-D, and `w` for a pause. When aborted, the current key is still completed. */
  press(keys: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const press: Press = {
        keys: [...keys].filter((key) => key === 'w' || KEYS.includes(key)),
        done: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
        fail: (reason) => {
          signal.removeEventListener('abort', abort);
          reject(reason);
        },
      };
      const abort = (): void => {
        const at = this.#presses.indexOf(press);
        if (at >= 0) this.#presses.splice(at, 1);
        reject(signal.reason as Error);
      };
      if (signal.aborted) {
        abort();
        return;
      }
      signal.addEventListener('abort', abort, { once: true });
      this.#presses.push(press);
    });
  }

  /** The next 20 ms; null = no key. */
  next(): KeyFrame | null {
    if (this.#key === null && !this.#begin()) return null;
    const key = this.#key;
    const frame = this.#frames++;
    if (this.#frames >= (key === 'w' ? WAIT_FRAMES : KEY_FRAMES)) this.#key = null;
    if (key === null || key === 'w') return { kind: 'pause' };
    if (this.#clockRateHz !== null) return eventOf(key, frame, this.#clockRateHz);
    const length = frameSamples(this.#rateHz);
    return { kind: 'tone', samples: this.#tone.subarray(frame * length, (frame + 1) * length) };
  }

  close(): void {
    for (const { fail } of this.#presses.splice(0)) fail(new Error('the call is over'));
    this.#key = null;
  }

  #begin(): boolean {
    for (;;) {
      const press = this.#presses[0];
      if (press === undefined) return false;
      const key = press.keys.shift();
      if (key === undefined) {
        this.#presses.shift();
        press.done();
        continue;
      }
      this.#key = key;
      this.#frames = 0;
      this.#clockRateHz = this.#events?.clockRateHz ?? null;
      if (key !== 'w' && this.#clockRateHz === null) this.#tone = dialTones(key, this.#rateHz);
      return true;
    }
  }
}

function eventOf(key: string, frame: number, clockRateHz: number): KeyFrame {
  if (frame >= ON_FRAMES + END_PACKETS) return { kind: 'pause' };
  const isEnd = frame >= ON_FRAMES;
  const duration = (Math.min(frame + 1, ON_FRAMES) * FRAME_MS * clockRateHz) / 1_000;
  const payload = Uint8Array.of(KEYS.indexOf(key), (isEnd ? END_BIT : 0) | VOLUME, duration >> 8, duration & 0xff);
  return { kind: 'event', payload, isFirst: frame === 0 };
}
