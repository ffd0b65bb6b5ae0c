import { parentPort, workerData } from 'node:worker_threads';
import { ParleyError, reasonOf } from '../base/errors.js';
import { KnowledgeIndex } from './knowledge-index.js';
import type { KnowledgeAnswer, KnowledgeRequest, KnowledgeSettings } from './knowledge-protocol.js';

/** The thread of the knowledge base. It answers the requests of knowledge-protocol.ts. */
const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const send = (answer: KnowledgeAnswer): void => port.postMessage(answer);

const index = new KnowledgeIndex(workerData as KnowledgeSettings, (fault) => send({ id: null, fault }));

port.on('message', ({ id, method, args }: KnowledgeRequest) => {
  const work = index[method].bind(index) as (...args: readonly unknown[]) => unknown;
  new Promise((resolve) => {
    resolve(work(...args));
  })
    .then((value) => send({ id, ok: true, value }))
    .catch((error: unknown) => {
      const known = error instanceof ParleyError ? error : null;
      const { code = null, details = {} } = known ?? {};
      send({ id, ok: false, reason: reasonOf(error), code, details });
    });
});
