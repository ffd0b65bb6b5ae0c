import { describe, expect, it } from 'vitest';
import { SpecialInformationDetector } from '../../../src/audio/tones/special-information-tones.js';

/** A tone: frequency and milliseconds; frequency 0 = silence. */
type Part = readonly [frequencyHz: number, ms: number];

function soundOf(parts: readonly Part[], rateHz: number, amplitude = 6000): Int16Array {
  return Int16Array.from(
    parts.flatMap(([frequencyHz, ms]) =>
      Array.from(
        { length: Math.round((ms * rateHz) / 1000) },
        (_, at) => amplitude * Math.sin((2 * Math.PI * frequencyHz * at) / rateHz),
      ),
    ),
  );
}

/** What is found, in pieces as a line delivers them. */
function found(sound: Int16Array, rateHz: number): string[] {
  const detector = new SpecialInformationDetector(rateHz);
  const all: string[] = [];
  const step = rateHz / 50;
  for (let at = 0; at < sound.length; at += step) {
    const end = detector.push(sound.subarray(at, at + step));
    if (end !== null) all.push(end);
  }
  return all;
}

const QUIET: Part = [0, 300];

describe('special information tones', () => {
  it.each([8000, 16_000])('are found at %i Hz, in each of their variants', (rateHz) => {
    const variants: [string, readonly Part[], string][] = [
      [
        'E.180',
        [
          [950, 330],
          [1400, 330],
          [1800, 330],
        ],
        'failed',
      ],
      [
        'E.180 with gaps, short and low',
        [
          [910, 262],
          [0, 30],
          [1360, 262],
          [0, 30],
          [1760, 262],
        ],
        'failed',
      ],
      [
        'E.180, long and high',
        [
          [990, 398],
          [1415, 398],
          [1840, 398],
        ],
        'failed',
      ],
      [
        'intercept',
        [
          [913.8, 276],
          [1370.6, 276],
          [1776.7, 380],
        ],
        'failed',
      ],
      [
        'vacant code',
        [
          [985.2, 380],
          [1370.6, 276],
          [1776.7, 380],
        ],
        'failed',
      ],
      [
        'no circuit',
        [
          [985.2, 380],
          [1428.5, 380],
          [1776.7, 380],
        ],
        'busy',
      ],
      [
        'no circuit, between networks',
        [
          [913.8, 380],
          [1370.6, 380],
          [1776.7, 380],
        ],
        'busy',
      ],
      [
        'reorder',
        [
          [913.8, 276],
          [1428.5, 380],
          [1776.7, 380],
        ],
        'busy',
      ],
    ];
    for (const [name, parts, end] of variants) {
      for (const amplitude of [600, 6000, 20_000]) {
        const sound = soundOf([QUIET, ...parts, QUIET], rateHz, amplitude);
        expect({ name, amplitude, found: found(sound, rateHz) }).toEqual({ name, amplitude, found: [end] });
      }
    }
  });

  it('are found though a packet of 20 ms is lost in each tone', () => {
    const tones: readonly Part[] = [950, 1400, 1800].flatMap((hz): Part[] => [
      [hz, 150],
      [0, 20],
      [hz, 150],
    ]);
    expect(found(soundOf([QUIET, ...tones, QUIET], 8000), 8000)).toEqual(['failed']);
  });

  it.each<[string, readonly Part[]]>([
    ['two of them', [[950, 330], [1400, 330], QUIET]],
    [
      'the other way round',
      [
        [1800, 330],
        [1400, 330],
        [950, 330],
      ],
    ],
    [
      'with long pauses',
      [
        [950, 330],
        [0, 400],
        [1400, 330],
        [0, 400],
        [1800, 330],
      ],
    ],
    [
      'too short',
      [
        [950, 120],
        [1400, 120],
        [1800, 120],
      ],
    ],
    [
      'held',
      [
        [950, 900],
        [1400, 900],
        [1800, 900],
      ],
    ],
    ['a beep', [[1400, 400]]],
    [
      'a scale',
      [
        [880, 250],
        [988, 250],
        [1109, 250],
        [1175, 250],
        [1319, 250],
        [1480, 250],
        [1661, 250],
        [1760, 250],
      ],
    ],
  ])('are not %s', (_name, parts) => {
    expect(found(soundOf([QUIET, ...parts, QUIET], 8000), 8000)).toEqual([]);
  });
});
