import { parentPort, workerData } from 'node:worker_threads';
import { RealClock } from '../../base/real-clock.js';
import type { ThreadSettings } from '../wire/protocol.js';
import { MediaWorker } from './media-worker.js';

/** The entry of a media thread, see `MediaThread`. */
const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const side = new MediaWorker({
  settings: workerData as ThreadSettings,
  clock: new RealClock(),
  post: (message) => port.postMessage(message),
});
port.on('message', (message) => side.receive(message));
