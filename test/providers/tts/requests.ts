import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
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
export async function speakAll(provider: Pick<TtsProvider, 'synthesize'>, request: TtsRequest): Promise<Spoken> {
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

/** The same in virtual time, and when each block came. `samples` are in base64: comparing them one by one is slow. */
export async function speakInVirtualTime(provider: TtsProvider, text: string) {
  const clock = new VirtualClock();
  const blocks: { atMs: number; samples: string; sampleRateHz: number; words: readonly TtsWord[] }[] = [];
  let done = false;
  const work = (async () => {
    for await (const { samples, sampleRateHz, words = [] } of provider.synthesize(requestFor(text, { clock }))) {
      const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
      blocks.push({ atMs: clock.nowMs(), samples: bytes.toString('base64'), sampleRateHz, words });
    }
    done = true;
  })();
  await provider.warmUp();
  if (!(await clock.runUntil(() => done, 60_000))) throw new Error('not done within a minute');
  await work;
  return { blocks, pending: clock.pending };
}

/** Aborts a request once it has given its first block: how it ended, and how many blocks came. */
export async function abortAfterFirstBlock(provider: TtsProvider, text: string) {
  const gone = new AbortController();
  let blocks = 0;
  const work = (async () => {
    for await (const block of provider.synthesize(requestFor(text, { signal: gone.signal }))) {
      if (block.samples.length > 0) blocks++;
      gone.abort(new Error('barge-in'));
    }
  })();
  return { error: await work.then(null, (error: unknown) => error), blocks };
}

/** What the tests of a file open and make: closed and removed after each of them. */
export function tidyUpAfterEach() {
  const opened: TtsProvider[] = [];
  const folders: string[] = [];
  afterEach(async () => {
    for (const provider of opened.splice(0)) await provider.close();
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });
  return {
    open<T extends TtsProvider>(provider: T): T {
      opened.push(provider);
      return provider;
    },
    async makeFolder(): Promise<string> {
      const folder = await mkdtemp(join(tmpdir(), 'parley-tts-'));
      folders.push(folder);
      return folder;
    },
  };
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
