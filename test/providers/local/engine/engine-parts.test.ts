import { expect, it } from 'vitest';
import type { EngineReply } from '../../../../src/providers/local/engine/engine-protocol.js';
import type { SherpaTtsEngine } from '../../../../src/providers/local/sherpa-package.js';
import { Speaker } from '../../../../src/providers/local/engine/engine-parts.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('is settled when no sentence is made: one that takes for ever is a sign of death', async () => {
  const replies: EngineReply[] = [];
  const made: (() => void)[] = [];
  const tts: SherpaTtsEngine = {
    sampleRate: 16_000,
    numSpeakers: 1,
    generateAsync: ({ onProgress }) => {
      onProgress({ samples: new Float32Array(2) });
      return new Promise<void>((resolve) => made.push(resolve));
    },
  };
  const speaker = new Speaker(tts, (reply) => replies.push(reply));
  let isSettled = false;
  const settle = async (): Promise<void> => {
    await speaker.settled();
    isSettled = true;
  };
  await settle();
  for (const id of [1, 2]) speaker.take({ type: 'speak', id, text: 'a', speaker: 0, rate: 1, language: null });
  await turn();
  isSettled = false;
  void settle();
  await turn();
  expect([isSettled, replies.map(({ type }) => type)]).toEqual([false, ['audio']]);
  made[0]?.();
  await turn();
  // The next one is another matter.
  expect(isSettled).toBe(true);
  await turn();
  expect(replies.map((reply) => [reply.type, 'id' in reply && reply.id])).toEqual([
    ['audio', 1],
    ['done', 1],
    ['audio', 2],
  ]);
});
