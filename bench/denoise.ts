/**
 * What the denoiser does to speech recognition and to voice activity detection, and what it costs: word error rates of
 * sentences in noise, errors of the VAD over the labelled recordings, processor time per second of audio.
 *
 *   npm run build && node bench/run.mjs denoise [--only=stt|vad]
 *
 * The sentences are the booking ones of fixtures/, the noises those of fixtures/audio/noise and, where PARLEY_AUDIO_DIR
 * names a folder with noise/*.wav, those too.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { resample } from '../dist/audio/dsp/resample.js';
import { rnnoise } from '../dist/audio/dsp/rnnoise.js';
import { decodeWav } from '../dist/audio/files/wav.js';
import { RealClock } from '../dist/base/real-clock.js';
import { EmbeddedStt } from '../dist/providers/stt/embedded/provider.js';
import type { SttTranscript } from '../dist/providers/stt/stt.js';
import { vadProvider } from '../dist/providers/vad/registry.js';
import { readFixtureLabels } from '../dist/testing/labels/labels.js';
import { wordErrors } from '../dist/testing/labels/wer.js';
import { HINTS } from './lib/restaurant-hints.js';
import { labelledRecordings } from './lib/turns.js';
import { hearWith, VadTally } from './lib/vad-errors.js';

const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice(7);
const RATE_HZ = 16_000;
const STRENGTHS = [0, 0.5, 1];
const SNRS_DB = [15, 5];
const fixtures = fileURLToPath(new URL('../fixtures/audio', import.meta.url));
const own = process.env['PARLEY_AUDIO_DIR'];

/** A recording through a denoiser; its lag, which is cut off at the end, is made up for with silence. */
async function denoiserOf(strength: number): Promise<(audio: Int16Array) => Promise<Int16Array>> {
  return async (audio) => {
    if (strength === 0) return audio;
    const denoiser = await rnnoise(strength);
    const out = new Int16Array(audio.length);
    let written = 0;
    for (const piece of [audio, new Int16Array(denoiser.delaySamples)]) {
      const given = denoiser.process(piece);
      out.set(given.subarray(0, out.length - written), written);
      written += Math.min(given.length, out.length - written);
    }
    denoiser.close();
    return out;
  };
}

function recording(path: string): Int16Array {
  const { samples, sampleRateHz } = decodeWav(readFileSync(path));
  return resample(samples, sampleRateHz, RATE_HZ);
}

const power = (samples: Int16Array): number => samples.reduce((sum, value) => sum + value * value, 0) / samples.length;

/** Speech with noise around and under it, so many dB quieter than the speech. */
function noisy(speech: Int16Array, noise: Int16Array, snrDb: number): Int16Array {
  const gain = Math.sqrt(power(speech) / power(noise) / 10 ** (snrDb / 10));
  const [lead, tail] = [RATE_HZ / 2, RATE_HZ / 4];
  return Int16Array.from({ length: lead + speech.length + tail }, (_, at) => {
    const value = (speech[at - lead] ?? 0) + gain * (noise[at % noise.length] ?? 0);
    return Math.max(-32_768, Math.min(32_767, Math.round(value)));
  });
}

const noises = ['hum', 'keyboard', 'babble'].map((name) => ({
  name,
  samples: recording(`${fixtures}/noise/${name}-alone.wav`),
}));
if (own !== undefined && existsSync(`${own}/noise`)) {
  for (const name of ['engine_idling', 'people_talking']) {
    if (existsSync(`${own}/noise/${name}.wav`)) noises.push({ name, samples: recording(`${own}/noise/${name}.wav`) });
  }
}
const sentences = ['rms'].flatMap((voice) =>
  readdirSync(`${fixtures}/booking/${voice}`)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFixtureLabels(`${fixtures}/booking/${voice}/${name}`))
    .filter(({ text, turns }) => text !== '' && turns === undefined)
    .map(({ file, text }) => ({ said: text, samples: recording(`${fixtures}/${file}`) })),
);

const clock = new RealClock();
const signal = new AbortController().signal;
const stt = new EmbeddedStt();
await stt.warmUp();

async function recognise(audio: Int16Array): Promise<SttTranscript> {
  let settle: (transcript: SttTranscript) => void = () => undefined;
  const events = {
    onTranscript: (transcript: SttTranscript) => transcript.isFinal && settle(transcript),
    onError: (error: Error) => {
      throw error;
    },
  };
  const stream = await stt.open({ language: 'en-US', hints: HINTS, clock, signal }, events);
  stream.speechStarted(RATE_HZ / 2);
  for (let at = 0; at < audio.length; at += 320) stream.push(audio.slice(at, at + 320), at);
  const final = await new Promise<SttTranscript>((resolve) => {
    settle = resolve;
    stream.speechStopped(audio.length - RATE_HZ / 4);
  });
  await stream.close();
  return final;
}

console.log('word error rate');
for (const { name, samples: noise } of only === 'vad' ? [] : noises) {
  for (const snrDb of SNRS_DB) {
    const row: Record<string, string> = {};
    for (const strength of STRENGTHS) {
      const denoise = await denoiserOf(strength);
      let [errors, all, accepted] = [0, 0, 0];
      for (const { said, samples } of sentences) {
        const { text, understood } = await recognise(await denoise(noisy(samples, noise, snrDb)));
        const one = wordErrors(said, text);
        errors += one.errors;
        all += one.words;
        if (understood) accepted++;
      }
      row[strength === 0 ? 'as it is' : `strength ${String(strength)}`] =
        `${((100 * errors) / all).toFixed(0)} % (${String(accepted)} of ${String(sentences.length)} understood)`;
    }
    console.log(`${name}, ${String(snrDb)} dB`, row);
  }
}
await stt.close();

const labelled = only === 'stt' ? [] : labelledRecordings(fixtures, 'fixtures');
const table: Record<string, ReturnType<VadTally['row']>> = {};
for (const strength of STRENGTHS) {
  const denoise = await denoiserOf(strength);
  const heard: [one: (typeof labelled)[number], audio: Int16Array][] = [];
  for (const one of labelled) heard.push([one, await denoise(recording(one.wav))]);
  for (const name of ['silero', 'webrtc']) {
    await vadProvider(name).warmUp();
    const [inNoise, others] = [new VadTally(), new VadTally()];
    for (const [one, audio] of heard) {
      hearWith(name, one, 0.5, [one.group.includes('noise') ? inNoise : others], () => audio);
    }
    const how = strength === 0 ? 'as it is' : `strength ${String(strength)}`;
    table[`${name}, in noise, ${how}`] = inNoise.row();
    table[`${name}, all else, ${how}`] = others.row();
  }
}
console.log('voice activity detection, threshold 0.5; ms, as median (5th percentile to 95th)');
console.table(table);

const denoiser = await rnnoise(1);
const frame = new Int16Array(320).fill(100);
for (let i = 0; i < 500; i++) denoiser.process(frame);
const before = process.cpuUsage();
for (let i = 0; i < 5000; i++) denoiser.process(frame);
const used = process.cpuUsage(before);
console.log(`processor ${((used.user + used.system) / 1000 / 100).toFixed(1)} ms per second of audio`);
console.log(`delay ${String((1000 * denoiser.delaySamples) / RATE_HZ)} ms`);
denoiser.close();
