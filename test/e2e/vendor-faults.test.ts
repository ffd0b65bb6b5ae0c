import { expect, it } from 'vitest';
import { driveRecognisers, expectEndured, FAULTS, RECOGNISERS } from '../vendors/drive/recognisers.js';
import { driveVoices, expectSpoken, VOICE_FAULTS, VOICES } from '../vendors/drive/voices.js';

/** One of each kind, in which time plays no part; all of them take minutes: `npm run test:vendors`. */
const named = <T extends { name: string }>(all: readonly T[], name: string): T =>
  all.find((one) => one.name === name) as T;

it('a call goes on where its recogniser is closed for good in mid-sentence, whichever it is, and no key shows', async () => {
  const fault = named(FAULTS, 'closes with a code that will not pass');
  const results = await driveRecognisers(fault, true);
  expect(results.size).toBe(RECOGNISERS.length);
  for (const [name, driven] of results) expectEndured(name, driven, fault, true);
});

it("a call goes on where its voice's key is not taken any more, whichever it is, and no key shows", async () => {
  const fault = named(VOICE_FAULTS, 'refuses the key');
  const results = await driveVoices(fault, false);
  expect(results.size).toBe(VOICES.length);
  for (const [name, driven] of results) expectSpoken(name, driven, fault);
});
