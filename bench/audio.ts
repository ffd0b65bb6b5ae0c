/**
 * What the audio kernels cost: microseconds for 20 ms of audio, and the ratio to the first of each group, which is what
 * parley uses. Rivals are run in turns, in one process, so that a busy machine slows them alike.
 *
 *   npm run build && node bench/run.mjs audio
 */
import createSpeex from '@echogarden/speex-resampler-wasm/simd';
import { dtmfTones } from '../dist/audio/dtmf-tones.js';
import { DtmfDetector } from '../dist/audio/dtmf.js';
import { Fader } from '../dist/audio/fade.js';
import { decodeG711, encodeG711 } from '../dist/audio/g711.js';
import { LevelMeter } from '../dist/audio/level.js';
import { mix } from '../dist/audio/mix.js';
import { pitchPeriod } from '../dist/audio/pitch.js';
import { LossConcealer } from '../dist/audio/plc.js';
import { polyphases, type Polyphase } from '../dist/audio/polyphase.js';
import { Resampler } from '../dist/audio/resample.js';
import { nativeStatus } from '../dist/native.js';

type Contender = readonly [name: string, once: () => void];

const ROUNDS = 21;
/** Long enough for the timer, short enough that the rounds of all rivals see the same machine. */
const ROUND_MS = 5;

const speex = await createSpeex();
console.log(`native addon: ${nativeStatus().reason}\n`);

for (const [from, to] of [
  [48_000, 16_000],
  [16_000, 48_000],
  [8_000, 16_000],
  [16_000, 8_000],
  [24_000, 16_000],
  [22_050, 16_000],
] as const) {
  const input = sound(from / 50);
  report(`resample ${from} to ${to} Hz`, [
    ...polyphases().map(([name, run]) => [name, resampling(input, from, to, run)] as const),
    ['speex WASM SIMD, quality 5', speexResampling(input, from, to, 5)],
    ['speex WASM SIMD, quality 8', speexResampling(input, from, to, 8)],
  ]);
}

const frame8 = sound(160);
const frame16 = sound(320);
const frame48 = sound(960);
const out48 = new Int16Array(960);
const codes = encodeG711('mulaw', frame8);
const samples8 = new Int16Array(160);
const bytes8 = new Uint8Array(160);
report('G.711, 8 kHz', [
  ['encode', () => encodeG711('mulaw', frame8, bytes8)],
  ['decode', () => decodeG711('mulaw', codes, samples8)],
]);

const detector8 = new DtmfDetector(8_000);
const detector16 = new DtmfDetector(16_000);
const quietDetector = new DtmfDetector(16_000);
const digit = dtmfTones('5', 16_000, { onMs: 20, offMs: 0 });
const silence = new Int16Array(320);
report('digit detection', [
  ['16 kHz, sound', () => detector16.push(frame16)],
  ['16 kHz, a digit', () => detector16.push(digit)],
  ['16 kHz, silence', () => quietDetector.push(silence)],
  ['8 kHz, sound', () => detector8.push(frame8)],
]);

const past = Float64Array.from(sound(800));
const concealer = new LossConcealer(16_000);
const made = new Int16Array(320);
report('loss concealment, 16 kHz', [
  ['a frame that arrives', () => concealer.accept(frame16)],
  [
    'a loss and the frame after it',
    () => {
      concealer.conceal(made);
      concealer.accept(frame16);
    },
  ],
  ['of it the pitch search', () => pitchPeriod(past, 16_000)],
]);

const meter = new LevelMeter();
const fader = new Fader(0.5);
report('per frame, 48 kHz', [
  ['mix of two', () => mix(out48, [frame48, out48], [0.5, 0.5])],
  ['level', () => meter.push(frame48)],
  ['steady gain', () => fader.apply(out48)],
]);

function resampling(input: Int16Array, from: number, to: number, inner: Polyphase): () => void {
  const resampler = new Resampler(from, to, inner);
  const out = new Int16Array(resampler.outputLength(input.length) + 1);
  return () => void resampler.processInto(input, out);
}

/** With the copies in and out of its memory that every use of it needs. */
function speexResampling(input: Int16Array, from: number, to: number, quality: number): () => void {
  const error = speex._malloc(4);
  const state = speex._speex_resampler_init(1, from, to, quality, error);
  const inAt = speex._malloc(input.length * 2);
  const outLength = Math.ceil((input.length * to) / from) + 1;
  const outAt = speex._malloc(outLength * 2);
  const lengths = speex._malloc(8);
  const out = new Int16Array(outLength);
  return () => {
    speex.HEAP16.set(input, inAt >> 1);
    speex.HEAP32[lengths >> 2] = input.length;
    speex.HEAP32[(lengths >> 2) + 1] = outLength;
    speex._speex_resampler_process_int(state, 0, inAt, lengths, outAt, lengths + 4);
    const made = speex.HEAP32[(lengths >> 2) + 1]!;
    out.set(speex.HEAP16.subarray(outAt >> 1, (outAt >> 1) + made));
  };
}

function report(title: string, contenders: readonly Contender[]): void {
  const times = contenders.map(([, once]) => ({ once, repeats: calibrate(once), rounds: [] as number[] }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { once, repeats, rounds } of times) rounds.push(timeOf(once, repeats) / repeats);
  }
  const medians = times.map(({ rounds }) => median(rounds) * 1000);
  console.log(title);
  for (const [i, [name]] of contenders.entries()) {
    const ratio = `${(medians[i]! / medians[0]!).toFixed(2)}x`;
    console.log(`  ${name.padEnd(32)} ${medians[i]!.toFixed(2).padStart(8)} us  ${ratio.padStart(8)}`);
  }
}

function calibrate(once: () => void): number {
  let repeats = 1;
  while (timeOf(once, repeats) < ROUND_MS) repeats *= 2;
  return repeats;
}

/** CPU time in milliseconds: what other programs take does not count. */
function timeOf(once: () => void, repeats: number): number {
  const start = process.cpuUsage();
  for (let i = 0; i < repeats; i++) once();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** Something loud with many partials: the cost of none of these depends on much more than that. */
function sound(length: number): Int16Array {
  return Int16Array.from({ length }, (_, i) => Math.round(9_000 * Math.sin(i * 0.1 + (i * i) / 3_000)));
}
