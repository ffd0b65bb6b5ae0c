import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ParleyError } from '../../base/errors.js';
import { wasm, type WasmMemory } from '../../base/webassembly.js';

/** Rates of the codec's input and output; the encoded stream is the same for all. */
export type OpusRateHz = 8_000 | 12_000 | 16_000 | 24_000 | 48_000;

export interface OpusEncoderOptions {
  sampleRateHz: OpusRateHz;
  /** Default 28 000. */
  bitrate?: number;
  /** 0..10; more takes more time. Default 1: 5 takes 2.6 times as long for 0.2 dB (`bench/opus.ts`). */
  complexity?: number;
  /** Expected packet loss, 0..1. Above 0, each packet holds a coarse copy of the one before it. Default 0.1. */
  expectedLoss?: number;
  /** Silence is sent as packets of a byte or two. Default true. */
  dtx?: boolean;
}

/** What the package's module exports of libopus. Pointers are numbers. */
interface OpusModule {
  readonly memory: WasmMemory;
  malloc(bytes: number): number;
  free(pointer: number): void;
  _initialize?(): void;
  opus_encoder_get_size(channels: number): number;
  opus_encoder_init(state: number, rateHz: number, channels: number, application: number): number;
  opus_encoder_ctl_set(state: number, request: number, value: number): number;
  opus_encode(state: number, pcm: number, samples: number, packet: number, maxBytes: number): number;
  opus_decoder_get_size(channels: number): number;
  opus_decoder_init(state: number, rateHz: number, channels: number): number;
  opus_decode(state: number, packet: number, bytes: number, pcm: number, maxSamples: number, decodeFec: number): number;
}

/** Requests and values of opus_defines.h. */
const APPLICATION_VOIP = 2_048;
const SET_BITRATE = 4_002;
const SET_COMPLEXITY = 4_010;
const SET_INBAND_FEC = 4_012;
const SET_PACKET_LOSS_PERC = 4_014;
const SET_DTX = 4_016;

/** The longest that a packet can hold (RFC 6716, 3.1), and the largest packet that libopus advises to make room for. */
const MAX_PACKET_MS = 120;
const MAX_PACKET_BYTES = 4_000;
/** Of its frames, the ones that calls have. */
export const OPUS_FRAMES_MS: readonly number[] = [10, 20, 40, 60];
const LONGEST_FRAME_MS = 60;

let loading: Promise<Opus> | undefined;

/** Loads the codec (400 kB of WebAssembly), once for the thread. */
export function loadOpus(): Promise<Opus> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Opus> {
  const path = fileURLToPath(import.meta.resolve('@evan/opus/wasm/simd.wasm'));
  const none = (): number => 0;
  const { exports } = new wasm.Instance(await wasm.compile(await readFile(path)), {
    env: { emscripten_notify_memory_growth: none },
    wasi_snapshot_preview1: { proc_exit: none, fd_close: none, fd_write: none, fd_seek: none },
  });
  const module = exports as unknown as OpusModule;
  module._initialize?.();
  return new Opus(module);
}

/**
 * libopus (RFC 6716) as `@evan/opus` has compiled it to WebAssembly, called by its exports rather than by the package's
 * classes: those can neither conceal a lost packet nor decode the copy of it that the next one holds.
 */
export class Opus {
  readonly #module: OpusModule;

  constructor(module: unknown) {
    this.#module = module as OpusModule;
  }

  /** What the codec holds of all its encoders and decoders. */
  get memoryBytes(): number {
    return this.#module.memory.buffer.byteLength;
  }

