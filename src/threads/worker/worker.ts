import { parentPort, workerData } from 'node:worker_threads';
import { RealClock } from '../../base/real-clock.js';
import type { ThreadSettings } from '../wire/protocol.js';
import { loadPlugins } from '../../plugins/load-plugins.js';
import { MediaWorker } from './media-worker.js';

/** The entry of a media thread, see `MediaThread`. */
const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const settings = workerData as ThreadSettings;
// What the main thread sends meanwhile waits until there is a listener.
const side = new MediaWorker({
  settings,
  plugins: await loadPlugins(settings.options.pluginFiles ?? []),
  clock: new RealClock(),
  post: (message) => port.postMessage(message),
});
port.on('message', (message) => side.receive(message));
