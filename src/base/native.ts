/**
 * The native addon, loaded once for each thread. Everything it does also has a twin, in WASM or TypeScript or of
 * Node's; whoever has both asks `nativeKernels()` or `nativeUdp()` and takes the twin when it gives null.
 */
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { reasonOf } from './errors.js';
import { packageFile } from '../package-files.js';

/** The addon's functions. Each throws TypeError or RangeError, before it does any work, when an argument is wrong. */
export interface NativeKernels {
  /**
   * G.722: see `G722Encoder` in src/audio/codecs/g722.ts.
   * @param state 64 numbers, zeros at first; brought up to date
   * @param out half as long as `samples`
   */
  g722Encode(state: Int32Array, samples: Int16Array, out: Uint8Array): void;
  /** The other way. @param out twice as long as `codes` */
  g722Decode(state: Int32Array, codes: Uint8Array, out: Int16Array): void;
  /** The inner loop of resampling: see `Polyphase` in src/audio/dsp/polyphase.ts. */
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
  /** Silero VAD's weights, in the order of `SILERO_LAYOUT`: copied by the first call in the process. */
  sileroLoad(weights: Float32Array): void;
  /** The probability of speech in 512 samples; brings a stream's memory (`SILERO_STATE` floats) up to date. */
  sileroWindow(state: Float32Array, samples: Int16Array): number;
  /** The same of `count` streams at once, one behind another in each array. */
  sileroWindows(states: Float32Array, samples: Int16Array, count: number, probabilities: Float32Array): void;
}

/**
 * UDP sockets of the addon, which it does not have on Windows: see src/transports/rtp/socket.ts. Inboxes and sockets are
 * numbers; a number that is no socket's (any more) does nothing. The lower 16 bits of a socket's number are those of a
 * place, which others have after it.
 */
export interface NativeUdp {
  /**
   * Makes an inbox. It lasts as long as its thread, and does not keep the process running.
   * @param bytes where datagrams are put
   * @param arrivals where each is described by five numbers: its socket, where it begins, how long it is (4160 at most: the
   *   rest is cut off), the port that it came from, and whether it came from elsewhere than the one before it: 0 or 1
   * @param onArrivals called once for each turn of the event loop in which something came; both arrays are its own until
   *   it returns
   */
  udpStart(bytes: Uint8Array, arrivals: Int32Array, onArrivals: (count: number) => void): number;
  /** Opens a socket. @throws the system's error, with its `code` */
  udpOpen(inbox: number, address: string, port: number): number;
  /** From now on it is read, and keeps the process running. What comes before waits, as far as the system has room. */
  udpListen(socket: number): void;
  /** The port that it is bound to. */
  udpPort(socket: number): number;
  /** The address that the n-th arrival came from; while `onArrivals` runs. */
  udpSource(inbox: number, arrival: number): string;
  /** Says where it sends to. False where nothing can be sent there. */
  udpAim(socket: number, address: string, port: number): boolean;
  /** Sends to where it aims. What cannot be sent is lost. */
  udpSend(socket: number, datagram: Uint8Array): void;
  udpClose(socket: number): void;
}

export interface NativeStatus {
  readonly loaded: boolean;
  /** Why, for the line that start-up prints: `loaded`, or the reason why not and how to change it. */
  readonly reason: string;
}

/** Every function of `NativeKernels`: an addon that lacks one was built from older sources and is not used. */
const KERNEL_NAMES: readonly (keyof NativeKernels)[] = [
  ...(['g722Encode', 'g722Decode', 'polyphase', 'sileroLoad', 'sileroWindow', 'sileroWindows'] as const),
];

const UDP_NAMES: readonly (keyof NativeUdp)[] = [
  ...(['udpStart', 'udpOpen', 'udpListen', 'udpPort', 'udpSource', 'udpAim', 'udpSend', 'udpClose'] as const),
];

const ADDON_PATH = 'native/build/Release/parley.node';

const { kernels, udp, reason } = load();

/** The addon's functions, or null when it is absent, unusable or switched off by `PARLEY_NATIVE=0`. */
export function nativeKernels(): NativeKernels | null {
  return kernels;
}

/** The addon's sockets, or null where it is not used or has none. */
export function nativeUdp(): NativeUdp | null {
  return udp;
}

/** Whether the addon is in use, and why. */
export function nativeStatus(): NativeStatus {
  return { loaded: kernels !== null, reason };
}

function load(): { kernels: NativeKernels | null; udp: NativeUdp | null; reason: string } {
  const without = (why: string) => ({ kernels: null, udp: null, reason: why });
  if (process.env['PARLEY_NATIVE'] === '0') return without('switched off by PARLEY_NATIVE=0');
  const file = fileURLToPath(packageFile(ADDON_PATH));
  if (!existsSync(file)) return without("not built; `node native/build.mjs` in the package's folder says why");
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
