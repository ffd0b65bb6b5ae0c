/** Standard signals of fax machines and modems, for tests and benchmarks. Mono Int16. */

const AMPLITUDE = 6000;

/**
 * The answering tone (V.25): 2100 Hz.
 * @param options.reversals reverses the phase every 450 ms, to disable echo cancellers
 * @param options.modulated modulates the amplitude by 20 % at 15 Hz (ANSam, V.8)
 */
export function answerTone(
  ms: number,
  sampleRateHz: number,
  { hz = 2100, reversals = false, modulated = false } = {},
): Int16Array {
  return Int16Array.from({ length: Math.round((ms * sampleRateHz) / 1000) }, (_, i) => {
    const seconds = i / sampleRateHz;
    const sign = reversals && Math.floor(seconds / 0.45) % 2 === 1 ? -1 : 1;
    const level = modulated ? 1 + 0.2 * Math.sin(2 * Math.PI * 15 * seconds) : 1;
    return Math.round(AMPLITUDE * sign * level * Math.sin(2 * Math.PI * hz * seconds));
  });
}

/** A modem signal at 300 bit/s (V.21, answering side; 1650 Hz = one, 1850 Hz = zero): flags, then `bytes`. */
export function modemSignal(flags: number, bytes: readonly number[], sampleRateHz: number): Int16Array {
  const bits = [...Array.from({ length: flags }, () => 0x7e), ...bytes].flatMap((byte) =>
    Array.from({ length: 8 }, (_, bit) => (byte >> bit) & 1),
  );
  let phase = 0;
  return Int16Array.from({ length: Math.round((bits.length * sampleRateHz) / 300) }, (_, i) => {
    const bit = bits[Math.floor((i * 300) / sampleRateHz)] ?? 1;
    phase += (2 * Math.PI * (bit === 1 ? 1650 : 1850)) / sampleRateHz;
    return Math.round(AMPLITUDE * Math.sin(phase));
  });
}
