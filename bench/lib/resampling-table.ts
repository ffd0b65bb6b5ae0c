import { markdownTable } from './numbers.js';
import { qualityOf } from './resampler-quality.js';
import type { RatedResampler } from './resamplers.js';
import { race } from './rivals.js';

/** What resamplers cost, run in turns, and how good they are; the first is ours. */
export function resamplingTable(all: readonly RatedResampler[], from: number, to: number, rounds: number): string {
  const us = race(
    all.map(({ name, once }) => [name, once]),
    rounds,
  );
  const rows = all.map(({ name, whole }, at) => {
    const { snr, ripple, band, rejection } = qualityOf(whole, from, to);
    return [name, us[at] ?? 0, (us[at] ?? 0) / (us[0] ?? 0), snr, ripple.toFixed(2), band.toFixed(2), rejection];
  });
  const heads = [
    `${String(from)} to ${String(to)} Hz`,
    'us',
    'times ours',
    'SNR dB',
    'ripple dB',
    'band',
    'rejection dB',
  ];
  return markdownTable([heads, ...rows]);
}
