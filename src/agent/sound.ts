import type { AgentConfig } from './agent.js';

/** What an agent's configuration says about the sound of its calls. */
export interface ResolvedSound {
  /** The call is recorded. */
  recording: boolean;
  /** Null = none that could be heard. */
  background: { url: string; volume: number } | null;
  /** Null = everybody hears the line as it is. `strength`: above 0, up to 1. */
  denoise: { strength: number; vad: boolean; stt: boolean } | null;
}

export function soundOf(config: AgentConfig): ResolvedSound {
  const { enable_recording = false, background } = config.call_settings ?? {};
  const volume = background?.volume ?? 1;
  return {
    recording: enable_recording === true && recordingAllowed(config),
    background: background == null || background.url === '' || volume === 0 ? null : { url: background.url, volume },
    denoise: denoiseOf(config),
  };
}

function denoiseOf({ speech_to_text }: AgentConfig): ResolvedSound['denoise'] {
  const { strength, applies_to } = speech_to_text?.denoiser?.settings ?? {};
  const appliesTo = applies_to ?? 'stt';
  if (speech_to_text?.denoise !== true || strength === 0) return null;
  return { strength: strength ?? 1, vad: appliesTo !== 'stt', stt: appliesTo !== 'vad' };
}

/** Nothing is recorded of those who opted out, whatever else the configuration asks for. */
export function recordingAllowed({ privacy_settings }: AgentConfig): boolean {
  return privacy_settings?.opt_out_data_collection !== true;
}
