/**
 * Loaded into a daemon process before it starts (`startDaemon`, ../daemon-process.mjs): answers each message of its
 * parent with what the process holds and how long its event loop has stood still since the message before.
 *
 * @typedef {object} Figures
 * @property {number} heapMb JavaScript objects after a full collection
 * @property {number} rssMb resident memory
 * @property {number} handles open sockets, files, timers and other resources that keep the loop alive
 * @property {{ median: number, p99: number, longest: number }} loopDelayMs
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;
const MB = 1024 * 1024;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

process.on('message', () => {
  const ms = (/** @type {number} */ ns) => Math.max(0, Math.round(ns / 1e6 - RESOLUTION_MS));
  const loopDelayMs = { median: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), longest: ms(delay.max) };
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  process.send?.({
    heapMb: heapUsed / MB,
    rssMb: rss / MB,
    handles: process.getActiveResourcesInfo().length,
    loopDelayMs,
  });
  setTimeout(() => delay.reset(), RESOLUTION_MS * 2).unref(); // the collection is not the daemon's
});
// A drive that dies leaves no daemon behind.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel to the parent does not keep a daemon alive that has closed everything else.
process.channel?.unref();
