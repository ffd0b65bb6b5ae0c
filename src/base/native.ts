/**
 * The native addon, loaded once per thread. Each of its functions has a fallback in WebAssembly, TypeScript or Node.js.
 * Callers use the fallback when `nativeKernels()` or `nativeUdp()` returns null.
 */
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { reasonOf } from './errors.js';
import { packageFile } from '../package-files.js';

/** The addon's functions. Each checks its arguments first and throws TypeError or RangeError for wrong ones. */
export interface NativeKernels {
  /**
   * G.722: see `G722Encoder` in src/audio/codecs/g722.ts.
   * @param state 64 numbers, initially zero; updated in place
   * @param out half as long as `samples`
   */
  g722Encode(state: Int32Array, samples: Int16Array, out: Uint8Array): void;
  /** Decodes G.722. @param out twice as long as `codes` */
  g722Decode(state: Int32Array, codes: Uint8Array, out: Int16Array): void;
  /** The inner loop of resampling: see `Polyphase` in src/audio/dsp/resample.ts. */
  readonly polyphase: (
    history: Float64Array,
    coefficients: Float64Array,
    out: Int16Array,
    count: number,
    start: number,
    phase: number,
    phases: number,
    step: number,
    rows: number,
  ) => void;
  /** Loads Silero VAD's weights, in the order of `SILERO_LAYOUT`. Only the first call in the process copies them. */
  sileroLoad(weights: Float32Array): void;
  /** Returns the probability of speech in 512 samples and updates the stream's state (`SILERO_STATE` floats). */
  sileroWindow(state: Float32Array, samples: Int16Array): number;
  /** The same for `count` streams at once, concatenated in each array. */
  sileroWindows(states: Float32Array, samples: Int16Array, count: number, probabilities: Float32Array): void;
}

/**
 * The addon's UDP sockets (not on Windows): see src/transports/rtp/socket.ts. Inboxes and sockets are numbers. Calls with
 * the number of a closed socket do nothing. The lower 16 bits of a socket's number are a slot, which later sockets reuse.
 */
export interface NativeUdp {
  /**
   * Creates an inbox. It lives as long as its thread and does not keep the process running.
   * @param bytes receives the datagrams
   * @param arrivals receives five numbers per datagram: its socket, its offset, its length (at most 4160; the rest is cut
   *   off), its source port, and 1 if its source differs from that of the previous datagram, else 0
   * @param onArrivals called once per turn of the event loop with arrivals; both arrays belong to it until it returns
   */
  udpStart(bytes: Uint8Array, arrivals: Int32Array, onArrivals: (count: number) => void): number;
  /** Opens a socket. @throws the system's error, with its `code` */
  udpOpen(inbox: number, address: string, port: number): number;
  /** Starts reading and keeps the process running. Earlier datagrams wait in the system's buffer. */
  udpListen(socket: number): void;
  /** The local port. */
  udpPort(socket: number): number;
  /** The source address of the n-th arrival; only while `onArrivals` runs. */
  udpSource(inbox: number, arrival: number): string;
  /** Sets the destination. Returns false if it cannot be sent to. */
  udpAim(socket: number, address: string, port: number): boolean;
  /** Sends to the destination. A datagram that cannot be sent is lost. */
  udpSend(socket: number, datagram: Uint8Array): void;
  udpClose(socket: number): void;
}

export interface NativeStatus {
  readonly loaded: boolean;
  /** `loaded`, or why the addon is not in use and how to change that. */
  readonly reason: string;
}

/** Every function of `NativeKernels`. An addon that lacks one comes from older sources and is not used. */
const KERNEL_NAMES: readonly (keyof NativeKernels)[] = [
  ...(['g722Encode', 'g722Decode', 'polyphase', 'sileroLoad', 'sileroWindow', 'sileroWindows'] as const),
];

const UDP_NAMES: readonly (keyof NativeUdp)[] = [
  ...(['udpStart', 'udpOpen', 'udpListen', 'udpPort', 'udpSource', 'udpAim', 'udpSend', 'udpClose'] as const),
];

const ADDON_PATH = 'native/build/Release/parley.node';

const { kernels, udp, reason } = load();

/** The addon's functions; null if it is absent, unusable or disabled by `PARLEY_NATIVE=0`. */
export function nativeKernels(): NativeKernels | null {
  return kernels;
}

/** The addon's sockets; null if it is not used or has none. */
export function nativeUdp(): NativeUdp | null {
  return udp;
}

export function nativeStatus(): NativeStatus {
  return { loaded: kernels !== null, reason };
}

function load(): { kernels: NativeKernels | null; udp: NativeUdp | null; reason: string } {
  const without = (why: string) => ({ kernels: null, udp: null, reason: why });
  if (process.env['PARLEY_NATIVE'] === '0') return without('disabled by PARLEY_NATIVE=0');
  const file = fileURLToPath(packageFile(ADDON_PATH));
  if (!existsSync(file)) return without("not built; run `node native/build.mjs` in the package's folder");
  let addon: Partial<NativeKernels & NativeUdp>;
  try {
    addon = createRequire(import.meta.url)(file) as typeof addon;
  } catch (error) {
    return without(`does not load: ${reasonOf(error)}`);
  }
  const missing = KERNEL_NAMES.filter((name) => typeof addon[name] !== 'function');
  if (missing.length > 0) {
    return without(`built from older sources, without ${missing.join(', ')}; run \`node native/build.mjs\``);
  }
  const hasSockets = UDP_NAMES.every((name) => typeof addon[name] === 'function');
  return { kernels: addon as NativeKernels, udp: hasSockets ? (addon as NativeUdp) : null, reason: 'loaded' };
}
