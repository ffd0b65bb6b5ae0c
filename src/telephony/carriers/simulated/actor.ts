import { DtmfDetector, dialMs, dialTones } from '../../../audio/tones/dtmf.js';
import { FRAME_MS, frameSamples } from '../../../audio/frame.js';
import { dbToGain, levelOf } from '../../../audio/dsp/level.js';
import type { Random } from '../../../base/random.js';
import type { CallEndpoint } from './endpoint.js';
import { PHONE_RATE_HZ } from './path.js';
import type { ScriptStep } from './script.js';

/** The audio of a step, 8 kHz. */
export type SoundOf = (step: ScriptStep) => Int16Array;

export interface ActorOptions {
  steps: readonly ScriptStep[];
  soundOf: SoundOf;
  random: Random;
  inBandDigits: boolean;
  /** Background noise, dBFS; null = none. */
  noiseDbfs: number | null;
  /** Sends keys to the other end as events. */
  onDigits: (keys: string) => void;
  onNote: (note: string) => void;
  onHangUp: () => void;
}

const FRAME = frameSamples(PHONE_RATE_HZ);
/** Louder audio counts as speech. */
const SPEECH_DBFS = -45;
const MENU_WAIT_MS = 5000;

/** The simulated party: executes the steps of a script, one tick after another, and hangs up after the last. */
export class Actor implements CallEndpoint {
  readonly #options: ActorOptions;
  readonly #tones: DtmfDetector | null;
  readonly #out: Int16Array[] = [];
  readonly #keys: string[] = [];
  #outAt = 0;
  #hearsSpeech = false;
  #play: Generator<void, void> | null = null;
  #over = false;

  constructor(options: ActorOptions) {
    this.#options = options;
    this.#tones = options.inBandDigits ? new DtmfDetector(PHONE_RATE_HZ) : null;
  }

  /** The call was answered: the script starts with the next tick. */
  begin(): void {
    this.#play ??= this.#all();
  }

  speak(): Int16Array | null {
    if (this.#play === null || this.#over) return null;
    this.#play.next();
    return this.#frame();
  }

  hear(frame: Int16Array | null): void {
    this.#hearsSpeech = frame !== null && levelOf(frame).rmsDbfs > SPEECH_DBFS;
    if (this.#tones === null) return;
    for (const { digit } of this.#tones.push(frame ?? new Int16Array(FRAME))) this.#keys.push(digit);
  }

  digits(keys: string): void {
    if (this.#tones === null) this.#keys.push(...keys);
  }

  gone(): void {
    this.#over = true;
  }

  *#all(): Generator<void, void> {
    yield* this.#steps(this.#options.steps);
    if (!this.#over) this.#hangUp();
  }

  *#steps(steps: readonly ScriptStep[]): Generator<void, void> {
    for (const step of steps) {
      if (this.#over) return;
      yield* this.#step(step);
    }
  }

  *#step(step: ScriptStep): Generator<void, void> {
    if ('wait' in step) yield* this.#wait(step.wait);
    else if ('listen' in step) yield* this.#listen({ quietMs: 900, maxMs: 15_000, ...step.listen });
    else if ('record' in step) yield* this.#listen({ quietMs: 5000, maxMs: 60_000, orMs: 10_000, ...step.record });
    else if ('menu' in step) yield* this.#menu(step);
    else if ('press' in step) yield* this.#press(step.press);
    else if ('note' in step) this.#options.onNote(step.note);
    else if ('hangUp' in step) this.#hangUp();
    else if ('repeat' in step) {
      for (let time = 0; time < step.repeat.times && !this.#over; time++) yield* this.#steps(step.repeat.steps);
    } else yield* this.#sound(this.#options.soundOf(step));
  }

  *#wait(ms: number): Generator<void, void> {
    for (let waitedMs = 0; waitedMs < ms; waitedMs += FRAME_MS) yield;
  }

  *#sound(samples: Int16Array): Generator<void, void> {
    this.#out.push(samples);
    while (this.#out.length > 0) yield;
  }

  *#listen(until: { quietMs?: number | undefined; maxMs?: number | undefined; orMs?: number | undefined }) {
    const { quietMs = 0, maxMs = 0, orMs = maxMs } = until;
    let heard = false;
    let quiet = 0;
    for (let ms = 0; ms < maxMs && !(heard ? quiet >= quietMs : ms >= orMs); ms += FRAME_MS) {
      yield;
      quiet = this.#hearsSpeech ? 0 : quiet + FRAME_MS;
      heard ||= this.#hearsSpeech;
    }
  }

  *#menu(step: Extract<ScriptStep, { menu: unknown }>): Generator<void, void> {
    const { options, waitMs = MENU_WAIT_MS, otherwise = [] } = step.menu;
    this.#keys.length = 0;
    this.#out.push(this.#options.soundOf(step));
    for (let quiet = 0; quiet < waitMs && this.#keys.length === 0; quiet += this.#out.length > 0 ? 0 : FRAME_MS) yield;
    this.#out.length = 0;
    this.#outAt = 0;
    yield* this.#steps(options[this.#keys.shift() ?? ''] ?? otherwise);
  }

  *#press(keys: string): Generator<void, void> {
    if (this.#tones !== null) {
      yield* this.#sound(dialTones(keys, PHONE_RATE_HZ));
      return;
    }
    for (const key of keys) {
      if (key !== 'w') this.#options.onDigits(key);
      yield* this.#wait(dialMs(key));
    }
  }

  #hangUp(): void {
    this.#over = true;
    this.#options.onHangUp();
  }

  #frame(): Int16Array | null {
    const { noiseDbfs, random } = this.#options;
    if (this.#out.length === 0 && noiseDbfs === null) return null;
    const frame = new Int16Array(FRAME);
    let filled = 0;
    for (let block = this.#out[0]; block !== undefined && filled < FRAME; block = this.#out[0]) {
      const part = block.subarray(this.#outAt, this.#outAt + FRAME - filled);
      frame.set(part, filled);
      filled += part.length;
      this.#outAt += part.length;
      if (this.#outAt < block.length) break;
      this.#out.shift();
      this.#outAt = 0;
    }
    if (noiseDbfs !== null) {
      // Uniformly distributed, so its peak is √3 times its level.
      const peak = 32_767 * dbToGain(noiseDbfs) * Math.sqrt(3);
      for (let i = 0; i < FRAME; i++) {
        frame[i] = Math.max(-32_768, Math.min(32_767, (frame[i] ?? 0) + (random.next() * 2 - 1) * peak));
      }
    }
    return frame;
  }
}
