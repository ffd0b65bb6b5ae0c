import { expect } from 'vitest';
import type { Vendors } from '../../../src/settings/vendor-settings.js';
import { RealtimeDouble } from '../realtime/double.js';
import { AzureDouble } from '../tts/azure.js';
import { CartesiaDouble } from '../tts/cartesia.js';
import { DeepgramDouble } from '../tts/deepgram.js';
import { DubverseDouble } from '../tts/dubverse.js';
import { ElevenLabsDouble } from '../tts/elevenlabs.js';
import { OpenAiSpeechDouble } from '../tts/openai.js';
import { RimeDouble } from '../tts/rime.js';
import { type Faults, KEY, type SpeechDouble } from '../tts/speech-double.js';
import { Drive, type Driven } from './drive.js';

const DOUBLES: Readonly<Record<string, () => SpeechDouble>> = {
  elevenlabs: () => new ElevenLabsDouble(),
  cartesia: () => new CartesiaDouble(),
  deepgram: () => new DeepgramDouble(),
  rime: () => new RimeDouble(),
  azure: () => new AzureDouble(),
  openai: () => new OpenAiSpeechDouble(),
  openai_realtime: () => new RealtimeDouble(),
  dubverse: () => new DubverseDouble(),
  kokoro: () => new OpenAiSpeechDouble('kokoro'),
  orpheus: () => new OpenAiSpeechDouble('wav'),
  sesame: () => new OpenAiSpeechDouble('wav'),
};

/** Whom they speak as, where it is not "alloy". */
const VOICE_IDS: Readonly<Record<string, string>> = { deepgram: 'aura-2-thalia-en', dubverse: '182' };
/** Those that are not driven beside the others: who stands in for these, and who has an address that another has. */
const APART = ['cartesia', 'openai_realtime'];

export const VOICES = Object.keys(DOUBLES);

export interface VoiceFault {
  name: string;
  faults: Faults;
  /** Nobody may notice: the same voice goes on. */
  isHarmless?: boolean;
}

/** From the moment on at which the greeting has been heard. */
export const VOICE_FAULTS: readonly VoiceFault[] = [
  { name: 'says nothing', faults: { stall: true } },
  { name: 'falls silent in the middle', faults: { stopAfter: 'stall', pieces: 2 } },
  { name: 'breaks off in the middle', faults: { stopAfter: 'drop', pieces: 2 } },
  { name: 'fails in the middle', faults: { stopAfter: 'error', pieces: 2 } },
  { name: 'sends garbage', faults: { stopAfter: 'garbage', pieces: 1 } },
  { name: 'has let its connections die', faults: { deadConnections: 1 }, isHarmless: true },
  { name: 'refuses the key', faults: { refuse: 401 } },
  { name: 'has too much to do', faults: { refuse: 429 } },
  { name: 'is down', faults: { refuse: 503 } },
];

/** A call with each voice under a fault, all at once. Behind it is another that is healthy, or the embedded one alone. */
export async function driveVoices({ faults }: VoiceFault, second: boolean): Promise<ReadonlyMap<string, Driven>> {
  const results = new Map<string, Driven>();
  // Whoever stands in cannot be driven in the same daemon.
  const callAll = async (standIn: string): Promise<void> => {
    const driven = VOICES.filter((name) => APART.includes(name) !== (standIn === 'cartesia'));
    const doubles = new Map<string, SpeechDouble>();
    for (const name of [standIn, ...driven]) doubles.set(name, await (DOUBLES[name] as () => SpeechDouble)().open());
    const access = [...doubles].map(([name, { url }]) => {
      return [name === 'openai_realtime' ? 'openai' : name, { apiKey: KEY, baseUrl: url, region: null }] as const;
    });
    const vendors: Vendors = Object.fromEntries(access);
    const tts = second ? [{ provider: standIn }] : [];
    const drive = await Drive.open({ vendors, failover: { stt: [], llm: [], tts } });
    try {
      await Promise.all(
        driven.map(async (name) => {
          const double = doubles.get(name) as SpeechDouble;
          const config = { voice: { provider: name, voice_id: VOICE_IDS[name] ?? 'alloy' } };
          results.set(
            name,
            await drive.callInWriting(name, config, () => {
              double.faults = faults;
              // A refusal is met by connections that are made anew.
              if (faults.refuse !== undefined) double.dropAll();
            }),
          );
        }),
      );
      await drive.expectNoKey(KEY);
    } finally {
      await drive.close();
      await Promise.all([...doubles.values()].map((double) => double.close()));
    }
  };
  await Promise.all(['cartesia', 'rime'].map(callAll));
  return results;
}

/** What a caller may have noticed, and what an operator has to learn. */
export function expectSpoken(name: string, driven: Driven, fault: VoiceFault): void {
  const shown = `${name}: ${fault.name}: ${JSON.stringify(driven)}`;
  expect([driven.status === 'error', driven.errorMessage, driven.sounded], shown).toEqual([false, null, true]);
  expect(driven.said.at(-1), shown).toBe('You said: a table for two.');
  if (fault.isHarmless !== true) {
    expect(driven.faults.join(' '), shown).toMatch(new RegExp(`tts\\.fallback: ${name} (->|is asked again)`));
  }
}
