import { readFile } from 'node:fs/promises';
import { FRAME_MS, msToSamples } from '../../../audio/frame.js';
import { resample } from '../../../audio/dsp/resample.js';
import { ToneGenerator } from '../../../audio/tones/tones.js';
import { decodeRecording } from '../../../audio/files/decode.js';
import { PHONE_RATE_HZ } from './path.js';
import type { SimulatedNumber, ScriptStep } from './script.js';

/** Speaks a text with a named voice. Called once for the same text and voice. */
export type SpeechMaker = (
  text: string,
  voice: string,
) => Promise<{ readonly samples: Int16Array; readonly sampleRateHz: number }>;

/** The audio of the network's numbers, created before a call rings and cached. */
export class SoundLibrary {
  readonly #speak: SpeechMaker;
  readonly #folder: URL;
  readonly #sounds = new Map<string, Promise<Int16Array>>();
  readonly #ready = new Map<string, Int16Array>();

  /** @param folder base of the paths of `play` steps */
  constructor(speak: SpeechMaker, folder: URL) {
    this.#speak = speak;
    this.#folder = folder;
  }

  /** Creates all audio of a number. Rejects if one fails. */
  async prepare(number: SimulatedNumber): Promise<void> {
    // Sequentially: a voice's deadline includes the time that a sentence waits for others.
    for (const step of soundingSteps(number.steps)) await this.#make(number, step);
  }

  /** The audio of a step of a prepared number, 8 kHz. */
  of(number: SimulatedNumber, step: ScriptStep): Int16Array {
    const sound = this.#ready.get(keyOf(number, step));
    if (sound === undefined) throw new Error(`${number.number} has audio that was not prepared`);
    return sound;
  }

  async #make(number: SimulatedNumber, step: ScriptStep): Promise<void> {
    const key = keyOf(number, step);
    let making = this.#sounds.get(key);
    if (making === undefined) {
      making = this.#sound(number, step);
      this.#sounds.set(key, making);
    }
    try {
      this.#ready.set(key, await making);
    } catch (error) {
      this.#sounds.delete(key); // the next call tries again
      throw error;
    }
  }

  async #sound(number: SimulatedNumber, step: ScriptStep): Promise<Int16Array> {
    if ('tone' in step) {
      const { hz, ms, levelDbfs = -16 } = step.tone;
      const length = Math.ceil(ms / FRAME_MS) * FRAME_MS;
      const tone = new ToneGenerator(PHONE_RATE_HZ, {
        frequenciesHz: hz,
        levelDbfs,
        cadenceMs: [ms, length - ms + FRAME_MS],
        repeat: false,
      });
      const sound = new Int16Array(msToSamples(length, PHONE_RATE_HZ));
      tone.read(sound);
      return sound;
    }
    const { samples, sampleRateHz } =
      'play' in step
        ? await decodeRecording(await readFile(new URL(step.play, this.#folder)))
        : await this.#speak(textOf(step), voiceOf(number, step));
    return resample(samples, sampleRateHz, PHONE_RATE_HZ);
  }
}

function* soundingSteps(steps: readonly ScriptStep[]): Generator<ScriptStep, void> {
  for (const step of steps) {
    if ('say' in step || 'play' in step || 'tone' in step) yield step;
    if ('repeat' in step) yield* soundingSteps(step.repeat.steps);
    if ('menu' in step) {
      yield step;
      for (const option of Object.values(step.menu.options)) yield* soundingSteps(option);
      yield* soundingSteps(step.menu.otherwise ?? []);
    }
  }
}

function keyOf(number: SimulatedNumber, step: ScriptStep): string {
  if ('tone' in step || 'play' in step) return JSON.stringify(step);
  return JSON.stringify([textOf(step), voiceOf(number, step)]);
}

function textOf(step: ScriptStep): string {
  return 'say' in step ? step.say : 'menu' in step ? step.menu.say : '';
}

function voiceOf(number: SimulatedNumber, step: ScriptStep): string {
  return ('say' in step ? step.voice : undefined) ?? number.voice;
}
