import { expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { UtteranceStitcher } from '../../../src/providers/failover/tts.js';
import type { TtsAudio, TtsWord } from '../../../src/providers/tts/tts.js';

const word = (text: string, startMs: number): TtsWord => ({ text, startMs, endMs: startMs + 100 });

/** So many milliseconds of audio with these words. */
const audio = (ms: number, ...words: TtsWord[]): TtsAudio => ({
  samples: new Int16Array(ms * 16),
  sampleRateHz: 16_000,
  ...(words.length > 0 && { words }),
});

async function* from(...pieces: (TtsAudio | Error)[]): AsyncGenerator<TtsAudio, void, undefined> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield piece;
  }
}

it('tells each word once, when it is first spoken, whoever says it again', async () => {
  const take = new UtteranceStitcher(new VirtualClock());
  const reported: TtsWord[] = [];
  const play = async (pieces: AsyncGenerator<TtsAudio, void, undefined>): Promise<void> => {
    for await (const { words } of take.play(pieces, () => 'voice')) reported.push(...(words ?? []));
  };
  expect(take.hasBegun).toBe(false);
  await expect(play(from(audio(300, word('We', 0), word('open', 150)), new Error('off')))).rejects.toThrow('off');
  expect(take.hasBegun).toBe(true);
  take.again();
  await play(
    from(audio(0), audio(200, word('We', 0)), audio(400, word('open', 120), word('at', 240), word('noon.', 400))),
  );
  expect(reported).toEqual([word('We', 0), word('open', 150), word('at', 540), word('noon.', 700)]);
});

it('lets go of what it plays when nobody listens any more', async () => {
  const take = new UtteranceStitcher(new VirtualClock());
  let ended = false;
  const pieces = (async function* () {
    try {
      for (;;) yield audio(20);
    } finally {
      ended = true;
    }
  })();
  for await (const piece of take.play(pieces, () => 'voice')) if (piece.samples.length > 0) break;
  expect(ended).toBe(true);
});
