/**
 * The native addon, loaded once for each thread. Everything it does also has a WASM or TypeScript twin; whoever has
 * both asks `nativeKernels()` and takes the twin when it gives null.
 */
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { reasonOf } from './errors.js';
import { packageFile } from './package-files.js';

/** The addon's functions. Each throws TypeError or RangeError, before it does any work, when an argument is wrong. */
export interface NativeKernels {
  /** The inner loop of resampling: see `Polyphase` in src/audio/polyphase.ts. */
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
}

export interface NativeStatus {
  readonly loaded: boolean;
  /** Why, for the line that start-up prints: `loaded`, or what stood in the way and how to change it. */
  readonly reason: string;
}

/** Every function of `NativeKernels`: an addon that lacks one was built from older sources and is not used. */
const KERNEL_NAMES: readonly (keyof NativeKernels)[] = ['polyphase', 'sileroLoad', 'sileroWindow'];

const ADDON_PATH = 'native/build/Release/parley.node';

const { kernels, reason } = load();

/** The addon's functions, or null when it is absent, unusable or switched off by `PARLEY_NATIVE=0`. */
export function nativeKernels(): NativeKernels | null {
  return kernels;
}

/** Whether the addon is in use, and why. */
export function nativeStatus(): NativeStatus {
  return { loaded: kernels !== null, reason };
}

function load(): { kernels: NativeKernels | null; reason: string } {
  if (process.env['PARLEY_NATIVE'] === '0') return { kernels: null, reason: 'switched off by PARLEY_NATIVE=0' };
  const file = fileURLToPath(packageFile(ADDON_PATH));
  if (!existsSync(file))
    return { kernels: null, reason: "not built; `node native/build.mjs` in the package's folder says why" };
  let addon: Partial<NativeKernels>;
  try {
    addon = createRequire(import.meta.url)(file) as Partial<NativeKernels>;
  } catch (error) {
    return { kernels: null, reason: `does not load: ${reasonOf(error)}` };
  }
  const missing = KERNEL_NAMES.filter((name) => typeof addon[name] !== 'function');
  if (missing.length > 0) {
    return {
      kernels: null,
      reason: `built from older sources, without ${missing.join(', ')}; run \`node native/build.mjs\``,
    };
  }
  return { kernels: addon as NativeKernels, reason: 'loaded' };
}