  encoder(options: OpusEncoderOptions): OpusEncoder {
    return new OpusEncoder(this.#module, options);
  }

  /** @param sampleRateHz what is decoded comes at this rate, whatever was encoded */
  decoder(sampleRateHz: OpusRateHz): OpusDecoder {
    return new OpusDecoder(this.#module, sampleRateHz);
  }
}

/** Mono, in packets of 20 ms. */
export class OpusEncoder {
  readonly #module: OpusModule;
  readonly #samplesPerMs: number;
  readonly #state: number;
  readonly #pcm: number;
  readonly #packet: number;
  #closed = false;

  constructor(module: OpusModule, options: OpusEncoderOptions) {
    const { sampleRateHz, bitrate = 28_000, complexity = 1, expectedLoss = 0.1, dtx = true } = options;
    this.#module = module;
    this.#samplesPerMs = sampleRateHz / 1_000;
    this.#state = module.malloc(module.opus_encoder_get_size(1));
    this.#pcm = module.malloc(LONGEST_FRAME_MS * this.#samplesPerMs * 2);
    this.#packet = module.malloc(MAX_PACKET_BYTES);
    done(module.opus_encoder_init(this.#state, sampleRateHz, 1, APPLICATION_VOIP));
    this.#set(SET_BITRATE, bitrate);
    this.#set(SET_COMPLEXITY, complexity);
    this.#set(SET_DTX, dtx ? 1 : 0);
    this.expectLoss(expectedLoss);
  }

  /** How much is lost on the way, 0..1: from 0 up, each packet holds a coarse copy of the one before it. */
  expectLoss(share: number): void {
    this.#set(SET_INBAND_FEC, share > 0 ? 1 : 0);
    this.#set(SET_PACKET_LOSS_PERC, Math.round(Math.min(Math.max(share, 0), 1) * 100));
  }

  /** @param frame 10, 20, 40 or 60 ms */
  encode(frame: Int16Array): Uint8Array {
    const { length } = frame;
    if (this.#closed || !OPUS_FRAMES_MS.includes(length / this.#samplesPerMs)) {
      throw failed(`a frame of ${String(length)} samples`);
    }
    const { memory } = this.#module;
    new Int16Array(memory.buffer, this.#pcm, length).set(frame);
    const bytes = done(this.#module.opus_encode(this.#state, this.#pcm, length, this.#packet, MAX_PACKET_BYTES));
    return new Uint8Array(memory.buffer, this.#packet, bytes).slice();
  }

  /** May be called twice. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const pointer of [this.#state, this.#pcm, this.#packet]) this.#module.free(pointer);
  }

  #set(request: number, value: number): void {
    done(this.#module.opus_encoder_ctl_set(this.#state, request, value));
  }
}

/** Mono, whatever was encoded. */
export class OpusDecoder {
  readonly sampleRateHz: OpusRateHz;
  readonly #module: OpusModule;
  readonly #state: number;
  readonly #pcm: number;
  readonly #packet: number;
  readonly #maxSamples: number;
  #closed = false;

  constructor(module: OpusModule, sampleRateHz: OpusRateHz) {
    this.sampleRateHz = sampleRateHz;
    this.#module = module;
    this.#maxSamples = (sampleRateHz * MAX_PACKET_MS) / 1_000;
    this.#state = module.malloc(module.opus_decoder_get_size(1));
    this.#pcm = module.malloc(this.#maxSamples * 2);
    this.#packet = module.malloc(MAX_PACKET_BYTES);
    done(module.opus_decoder_init(this.#state, sampleRateHz, 1));
  }

  /** @throws ParleyError AUDIO_UNDECODABLE for an invalid packet; the decoder can continue with the next one */
  decode(packet: Uint8Array): Int16Array {
    return this.#decode(packet, this.#maxSamples, false);
  }

  /** A lost packet: decoded from the copy in the following one if it has one, else concealed. */
  recover(following: Uint8Array, lostMs: number): Int16Array {
    return this.#decode(following, this.#samples(lostMs), true);
  }

  /** Conceals a lost packet. */
  conceal(lostMs: number): Int16Array {
    return this.#decode(null, this.#samples(lostMs), false);
  }

  /** May be called twice. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const pointer of [this.#state, this.#pcm, this.#packet]) this.#module.free(pointer);
  }

  #samples(ms: number): number {
    // The codec supports only multiples of 2.5 ms.
    const steps = Math.max(1, Math.round(ms / 2.5));
    return Math.min((this.sampleRateHz * steps) / 400, this.#maxSamples);
  }

  #decode(packet: Uint8Array | null, samples: number, fec: boolean): Int16Array {
    if (this.#closed) throw failed('the decoder is closed');
    if (packet !== null && (packet.length === 0 || packet.length > MAX_PACKET_BYTES)) {
      throw failed(`a packet of ${String(packet.length)} bytes`);
    }
    const { memory } = this.#module;
    if (packet !== null) new Uint8Array(memory.buffer, this.#packet, packet.length).set(packet);
    const at = packet === null ? 0 : this.#packet;
    const made = this.#module.opus_decode(this.#state, at, packet?.length ?? 0, this.#pcm, samples, fec ? 1 : 0);
    return new Int16Array(memory.buffer, this.#pcm, done(made)).slice();
  }
}

/** Negative results are libopus's error codes. */
function done(result: number): number {
  if (result < 0) throw failed(`libopus error ${String(result)}`);
  return result;
}

function failed(reason: string): ParleyError {
  return new ParleyError('AUDIO_UNDECODABLE', { reason: `Opus: ${reason}` });
}
