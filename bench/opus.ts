/**
 * What Opus costs by its complexity, and what that is worth.
 *
 *   npm run build && node bench/run.mjs opus [--rounds=7]
 *
 * Recorded speech at 24 kHz is encoded as calls over WebRTC are (28 kbit/s, a copy of each packet in the next), and decoded
 * again. Counted is processor time for a second of audio, complexities in turns. "Distance" is how far the decoded spectrum
 * is from the original in bands of 500 Hz, in dB, over the frames with speech in them: less is better.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { levelOf } from '../dist/audio/dsp/level.js';
import { loadOpus } from '../dist/audio/codecs/opus.js';
import { resample } from '../dist/audio/dsp/resample.js';
import { decodeWav } from '../dist/audio/files/wav.js';
import { packageFile } from '../dist/package-files.js';
import { machine } from './lib/machine.js';
import { markdownTable, median } from './lib/numbers.js';

const RATE_HZ = 24_000;
const FRAME = 480;
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
const ROUNDS = Number(values.rounds);
const COMPLEXITIES = Array.from({ length: 11 }, (_, complexity) => complexity);
/** What the encoder looks ahead and the decoder holds back, in samples at 24 kHz (6.5 ms). */
const DELAY = 156;
const BANDS = 16;
const SPEECH_DB = -40;

console.log(`${machine()}\n`);
const opus = await loadOpus();
const recorded = decodeWav(readFileSync(fileURLToPath(packageFile('fixtures/audio/booking/slt/table.wav'))));
const speech = resample(recorded.samples, recorded.sampleRateHz, RATE_HZ);
const frames = Array.from({ length: Math.floor(speech.length / FRAME) }, (_, n) =>
  speech.slice(n * FRAME, (n + 1) * FRAME),
);
const seconds = (frames.length * FRAME) / RATE_HZ;

interface Times {
  encodeMs: number[];
  decodeMs: number[];
  kbps: number;
  distanceDb: number;
}

const all = new Map<number, Times>();
for (let round = 0; round < ROUNDS; round++) for (const complexity of COMPLEXITIES) measure(complexity);
const rows = [...all].map(([complexity, { encodeMs, decodeMs, kbps, distanceDb }]) => [
  String(complexity),
  median(encodeMs),
  median(encodeMs) / median(all.get(5)?.encodeMs ?? []),
  median(decodeMs),
  kbps,
  distanceDb.toFixed(2),
]);
const header = ['complexity', 'encode, ms CPU a second', 'times that of 5', 'decode', 'kbit/s', 'distance, dB'];
console.log(`${markdownTable([header, ...rows])}\n\n${machine()}`);

function measure(complexity: number): void {
  const encoder = opus.encoder({ sampleRateHz: RATE_HZ, complexity, dtx: false });
  const decoder = opus.decoder(RATE_HZ);
  const beganMs = cpuMs();
  const packets = frames.map((frame) => encoder.encode(frame));
  const encodedMs = cpuMs();
  const decoded = packets.map((packet) => decoder.decode(packet));
  const decodedMs = cpuMs();
  const times = all.get(complexity) ?? { encodeMs: [], decodeMs: [], kbps: 0, distanceDb: distance(decoded) };
  times.encodeMs.push((encodedMs - beganMs) / seconds);
  times.decodeMs.push((decodedMs - encodedMs) / seconds);
  times.kbps = (packets.reduce((sum, { length }) => sum + length, 0) * 8) / seconds / 1000;
  all.set(complexity, times);
  encoder.close();
  decoder.close();
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function distance(decoded: readonly Int16Array[]): number {
  const heard = new Int16Array(decoded.length * FRAME);
  for (const [n, frame] of decoded.entries()) heard.set(frame, n * FRAME);
  const distances: number[] = [];
  for (let at = 0; at + DELAY + FRAME <= heard.length; at += FRAME) {
    const original = speech.subarray(at, at + FRAME);
    if (levelOf(original).rmsDbfs < SPEECH_DB) continue;
    const [was, is] = [bandsOf(original), bandsOf(heard.subarray(at + DELAY, at + DELAY + FRAME))];
    const squares = was.map((db, band) => (db - (is[band] ?? 0)) ** 2);
    distances.push(Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / BANDS));
  }
  return distances.reduce((sum, one) => sum + one, 0) / distances.length;
}

/** Energy in dB in each band of 500 Hz, from a discrete Fourier transform with a Hann window. */
function bandsOf(frame: Int16Array): number[] {
  const energies = new Float64Array(BANDS).fill(1);
  const step = RATE_HZ / FRAME;
  for (let bin = 1; bin * step < BANDS * 500; bin++) {
    let [re, im] = [0, 0];
    for (let n = 0; n < FRAME; n++) {
      const value = (frame[n] ?? 0) * (0.5 - 0.5 * Math.cos((2 * Math.PI * n) / FRAME));
      re += value * Math.cos((2 * Math.PI * bin * n) / FRAME);
      im -= value * Math.sin((2 * Math.PI * bin * n) / FRAME);
    }
    const band = Math.floor((bin * step) / 500);
    energies[band] = (energies[band] ?? 0) + re * re + im * im;
  }
  return [...energies].map((energy) => 10 * Math.log10(energy));
}
