/**
 * What voice activity detection costs: microseconds a window, CPU milliseconds per second of audio, and the ratio to the
 * fastest of Silero's kernels.
 *
 *   npm run build && node bench/run.mjs vad [--rounds=15]
 *
 * All are measured in turns, so that a busy machine slows them alike. Frames of 20 ms go in, as in a session.
 */
import { parseArgs } from 'node:util';
import { nativeStatus } from '../dist/base/native.js';
import { SILERO_KERNELS, sileroKernel } from '../dist/providers/vad/silero/silero-kernel.js';
import { SileroVad } from '../dist/providers/vad/silero/silero.js';
import type { VadDetector, VadProvider } from '../dist/providers/vad/vad.js';
import { WEBRTC_KERNELS, WebRtcVad } from '../dist/providers/vad/webrtc.js';
import { machine } from './lib/machine.js';
import { markdownTable, median } from './lib/numbers.js';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '15' } } });
const ROUNDS = Number(values.rounds);
const RATE_HZ = 16_000;
const FRAME = 320;
const SECONDS = 4;
/** Streams that take turns, as sessions do: the weights stay in the cache, each stream's own memory may not. */
const STREAMS = 10;

interface Contender {
  readonly name: string;
  readonly streams: readonly VadDetector[];
  readonly cpuMsPerSecond: number[];
}

console.log(`native addon: ${nativeStatus().reason}`);
const contenders: Contender[] = [];
for (const kernel of SILERO_KERNELS) {
  if (sileroKernel(kernel) !== null) await enter(`silero, ${kernel}`, new SileroVad({ kernel }));
}
for (const kernel of WEBRTC_KERNELS) {
  try {
    await enter(`webrtc, ${kernel}`, new WebRtcVad({ kernel }));
  } catch (error) {
    console.log(`webrtc left out: ${String(error)}`);
  }
}

const sound = babble();
for (let round = 0; round < ROUNDS; round++) for (const contender of contenders) measure(contender);

const fastest = median(contenders[0]!.cpuMsPerSecond);
const rows = contenders.map(({ name, streams, cpuMsPerSecond }) => {
  const cost = median(cpuMsPerSecond);
  const windowsPerSecond = RATE_HZ / streams[0]!.windowSamples;
  return [name, (cost * 1000) / windowsPerSecond, cost, cost / fastest];
});
const heads = ['detector', 'us a window', 'CPU ms per s of audio', 'times the fastest Silero'];
console.log(`${markdownTable([heads, ...rows])}\n\n${machine()}`);

async function enter(name: string, provider: VadProvider): Promise<void> {
  await provider.warmUp();
  contenders.push({
    name,
    streams: Array.from({ length: STREAMS }, () => provider.createDetector()),
    cpuMsPerSecond: [],
  });
}

function measure({ streams, cpuMsPerSecond }: Contender): void {
  let sum = 0;
  const before = process.cpuUsage();
  for (let at = 0; at < sound.length; at += FRAME) {
    const frame = sound.subarray(at, at + FRAME);
    for (const stream of streams) stream.process(frame, (probability) => (sum += probability));
  }
  const { user, system } = process.cpuUsage(before);
  if (Number.isNaN(sum)) throw new Error('not a number');
  cpuMsPerSecond.push((user + system) / 1000 / (SECONDS * STREAMS));
}

/** Noise whose loudness and colour change: the cost does not depend on what is heard. */
function babble(): Int16Array {
  let state = 1;
  let smooth = 0;
  return Int16Array.from({ length: SECONDS * RATE_HZ }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    smooth += 0.3 * (state / 2 ** 32 - 0.5 - smooth);
    return Math.round(20_000 * smooth * (1 + Math.sin(i / 3000)));
  });
}
