import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeWav } from '../../../src/audio/files/wav.js';
import type { ConversationEvent } from '../../../src/conversation/events.js';
import { packageFile } from '../../../src/package-files.js';
import { vadProvider } from '../../../src/providers/vad/registry.js';
import type { VadProvider } from '../../../src/providers/vad/vad.js';
import { Hearing } from '../../../src/session/hearing/hearing.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { readFixtureLabels } from '../../../src/testing/labels/labels.js';

const FOLDER = fileURLToPath(packageFile('fixtures/audio/voicemail/'));
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.wav'));

/** What is reported while a recording comes in, frame by frame, and when. */
function hear(name: string, vad: VadProvider, wanted: boolean): { event: ConversationEvent; atMs: number }[] {
  const { samples, sampleRateHz } = decodeWav(readFileSync(FOLDER + name));
  const events: { event: ConversationEvent; atMs: number }[] = [];
  let nowMs = 0;
  const hearing = new Hearing(
    { nowMs: () => nowMs, emit: (event) => events.push({ event, atMs: nowMs }) },
    {
      inputRateHz: sampleRateHz,
      vad: vad.createDetector(),
      vadThreshold: 0.5,
      stt: { push: () => undefined, speechStarted: () => undefined, speechStopped: () => undefined },
      hearsBeeps: () => wanted,
    },
  );
  for (let at = 0; at < samples.length; at += sampleRateHz / 50) {
    nowMs += 20;
    hearing.audio(samples.subarray(at, at + sampleRateHz / 50));
  }
  hearing.close();
  return events;
}

beforeAll(() => vadProvider('silero').warmUp());

describe.each([
  ['silero', (): VadProvider => vadProvider('silero')],
  ['energy', (): VadProvider => energyVad()],
])('with the %s VAD', (vadName, vad) => {
  it.each(names)('%s: its beep is reported, once and soon', (name) => {
    const labels = readFixtureLabels(FOLDER + name.replace(/wav$/, 'json'));
    const expected = (labels.events ?? []).filter(({ kind }) => kind === 'beep');
    const beeps = hear(name, vad(), true).flatMap(({ event, atMs }) =>
      event.type === 'beep' ? [{ endMs: event.endMs, atMs }] : [],
    );
    expect(beeps, vadName).toHaveLength(expected.length);
    for (const [index, { endMs }] of expected.entries()) {
      expect(Math.abs((beeps[index]?.endMs ?? 0) - endMs)).toBeLessThan(40);
      expect((beeps[index]?.atMs ?? 0) - endMs).toBeLessThan(140);
    }
  });
});

it('reports none if not needed', () => {
  for (const name of names) {
    expect(hear(name, energyVad(), false).filter(({ event }) => event.type === 'beep')).toEqual([]);
  }
});
