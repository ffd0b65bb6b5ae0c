// Stands in for the recogniser's worker: opens anything, and dies at the second piece of audio it is given.
import { parentPort } from 'node:worker_threads';

let pieces = 0;
parentPort.on('message', (request) => {
  if (request.kind === 'audio' && ++pieces === 2) throw new Error('the decoder broke');
  const value = request.kind === 'audio' ? { text: 'yes', understood: true, confidence: 1, words: [] } : null;
  if (request.id !== undefined) parentPort.postMessage({ id: request.id, ok: true, value });
});
