/** Every word that the history says the agent said is in the audio, and no more: the reply is listened to. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resample } from '../../src/audio/dsp/resample.js';
import { decodeWav } from '../../src/audio/files/wav.js';
import { EmbeddedStt } from '../../src/providers/stt/embedded/provider.js';
import { wordErrors } from '../../src/testing/labels/wer.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { Listener } from '../providers/stt/embedded/support.js';
import { utterancesOf } from './played.js';
import { DEMO_AGENT, fixture, inFolder, parley } from './support.js';

let stt: EmbeddedStt;
beforeAll(async () => {
  stt = new EmbeddedStt();
  await stt.warmUp();
}, 30_000);
afterAll(() => stt.close());

/** An utterance: what the history holds of it, what was to be said, and its sound at 16 kHz. */
interface Said {
  history: string;
  meant: string;
  sound: Int16Array;
}

/** Plays a recording as the user, and shares the history among the utterances that were played. */
async function converse(recording: string): Promise<Said[]> {
  return inFolder(async (path) => {
    const args = ['run', '--agent', DEMO_AGENT, '--now', '2026-11-21T12:00:00Z', '--speed', 'max', '--json'];
    const files = ['--in', fixture(recording), '--out', path('r.wav'), '--trace', path('t.jsonl')];
    const { code, out, err } = await parley([...args, ...files]);
    if (code !== 0) throw new Error(err);
    const { messages } = JSON.parse(out) as SessionReport;
    const { samples, sampleRateHz } = decodeWav(await readFile(path('r.wav')));
    const at = (ms: number): number => Math.round((ms * sampleRateHz) / 1000);
    const spoken = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
    let rest = spoken.filter((content) => content !== '').join(' ');
    const all = utterancesOf(await readFile(path('t.jsonl'), 'utf8')).map(({ text, fromMs, toMs }) => {
      let length = 0;
      while (length < text.length && text[length] === rest[length]) length++;
      rest = rest.slice(length).trimStart();
      const sound = resample(samples.subarray(at(fromMs), at(toMs)), sampleRateHz, 16_000);
      return { history: text.slice(0, length), meant: text, sound };
    });
    // Nothing is in the history that was not played.
    expect(rest).toBe('');
    return all;
  });
}

/** What the recogniser makes of each. It expects every utterance of the call alike, in full. */
async function listenTo(all: readonly Said[]): Promise<string[]> {
  const hints = { phrases: all.map(({ meant }) => meant), texts: [], keywords: new Map<string, number>() };
  const listener = await new Listener().open(stt, hints);
  const heard: string[] = [];
  for (const { sound } of all) {
    const known = listener.finals.length;
    await listener.silence(400);
    await listener.speech(sound);
    await listener.settle();
    listener.stream.endTurn();
    // The last final transcript of a segment replaces the ones before.
    const segments = new Map(listener.finals.slice(known).map(({ segment, text }) => [segment, text]));
    heard.push([...segments.values()].join(' '));
  }
  await listener.stream.close();
  return heard;
}

/** As it is spoken. */
function spoken(text: string): string {
  return text.replace('R101', 'R one oh one');
}

/**
 * Measured: 2 words of 69 are misheard in the one recording ("done" as "can", the "oh" of the reference), 3 of 82 in
 * the other. One in an utterance and 5 % in all leave room for that, and none for an utterance, or half of one, that is
 * missing or is another one.
 */
const MOST_ERRORS_IN_ONE = 1;
const MOST_ERRORS = 0.05;

describe.each([
  ['booking/slt/track.wav', 0],
  ['booking/rms/lively.wav', 1],
])('the reply to %s', (recording, cutOff) => {
  let all: Said[];
  let heard: string[];
  beforeAll(async () => {
    all = await converse(recording);
    heard = await listenTo(all);
  }, 240_000);

  it('holds the words of the history', () => {
    let words = 0;
    let errors = 0;
    for (const [index, { history }] of all.entries()) {
      const one = wordErrors(spoken(history), heard[index]!);
      expect(one.errors, `${history} | ${heard[index]!}`).toBeLessThanOrEqual(MOST_ERRORS_IN_ONE);
      words += one.words;
      errors += one.errors;
    }
    expect(words).toBeGreaterThan(60);
    expect(errors / words).toBeLessThan(MOST_ERRORS);
  });

  it('holds no more than these where it was cut off', () => {
    const cut = all.filter(({ history, meant }) => history !== '' && history.length < meant.length);
    expect(cut).toHaveLength(cutOff);
    for (const said of cut) {
      const missing = said.meant.slice(said.history.length).split(' ').length;
      // Against all that was meant, at least the words that are not in the history are missing.
      const { errors } = wordErrors(spoken(said.meant), heard[all.indexOf(said)]!);
      expect(errors).toBeGreaterThanOrEqual(missing);
    }
  });

  it('would not pass for something else', () => {
    const others = all.map(({ history }, index) => wordErrors(spoken(history), heard[(index + 1) % all.length]!));
    const errors = others.reduce((sum, other) => sum + other.errors, 0);
    expect(errors / others.reduce((sum, other) => sum + other.words, 0)).toBeGreaterThan(0.7);
  });
});
