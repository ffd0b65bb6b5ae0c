import { ToneGenerator } from './tones.js';

/** The frequencies of ITU-T Q.23. */
export const DTMF_ROWS_HZ: readonly number[] = [697, 770, 852, 941];
export const DTMF_COLUMNS_HZ: readonly number[] = [1209, 1336, 1477, 1633];
/** The keys, row by row. */
export const DTMF_KEYS = '123A456B789C*0#D';

export interface DtmfOptions {
  /** Default 100. Q.24 asks receivers for 40. */
  readonly onMs?: number;
  /** Silence after each digit. Default 100. */
  readonly offMs?: number;
  /** Level of the row's frequency as its amplitude. The column's is 2 dB above it, for what lines lose. Default -13. */
  readonly levelDbfs?: number;
}

/**
 * The digits as keypad tones. Lower case letters are taken as upper case.
 *
 * @throws RangeError for anything that is not a key
 */
export function dtmfTones(digits: string, sampleRateHz: number, options: DtmfOptions = {}): Int16Array {
  const { onMs = 100, offMs = 100, levelDbfs = -13 } = options;
  const perDigit = Math.round(((onMs + offMs) * sampleRateHz) / 1000);
  const out = new Int16Array(digits.length * perDigit);
  for (let i = 0; i < digits.length; i++) {
    const key = DTMF_KEYS.indexOf(digits[i]!.toUpperCase());
    if (key < 0) throw new RangeError(`"${digits[i]}" is not on the keypad`);
    const generator = new ToneGenerator(sampleRateHz, {
      frequenciesHz: [DTMF_ROWS_HZ[key >> 2]!, DTMF_COLUMNS_HZ[key & 3]!],
      levelDbfs: [levelDbfs, levelDbfs + 2],
      cadenceMs: [onMs, offMs],
      repeat: false,
    });
    generator.read(out.subarray(i * perDigit, (i + 1) * perDigit));
  }
  return out;
}
