import type { DoNotCallEntry, DoNotCallList } from '../session/after-call/do-not-call.js';
import type { FinishedSession, SessionMemory } from '../session/after-call/memory.js';
import type { Queues } from '../base/queues.js';
import type { DoNotCallStore } from './do-not-call.js';
import type { SessionStore } from './sessions.js';
import type { Writes } from './writes.js';

/** The do-not-call list of sessions: what they add is not lost while the database cannot be reached. */
export function doNotCallOfSessions(store: DoNotCallStore, writes: Writes): DoNotCallList {
  const add = writes.operation('doNotCall.add', (entry: DoNotCallEntry) => store.adding(entry));
  return {
    has: (number) => store.has(number),
    list: () => store.list(),
    remove: (number) => store.remove(number),
    add: async (entry) => void (await add(entry)),
  };
}

/**
 * The memory of sessions: what they keep is not lost while the database cannot be reached.
 * @param queues the order of the writes about each session
 */
export function memoryOfSessions(store: SessionStore, writes: Writes, queues: Queues): SessionMemory {
  const keep = writes.operation(
    'session.keep',
    ({ identifiers, ...session }: Omit<FinishedSession, 'identifiers'> & { identifiers: [string, string][] }) =>
      store.keeping({ ...session, identifiers: new Map(identifiers) }),
  );
  return {
    byId: (id, agentId) => store.byId(id, agentId),
    latest: (identifier, value, agentId) => store.latest(identifier, value, agentId),
    keep: async (session) => {
      const plain = { ...session, identifiers: [...session.identifiers] };
      await queues.run(session.sessionId, () => keep(plain));
    },
  };
}
