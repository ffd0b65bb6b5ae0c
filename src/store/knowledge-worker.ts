import { parentPort, workerData } from 'node:worker_threads';
import { ParleyError, reasonOf } from '../base/errors.js';
import { KnowledgeIndex } from './knowledge-index.js';
import type { KnowledgeAnswer, KnowledgeRequest, KnowledgeSettings } from './knowledge-protocol.js';

/** The thread of the knowledge base. It answers the requests of knowledge-protocol.ts. */
const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const send = (answer: KnowledgeAnswer): void => port.postMessage(answer);

let opening: Promise<KnowledgeIndex> | null = null;

/** A database that cannot be opened now is tried again with the next request. */
function open(): Promise<KnowledgeIndex> {
  opening ??= KnowledgeIndex.open(workerData as KnowledgeSettings, (fault) => send({ id: null, fault })).catch(
    (error: unknown) => {
      opening = null;
      throw error;
    },
  );
  return opening;
}

port.on('message', ({ id, method, args }: KnowledgeRequest) => {
  open()
    .then((index) => (index[method].bind(index) as (...args: readonly unknown[]) => unknown)(...args))
    .then((value) => send({ id, ok: true, value }))
    .catch((error: unknown) => {
      const known = error instanceof ParleyError ? error : null;
      const { code = null, details = {} } = known ?? {};
      send({ id, ok: false, reason: reasonOf(error), code, details });
    });
});
