import { msToSamples, samplesToMs } from '../frame.js';
import { HOP_MS, type Tone, ToneFinder } from './tone-finder.js';

export interface Beep {
  readonly frequencyHz: number;
  /** First sample and end, counted from the detector's start; accurate to 20 ms. */
  readonly startSample: number;
  readonly endSample: number;
}

/** Steady blocks that make a beep: 13 of them span 140 ms, so that 150 ms are always enough and 125 ms never. */
const BLOCKS_ON = 13;
/** A longer tone is a call progress tone. */
const LONGEST_MS = 2500;
/** Another tone this soon makes it a sequence, such as the special information tones. */
const ROW_GAP_MS = 60;
/**
 * A lost packet or two do not end a beep: a tone that resumes unchanged within this time is the same one. Pieces of a
 * tone have at least this many blocks; concealed audio and the beats of two tones are shorter.
 */
const HOLE_MS = 60;
const BLOCKS_OF_PIECE = 6;
const SAME_HZ = 5;
const SAME_AMPLITUDE = 1.25;
/** How far frequency (Hz, and share of it) and amplitude (factor) may stray. */
const STRAY_HZ = 12;
const STRAY_SHARE = 0.02;
const STRAY_AMPLITUDE = 1.6;
/** Fax machines: CNG calls with half a second of 1100 Hz, CED answers with 2100 Hz (ITU-T T.30). */
const FAX_TOLERANCE_HZ = 30;
const CNG_MS: readonly [number, number] = [420, 580];

const NONE: readonly Beep[] = [];

interface Run {
  frequencyHz: number;
  amplitude: number;
  blocks: number;
  startHop: number;
  /** Its last block. */
  endHop: number;
}

/**
 * Finds the beep after which a mailbox records: one steady tone (or one and its octave) of 150 ms to 2.5 s between
 * 380 and 2200 Hz, stable in every block. Rejects tones of two frequencies (ringback, busy, keypad), sequences of tones
 * and fax tones.
 *
 * Reports a beep when it has ended and no tone has followed for 60 ms. Single-frequency ringback (425 Hz in Europe)
 * looks the same: use the detector only after the call was answered and speech was heard.
 */
export class BeepDetector {
  readonly #hop: number;
  readonly #tones: ToneFinder;
  #hops = 0;
  #run: Run | null = null;
  /** The tone before a short gap, which may resume. */
  #broken: Run | null = null;
  /** A complete beep, reported if no tone follows. */
  #ended: Beep | null = null;
  /** Within a sequence of tones: until a pause, none of them is a beep. */
  #inRow = false;

  /**
   * @param sampleRateHz 8000 to 48000
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED
   */
  constructor(readonly sampleRateHz: number) {
    this.#tones = new ToneFinder(sampleRateHz);
    this.#hop = msToSamples(HOP_MS, sampleRateHz);
  }

  /** Takes the next samples, however they are cut, and returns the beeps that are certainly over. */
  push(samples: Int16Array): readonly Beep[] {
    let found: Beep[] | undefined;
    this.#tones.push(samples, (tone) => {
      this.#hops++;
      const beep = this.#follow(tone);
      if (beep !== null) (found ??= []).push(beep);
    });
    return found ?? NONE;
  }

  /** Takes one block's tone, or null, and returns a beep if that makes one certain. */
  #follow(tone: Tone | null): Beep | null {
    const run = this.#run;
    if (tone !== null && this.#mends(tone)) return null;
    if (run !== null && tone !== null && belongs(tone, run)) {
      this.#goOn(run, tone);
      return null;
    }
    if (run !== null) this.#end(run);
    const [startHop, endHop] = [this.#hops - 2, this.#hops];
    this.#run = tone === null ? null : { ...tone, blocks: 1, startHop, endHop };
    return this.#settle();
  }

  #goOn(run: Run, { frequencyHz, amplitude }: Tone): void {
    run.blocks++;
    run.endHop = this.#hops;
    run.frequencyHz += (frequencyHz - run.frequencyHz) / run.blocks;
    run.amplitude += (amplitude - run.amplitude) / run.blocks;
  }

  /** Whether the tone resumes the interrupted one; if so, forgets what came between. */
  #mends(tone: Tone): boolean {
    const broken = this.#broken;
    if (broken === null || (this.#run?.blocks ?? 0) >= BLOCKS_OF_PIECE) return false;
    if ((this.#hops - broken.endHop) * HOP_MS > HOLE_MS || !isSame(tone, broken)) return false;
    this.#run = broken;
    this.#broken = null;
    this.#ended = null;
    this.#goOn(broken, tone);
    return true;
  }

  #end(run: Run): void {
    if (run.blocks >= BLOCKS_OF_PIECE) this.#broken = run;
    if (run.blocks < BLOCKS_ON) return;
    const startSample = Math.max(0, run.startHop * this.#hop);
    const endSample = (this.#hops - 1) * this.#hop;
    const lengthMs = samplesToMs(endSample - startSample, this.sampleRateHz);
    if (this.#ended !== null) this.#inRow = true;
    if (lengthMs > LONGEST_MS || isFax(run.frequencyHz, lengthMs)) this.#ended = null;
    else this.#ended = { frequencyHz: Math.round(run.frequencyHz), startSample, endSample };
  }

  /** The beep that has ended, once it is clear that no tone follows it. */
  #settle(): Beep | null {
    const ended = this.#ended;
    if (ended === null) return null;
    const run = this.#run;
    if (run !== null && run.startHop * this.#hop - ended.endSample < msToSamples(ROW_GAP_MS, this.sampleRateHz)) {
      return null; // a tone so soon: whether it is long enough to make a row will show
    }
    if (run === null && samplesToMs(this.#hops * this.#hop - ended.endSample, this.sampleRateHz) < ROW_GAP_MS)
      return null;
    this.#ended = null;
    const isBeep = !this.#inRow;
    this.#inRow = false;
    return isBeep ? ended : null;
  }
}

function belongs(tone: Tone, run: Run): boolean {
  const strayHz = Math.abs(tone.frequencyHz - run.frequencyHz);
  const louder = tone.amplitude / run.amplitude;
  return strayHz < STRAY_HZ + STRAY_SHARE * run.frequencyHz && louder < STRAY_AMPLITUDE && louder > 1 / STRAY_AMPLITUDE;
}

/** Much nearer than `belongs`: voices glide, a beep does not. */
function isSame(tone: Tone, run: Run): boolean {
  const louder = tone.amplitude / run.amplitude;
  return (
    Math.abs(tone.frequencyHz - run.frequencyHz) < SAME_HZ && louder < SAME_AMPLITUDE && louder > 1 / SAME_AMPLITUDE
  );
}

function isFax(frequencyHz: number, lengthMs: number): boolean {
  if (Math.abs(frequencyHz - 2100) < FAX_TOLERANCE_HZ) return true;
  return Math.abs(frequencyHz - 1100) < FAX_TOLERANCE_HZ && lengthMs >= CNG_MS[0] && lengthMs <= CNG_MS[1];
}
