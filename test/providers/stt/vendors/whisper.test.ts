import { afterEach, beforeEach, expect, it } from 'vitest';
import { WhisperStt, readTranscription } from '../../../../src/providers/stt/vendors/whisper.js';
import { joined, silence, spoken } from '../../../vendors/stt/spoken-words.js';
import { WhisperDouble } from '../../../vendors/stt/whisper.js';
import { Caller } from './caller.js';
import { KEY } from './cases.js';

let double: WhisperDouble;
let stt: WhisperStt;
let caller: Caller;

beforeEach(async () => {
  double = new WhisperDouble(KEY);
  stt = new WhisperStt({ baseUrl: await double.listen(), apiKey: KEY, interimMs: 0, model: 'large-v3' });
  caller = new Caller();
});

afterEach(async () => {
  await stt.close();
  await double.close();
  expect(double.violations).toEqual([]);
});

/** Speech of so many seconds, without a pause. */
const speech = (words: number): Int16Array => spoken(Array.from({ length: words }, () => 'yes').join(' '));

it('hears a turn anew when the user goes on after a pause, and takes no part of it twice', async () => {
  await caller.open(stt);
  caller.say(spoken('a table'));
  await caller.final();
  caller.hear(silence(500));
  caller.say(spoken('for two'));
  expect((await caller.final(1)).text).toBe('a table for two');
  expect(double.asked.map(({ model }) => model)).toEqual(['large-v3', 'large-v3']);
});

it('cuts a long turn at a pause, and one without pauses when Whisper could hear no more', async () => {
  await caller.open(stt);
  caller.say(speech(60));
  expect((await caller.final()).text.split(' ')).toHaveLength(60);
  caller.hear(silence(300));
  caller.say(spoken('for two'));
  expect((await caller.final(1)).text).toMatch(/^(yes ){60}for two$/);
  caller.stream.endTurn();
  caller.say(joined([speech(120), spoken('stop')]));
  const { text } = await caller.final(2);
  // A word may lie on the cut.
  expect(text.split(' ').length).toBeGreaterThanOrEqual(120);
  expect(text).toMatch(/^(yes ){119,121}stop$/);
});

it('does without the times of words where the server has none, and asks for them no more', async () => {
  double.plainOnly = true;
  await caller.open(stt);
  caller.say(spoken('yes'));
  expect(await caller.final()).toMatchObject({ text: 'yes', confidence: null });
  expect((await caller.final()).words).toBeUndefined();
  expect(double.asked).toHaveLength(2);
  caller.say(spoken('no'));
  await caller.final(1);
  expect(double.asked).toHaveLength(3);
});

it('gives up a request that is overtaken', async () => {
  await caller.open(stt);
  double.faults.stalled = true;
  caller.say(spoken('a table'));
  await double.until(() => double.asked.length === 1, 'a request');
  double.faults.stalled = false;
  caller.say(spoken('for two'));
  expect((await caller.final()).text).toBe('a table for two');
  await double.until(() => double.cut === 1, 'the end of the first request');
});

it('leaves out what was made up from noise', () => {
  const segment = (text: string, noSpeech: number, logprob: number): object => ({
    text,
    no_speech_prob: noSpeech,
    avg_logprob: logprob,
  });
  const good = segment(' A table.', 0.1, -0.2);
  const noise = segment(' Thank you for watching!', 0.9, -1.5);
  expect(readTranscription({ text: ' A table. Thank you for watching!', segments: [good, noise] })).toMatchObject({
    text: 'A table.',
    words: [],
  });
  expect(readTranscription({ text: 'x', segments: [noise] })).toMatchObject({ text: '' });
  expect(readTranscription({ text: 'x', segments: [segment(' x', 0.9, -0.1)] })?.confidence).toBeCloseTo(0.905, 3);
  expect(readTranscription({ words: [] })).toBeNull();
  expect(readTranscription(null)).toBeNull();
});

it('warms up, and tells of a refused key', async () => {
  await stt.warmUp();
  const wrong = new WhisperStt({ baseUrl: double.url, apiKey: 'wrong-0123456789' });
  const error: unknown = await wrong.warmUp().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'PROVIDER_REFUSED' });
  expect((error as Error).message).not.toContain('wrong-0123');
  await wrong.close();
});
