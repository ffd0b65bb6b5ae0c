/**
 * What the audio kernels cost, and what the resamplers are worth: microseconds of processor time for 20 ms of audio, times
 * the first of each table, which is what parley uses, and how good the sound is that comes out, in dB. Rivals are run in
 * turns, in one process, so that a busy machine slows them alike.
 *
 *   npm run build && node bench/run.mjs audio [--rounds=21]
 *
 * - `SNR`: a tone of 1 kHz at -12 dB against all that is not the tone (THD+N);
 * - `ripple`: the loudest against the softest tone up to 80 % of the band that both rates have;
 * - `band`: the share of that band up to which tones are no more than 3 dB down;
 * - `rejection`: how far down the worst alias of a tone above the lower rate's band is (down), or what comes with a tone
 *   of that band (up).
 *
 * `bench/peers/kernels` has packages of others beside them.
 */
import { parseArgs } from 'node:util';
import { DtmfDetector, dtmfTones } from '../dist/audio/tones/dtmf.js';
import { Fader } from '../dist/audio/dsp/fade.js';
import { decodeG711, encodeG711 } from '../dist/audio/codecs/g711.js';
import { LevelMeter } from '../dist/audio/dsp/level.js';
import { mix } from '../dist/audio/dsp/mix.js';
import { LossConcealer, pitchPeriod } from '../dist/audio/dsp/plc.js';
import { nativeStatus } from '../dist/base/native.js';
import { machine } from './lib/machine.js';
import { markdownTable } from './lib/numbers.js';
import { RATES, resamplers } from './lib/resamplers.js';
import { resamplingTable } from './lib/resampling-table.js';
import { type Contender, raceRows, sound } from './lib/rivals.js';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '21' } } });
const ROUNDS = Number(values.rounds);

console.log(`${machine()}\nnative addon: ${nativeStatus().reason}\n`);
for (const [from, to] of RATES) {
  const all = await resamplers(from, to);
  console.log(`resampling\n${resamplingTable(all, from, to, ROUNDS)}\n`);
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
console.log(machine());

function report(title: string, contenders: readonly Contender[]): void {
  console.log(`${title}\n${markdownTable([[title, 'us', 'times the first'], ...raceRows(contenders, ROUNDS)])}\n`);
}
