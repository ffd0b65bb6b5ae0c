/**
 * What `custom_vocabulary` does for the embedded recogniser: word error rates, and how many of the words in question
 * are heard, with the same words at several weights and without them. A word of weight below 0 is one that is heard
 * where another was said.
 *
 *   npm run build && node bench/run.mjs vocabulary
 */
import { resample } from '../dist/audio/dsp/resample.js';
import { RealClock } from '../dist/base/real-clock.js';
import { EmbeddedStt } from '../dist/providers/stt/embedded/provider.js';
import type { SttTranscript } from '../dist/providers/stt/stt.js';
import { FliteTts } from '../dist/providers/tts/flite/flite.js';
import { wordErrors } from '../dist/testing/labels/wer.js';
import { HINTS } from './lib/restaurant-hints.js';

const RATE_HZ = 16_000;
const WEIGHTS = [0, 1, 5, 20];
/** Words that the restaurant's hints do not have, and sentences around them. */
const FAVOURED = ['gnocchi', 'kowalski', 'gorgonzola', 'wheelchair', 'anniversary', 'deposit'];
const SENTENCES = [
  'Do you have gnocchi tonight?',
  'The name is Kowalski.',
  'Is there gorgonzola on the menu?',
  'We need a table for a wheelchair.',
  'It is for our anniversary.',
  'Do I have to pay a deposit?',
  'I would like the gnocchi, please.',
  'A table for four, the name is Kowalski.',
];
/** A digit alone, which is heard as the little word that sounds alike. */
const ALONE: readonly [said: string, rival: string][] = [
  ['Four.', 'for'],
  ['Two.', 'to'],
];

const clock = new RealClock();
const signal = new AbortController().signal;
const stt = new EmbeddedStt();
const tts = new FliteTts();

async function speak(text: string, voiceId: string): Promise<Int16Array> {
  const parts: number[] = [];
  const request = { text, language: 'en-US', voiceId, model: null, settings: {}, clock, signal };
  for await (const { samples, sampleRateHz } of tts.synthesize(request)) {
    parts.push(...resample(samples, sampleRateHz, RATE_HZ));
  }
  const audio = new Int16Array(RATE_HZ / 4 + parts.length + 3200);
  audio.set(parts, RATE_HZ / 4);
  return audio;
}

async function recognise(audio: Int16Array, keywords: ReadonlyMap<string, number>): Promise<SttTranscript> {
  let settle: (transcript: SttTranscript) => void = () => undefined;
  const events = {
    onTranscript: (transcript: SttTranscript) => transcript.isFinal && settle(transcript),
    onError: (error: Error) => {
      throw error;
    },
  };
  const stream = await stt.open({ language: 'en-US', hints: { ...HINTS, keywords }, clock, signal }, events);
  stream.speechStarted(0);
  for (let at = 0; at < audio.length; at += 320) stream.push(audio.slice(at, at + 320), at);
  const final = await new Promise<SttTranscript>((resolve) => {
    settle = resolve;
    stream.speechStopped(audio.length - 3200);
  });
  await stream.close();
  return final;
}

await stt.warmUp();
const voices = ['rms', 'awb'];
const spoken: { said: string; audio: Int16Array }[] = [];
for (const said of SENTENCES) for (const voice of voices) spoken.push({ said, audio: await speak(said, voice) });
const table: Record<string, Record<string, string>> = {};
for (const weight of WEIGHTS) {
  const keywords = new Map(weight === 0 ? [] : FAVOURED.map((word) => [word, weight]));
  let [errors, words, heard, understood] = [0, 0, 0, 0];
  for (const { said, audio } of spoken) {
    const final = await recognise(audio, keywords);
    const one = wordErrors(said, final.text);
    errors += one.errors;
    words += one.words;
    if (final.understood) understood++;
    if (FAVOURED.some((word) => said.toLowerCase().includes(word) && final.text.toLowerCase().includes(word))) heard++;
  }
  table[weight === 0 ? 'without' : `weight ${String(weight)}`] = {
    'word error rate': `${((100 * errors) / words).toFixed(0)} %`,
    'word heard': `${String(heard)} of ${String(spoken.length)}`,
    understood: `${String(understood)} of ${String(spoken.length)}`,
  };
}
console.table(table);

const rivals: Record<string, Record<string, string>> = {};
for (const [said, rival] of ALONE) {
  for (const weight of [0, -5, -20, -100]) {
    const texts: string[] = [];
    for (const voice of voices) {
      texts.push((await recognise(await speak(said, voice), new Map(weight === 0 ? [] : [[rival, weight]]))).text);
    }
    rivals[`"${said}", ${rival} at ${String(weight)}`] = Object.fromEntries(
      voices.map((voice, index) => [voice, texts[index] ?? '']),
    );
  }
}
console.table(rivals);
await stt.close();
await tts.close();
