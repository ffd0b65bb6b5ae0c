/**
 * `node --import ./scripts/loop-delay.mjs PROGRAM`: measures how long the program's event loop stands still. SIGUSR2
 * prints the figures since the last one to stderr and begins anew.
 */
import { writeSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

process.on('SIGUSR2', () => {
  const ms = (/** @type {number} */ ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS).toFixed(0);
  writeSync(2, `event loop delay: median ${ms(delay.percentile(50))}, p99 ${ms(delay.percentile(99))}, `);
  writeSync(2, `longest ${ms(delay.max)} ms\n`);
  delay.reset();
});
