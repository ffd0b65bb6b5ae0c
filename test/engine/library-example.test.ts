import { readFileSync } from 'node:fs';
import { decodeWav, Engine, type SessionReport, VirtualClock } from '@parley-voice/parley';
import { expect, it } from 'vitest';
import { answerCall } from '../../examples/library/own-providers.js';
import { packageFile } from '../../src/package-files.js';

it('the example of the README holds a conversation over its own line, with its own model', async () => {
  const clock = new VirtualClock();
  const engine = new Engine({ clock });
  const wav = decodeWav(readFileSync(packageFile('fixtures/audio/booking/slt/yes.wav')));
  let sounding = 0;
  const log: string[] = [];
  const play = (frame: Int16Array | null): void => void (sounding += frame === null ? 0 : 1);
  const { line, report } = await answerCall(engine, play, (text) => log.push(text));
  // The user waits for the greeting, says something, listens to the answer and hangs up.
  const user = new Int16Array(16_000 * 14);
  user.set(wav.samples, 16_000 * 6);
  let position = 0;
  engine.ticker.subscribe(() => {
    if (position >= user.length) line.hangUp();
    line.pushAudio(user.subarray(position, (position += 320)));
  });
  let done: SessionReport | undefined;
  void report.then((value) => (done = value));
  await clock.runUntil(() => done !== undefined, 60_000);
  expect(done?.messages).toEqual([
    { role: 'assistant', content: 'Hello, I am a parrot. What shall I say?' },
    { role: 'user', content: 'yes please' },
    { role: 'assistant', content: 'You said: yes please.' },
  ]);
  expect(log).toEqual(['heard: yes please']);
  expect(sounding).toBeGreaterThan(100);
  await engine.close();
});
