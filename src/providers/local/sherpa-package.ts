/** The part of `sherpa-onnx-node` 1.13 that parley uses (documented in its lib/types.js). The package has no types. */
export interface SherpaPackage {
  OnlineRecognizer: new (config: object) => SherpaOnlineRecognizer;
  OfflineRecognizer: new (config: object) => SherpaOfflineRecognizer;
  OfflineTts: new (config: object) => SherpaTtsEngine;
  OnlineSpeechDenoiser: new (config: object) => SherpaDenoiserEngine;
  version: string;
}

interface Waveform {
  samples: Float32Array;
  sampleRate: number;
}

export interface SherpaOnlineRecognizer {
  createStream(): SherpaOnlineStream;
  isReady(stream: SherpaOnlineStream): boolean;
  decodeStreams(streams: readonly SherpaOnlineStream[]): void;
  getResult(stream: SherpaOnlineStream): SherpaResult;
}

export interface SherpaOnlineStream {
  acceptWaveform(audio: Waveform): void;
}

export interface SherpaOfflineRecognizer {
  /** Hotwords, separated by slashes; for transducers with beam search only. */
  createStream(hotwords?: string): SherpaOnlineStream;
  setConfig(config: object): void;
  decode(stream: SherpaOnlineStream): void;
  getResult(stream: SherpaOnlineStream): SherpaResult;
}

export interface SherpaResult {
  text: string;
  tokens?: readonly string[];
  /** Seconds. */
  timestamps?: readonly number[];
  ys_probs?: readonly number[];
  ys_log_probs?: readonly number[];
}

export interface SherpaTtsEngine {
  readonly sampleRate: number;
  readonly numSpeakers: number;
  generateAsync(request: {
    text: string;
    sid: number;
    speed: number;
    /** Replaces the members above; `lang` is for Kokoro. */
    generationConfig?: { sid: number; speed: number; extra: { lang: string } } | undefined;
    enableExternalBuffer: boolean;
    /** False = stop. */
    onProgress: (piece: { samples: Float32Array }) => boolean;
  }): Promise<unknown>;
}

export interface SherpaDenoiserEngine {
  readonly sampleRate: number;
  run(audio: Waveform & { enableExternalBuffer: boolean }): Waveform;
}

export const SHERPA_PACKAGE = 'sherpa-onnx-node';
/** How to install it: an optional peer dependency (package.json). */
export const SHERPA_INSTALL = `npm install ${SHERPA_PACKAGE}@1.13.8 beside parley`;

/** Why local models cannot run here; null = nothing is known to prevent it without loading the package. */
export function sherpaMissing(): string | null {
  const { platform, arch } = process;
  const build = `sherpa-onnx-${platform === 'win32' ? 'win' : platform}-${arch}`;
  for (const [name, missing] of [
    [SHERPA_PACKAGE, `the package ${SHERPA_PACKAGE} is not installed`],
    [build, `${SHERPA_PACKAGE} has no build for ${platform} on ${arch}, or it was left out`],
  ] as const) {
    try {
      import.meta.resolve(name);
    } catch {
      return missing;
    }
  }
  return null;
}

/** Throws if it is not installed, or does not support this machine. */
export async function loadSherpa(): Promise<SherpaPackage> {
  const entry = import.meta.resolve(SHERPA_PACKAGE);
  const loaded = (await import(entry)) as { default: SherpaPackage };
  return loaded.default;
}
