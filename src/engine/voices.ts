import { HEARING_RATE_HZ, joinedSamples } from '../audio/frame.js';
import { withTimeout } from '../base/deadlines.js';
import { RealClock } from '../base/real-clock.js';
import { EMBEDDED_DEFAULTS } from '../agent/resolve.js';
import { TTS_PROVIDERS } from '../providers/tts/registry.js';
import type { EngineVoice, Speech, SpeechRequest } from './options.js';
import type { EngineServices } from './services.js';

/** Deadline for a provider to list its voices. */
const VOICES_MS = 5_000;

/** See `Engine.speech`. */
export async function synthesizeSpeech(
  { options, providers }: EngineServices,
  request: SpeechRequest,
): Promise<Speech> {
  const defaults = { ...EMBEDDED_DEFAULTS, ...options.defaults };
  const { text, signal } = request;
  const language = request.language ?? defaults.language;
  const voice = { voiceId: request.voiceId ?? null, model: request.model ?? null, settings: request.settings ?? {} };
  const tts = providers.tts(request.provider ?? defaults.voiceProvider);
  await tts.warmUp({ language, ...voice });
  const pieces: Int16Array[] = [];
  let sampleRateHz = HEARING_RATE_HZ;
  // Real time, because this speech is not part of a conversation.
  const clock = new RealClock();
  for await (const audio of tts.synthesize({ text, language, ...voice, clock, signal })) {
    sampleRateHz = audio.sampleRateHz;
    pieces.push(audio.samples.slice());
  }
  return { samples: joinedSamples(pieces), sampleRateHz };
}

/** See `Engine.voices`. A provider that is not on this machine or is late has none. */
export async function listVoices({ providers, networkClock }: EngineServices): Promise<EngineVoice[]> {
  const listed = TTS_PROVIDERS.map(async (name) => {
    const provider = providers.tts(name);
    // Some providers fetch their voices on first use.
    const fetched = provider.speaks?.(EMBEDDED_DEFAULTS.language) ?? Promise.resolve(true);
    await withTimeout(networkClock, VOICES_MS, () => fetched);
    // espeak-ng lists some voices twice.
    const ids = new Set<string>();
    const account = (await provider.accountVoices?.()) ?? [];
    const isNew = ({ id }: EngineVoice): boolean => !ids.has(id) && ids.add(id).size > 0;
    return [...account, ...provider.voices()].map((voice) => ({ ...voice, provider: name })).filter(isNew);
  });
  const found = await Promise.allSettled(listed);
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}
