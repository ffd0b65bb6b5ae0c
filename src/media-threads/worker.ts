import { parentPort, workerData } from 'node:worker_threads';
import { RealClock } from '../clock/real.js';
import type { ThreadSettings } from './protocol.js';
import { ThreadSide } from './thread-side.js';

/** The entry of a media thread, see `MediaThread`. */
const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const side = new ThreadSide({
  settings: workerData as ThreadSettings,
  clock: new RealClock(),
  post: (message) => port.postMessage(message),
});
port.on('message', (message) => side.receive(message));
