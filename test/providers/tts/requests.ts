import { RealClock } from '../../../src/clock/real.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsWord } from '../../../src/providers/tts/tts.js';

/** A request with everything that a test does not care about. */
export function requestFor(text: string, parts: Partial<TtsRequest> = {}): TtsRequest {
  return {
    text,
    language: 'en-US',
    voiceId: null,
    model: null,
    settings: {},
    clock: new RealClock(),
    signal: new AbortController().signal,
    ...parts,
  };
}

export interface Spoken {
  blocks: TtsAudio[];
  samples: Int16Array;
  sampleRateHz: number;
  durationMs: number;
  words: TtsWord[];
}

/** Takes all of a request's audio. */
export async function speakAll(provider: TtsProvider, request: TtsRequest): Promise<Spoken> {
  const blocks: TtsAudio[] = [];
  for await (const block of provider.synthesize(request)) blocks.push(block);
  return spokenOf(blocks);
}

function spokenOf(blocks: TtsAudio[]): Spoken {
  const samples = Int16Array.from(blocks.flatMap((block) => [...block.samples]));
  const sampleRateHz = blocks[0]?.sampleRateHz ?? 0;
  const durationMs = sampleRateHz === 0 ? 0 : (samples.length * 1000) / sampleRateHz;
  return { blocks, samples, sampleRateHz, durationMs, words: blocks.flatMap((block) => block.words ?? []) };
}

/** The code of the error that `work` ends with. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return (error as { code?: unknown }).code ?? error;
  }
  return 'no error';
}
