import { readFileSync } from 'node:fs';
import { decodeWav, Engine, type SessionReport, VirtualClock } from '@parley-voice/parley';
import { MemoryCaller } from '@parley-voice/parley/testing';
import { afterAll, expect, it } from 'vitest';
import { answerCall } from '../../examples/library/own-providers.js';
import { recordCall } from '../../examples/library/record-call.js';
import { packageFile } from '../../src/package-files.js';

const clock = new VirtualClock();
const engine = new Engine({ clock });
afterAll(() => engine.close());
const YES = decodeWav(readFileSync(packageFile('fixtures/audio/booking/slt/yes.wav'))).samples;

it('the example of the README holds a conversation over its own line, with its own model', async () => {
  let sounding = 0;
  const log: string[] = [];
  const play = (frame: Int16Array | null): void => void (sounding += frame === null ? 0 : 1);
  const { line, report } = await answerCall(engine, play, (text) => log.push(text));
  // The user says something after the greeting, and the line brings no silence: the turn ends nevertheless.
  clock.schedule(clock.nowMs() + 6000, () => line.pushAudio(YES));
  clock.schedule(clock.nowMs() + 11_000, () => line.hangUp());
  let done: SessionReport | undefined;
  void report.then((value) => (done = value));
  await clock.runUntil(() => done !== undefined, clock.nowMs() + 60_000);
  expect(done?.messages).toEqual([
    { role: 'assistant', content: 'Hello, I am a parrot. What shall I say?' },
    { role: 'user', content: 'yes please' },
    { role: 'assistant', content: 'You said: yes please.' },
  ]);
  expect(log).toEqual(['heard: yes please']);
  expect(sounding).toBeGreaterThan(100);
});

it('a caller in memory speaks and is silent, and the example of docs/library.md records both sides', async () => {
  const caller = new MemoryCaller(engine);
  const agent = { prompt: 'You are the desk.', first_message: 'Hello.' };
  const session = await engine.createSession({
    agent: { ...agent, llm: { model: 'scripted' } },
    script: { rules: [{ when: 'open', say: 'At noon.' }] },
    transport: caller.line,
  });
  const words: string[] = [];
  session.on('user', ({ text }) => words.push(text));
  session.on('answered', () => void clock.schedule(clock.nowMs() + 1500, () => caller.hangUp()));
  let wav: Uint8Array | undefined;
  void recordCall(session).then((file) => (wav = file));
  const finished = session.run();
  clock.schedule(clock.nowMs() + 2500, () => void caller.says('When do you open?'));
  await clock.runUntil(() => wav !== undefined, clock.nowMs() + 30_000);
  expect(words.join(' ')).toContain('open');
  expect((await finished).messages.at(-1)?.content).toBe('At noon.');
  const spoken = (channel: number): [number, number] => {
    const { samples, sampleRateHz } = decodeWav(wav ?? new Uint8Array(), { channel });
    expect(sampleRateHz).toBe(16_000);
    return [samples.findIndex((sample) => Math.abs(sample) > 1000), samples.length];
  };
  const [[user, userEnd], [greeting, agentEnd]] = [spoken(0), spoken(1)];
  expect(greeting).toBeLessThan(2 * 16_000);
  expect(user).toBeGreaterThan(2.5 * 16_000);
  expect(Math.abs(userEnd - agentEnd)).toBeLessThan(1600);
});
