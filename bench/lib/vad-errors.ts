import { readFileSync } from 'node:fs';
import { HEARING_RATE_HZ, samplesToMs } from '../../dist/audio/frame.js';
import { resample } from '../../dist/audio/dsp/resample.js';
import { decodeWav } from '../../dist/audio/files/wav.js';
import { vadProvider } from '../../dist/providers/vad/registry.js';
import { SpeechDetector } from '../../dist/providers/vad/speech-detector.js';
import type { Labelled } from './turns.js';

interface Stretch {
  startMs: number;
  endMs: number;
}

/** A stretch that a detector heard, and when it knew. */
interface Heard extends Stretch {
  startKnownMs: number;
  endKnownMs: number;
}

/** Labelled pauses shorter than this are part of the speech: no detector could report them. */
const MERGE_MS = 250;
/** How far from any label a detection must lie to count as false. */
const FALSE_MS = 200;

/** How far detections lie from the labels, over many recordings. */
export class VadTally {
  stretches = 0;
  missed = 0;
  merged = 0;
  split = 0;
  false = 0;
  silenceMs = 0;
  readonly startErrorMs: number[] = [];
  readonly startKnownMs: number[] = [];
  readonly endErrorMs: number[] = [];
  readonly endKnownMs: number[] = [];

  add(labelled: readonly Stretch[], heard: readonly Heard[], durationMs: number): void {
    this.silenceMs += durationMs - labelled.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
    this.false += heard.filter((detection) => !labelled.some((label) => touches(detection, label, FALSE_MS))).length;
    for (const [index, label] of labelled.entries()) {
      this.stretches++;
      const own = heard.filter((detection) => touches(detection, label, 0));
      const [first, last] = [own[0], own.at(-1)];
      if (first === undefined || last === undefined) {
        this.missed++;
        continue;
      }
      this.split += own.length - 1;
      const before = labelled[index - 1];
      const after = labelled[index + 1];
      if (before !== undefined && touches(first, before, 0)) this.merged++;
      else {
        this.startErrorMs.push(first.startMs - label.startMs);
        this.startKnownMs.push(first.startKnownMs - label.startMs);
      }
      if (after !== undefined && touches(last, after, 0)) continue;
      this.endErrorMs.push(last.endMs - label.endMs);
      this.endKnownMs.push(last.endKnownMs - label.endMs);
    }
  }

  row(): Record<string, string | number> {
    return {
      stretches: this.stretches,
      missed: this.missed,
      merged: this.merged,
      split: this.split,
      'false/min silence': Number((this.false / (this.silenceMs / 60_000)).toFixed(1)),
      'start error': spread(this.startErrorMs),
      'start known': spread(this.startKnownMs),
      'end error': spread(this.endErrorMs),
      'end known': spread(this.endKnownMs),
    };
  }
}

/** Plays a recording to the VAD of that name. `through`: what becomes of the audio on the way. */
export function hearWith(
  name: string,
  { wav, labels }: Labelled,
  threshold: number,
  tallies: readonly VadTally[],
  through: (audio: Int16Array) => Int16Array = (audio) => audio,
): void {
  const { samples, sampleRateHz } = decodeWav(readFileSync(wav));
  const audio = through(resample(samples, sampleRateHz, HEARING_RATE_HZ));
  const detector = vadProvider(name).createDetector();
  const heard: Heard[] = [];
  const ms = (sample: number): number => samplesToMs(sample, HEARING_RATE_HZ);
  const speech = new SpeechDetector(
    detector.windowSamples,
    {
      onSpeechStart: (start, at) =>
        heard.push({ startMs: ms(start), startKnownMs: ms(at), endMs: Infinity, endKnownMs: Infinity }),
      onSpeechEnd: (end, at) => Object.assign(heard.at(-1) ?? {}, { endMs: ms(end), endKnownMs: ms(at) }),
    },
    { threshold },
  );
  detector.process(audio, speech.onWindow);
  // A second of silence, so that speech up to the last sample ends too.
  detector.process(new Int16Array(HEARING_RATE_HZ), speech.onWindow);
  detector.close();
  for (const tally of tallies) tally.add(merge(labels.speech), heard, ms(audio.length));
}

/** Stretches of all speakers together, without the pauses that are too short. */
function merge(speech: readonly Stretch[]): Stretch[] {
  const merged: Stretch[] = [];
  for (const { startMs, endMs } of speech) {
    const last = merged.at(-1);
    if (last !== undefined && startMs - last.endMs < MERGE_MS) last.endMs = Math.max(last.endMs, endMs);
    else merged.push({ startMs, endMs });
  }
  return merged;
}

function touches(a: Stretch, b: Stretch, slackMs: number): boolean {
  return a.startMs < b.endMs + slackMs && a.endMs > b.startMs - slackMs;
}

function spread(values: number[]): string {
  if (values.length === 0) return '-';
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string => String(Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0));
  return `${at(0.5)} (${at(0.05)} to ${at(0.95)})`;
}
