import type { EngineOptions } from '../../engine/options.js';
import { ParleyError } from '../../base/errors.js';
import type { MainMethods } from '../wire/protocol.js';
import { PhoneLineProxy } from './phone-line-proxy.js';
import { type LineProxy, WebRtcLineProxy } from './line-proxy.js';
import type { SessionProxy } from './session-proxy.js';
import { fromWire } from '../wire/rpc.js';

export interface MainMethodsOptions {
  /** The stores of the main thread's engine. */
  stores: Pick<EngineOptions, 'knowledge' | 'memories' | 'doNotCall' | 'sessionMemory' | 'unfinished' | 'onMcpFault'>;
  lines: ReadonlyMap<string, LineProxy>;
  sessions: ReadonlyMap<string, SessionProxy>;
  /** A session is over. */
  onFinished: (session: SessionProxy) => void;
  onFault: (error: Error) => void;
}

/** Methods of the main thread for a media thread and its sessions: all writes to stores, and all questions. */
export function mainMethods({ stores, lines, sessions, onFinished, onFault }: MainMethodsOptions): MainMethods {
  const { knowledge, memories, doNotCall, sessionMemory, unfinished } = stores;
  const known = (id: string): SessionProxy => {
    const session = sessions.get(id);
    if (session === undefined) throw new ParleyError('SESSION_CLOSED');
    return session;
  };
  return {
    connected: (id) => {
      const line = lines.get(id);
      if (line instanceof WebRtcLineProxy) line.isConnected();
    },
    notConnected: ({ line, error }) => lines.get(line)?.lost(fromWire(error)),
    lineLeft: ({ line: id, facts }) => {
      const line = lines.get(id);
      if (line instanceof PhoneLineProxy) line.left(facts);
    },
    mediaLost: ({ line: id, error }) => {
      const line = lines.get(id);
      if (line instanceof PhoneLineProxy) line.mediaLost(fromWire(error));
    },
    mediaAnnounced: ({ line: id, what }) => {
      const line = lines.get(id);
      if (line instanceof PhoneLineProxy) line.mediaAnnounced(what);
    },
    transfer: async ({ line, target }, signal) =>
      lines.get(line)?.transferTo(target, signal) ?? { ok: false, reason: 'failed' },
    event: ({ session, event }) => sessions.get(session)?.event(event),
    log: ({ session, entry }) => sessions.get(session)?.log(entry),
    finished: (report) => {
      const session = sessions.get(report.sessionId);
      if (session === undefined) return;
      onFinished(session);
      session.end(report);
    },
    mayTransfer: async ({ session, target }) => known(session).mayTransfer(target),
    consult: async ({ session, about }, signal) => known(session).consult(about, signal),
    doNotCall: (entry) => {
      try {
        doNotCall?.add(entry);
      } catch (error) {
        // As with a local list: the call continues, and its log has the fault.
        sessions.get(entry.sessionId ?? '')?.noteFault('doNotCall.failed', String(error));
      }
    },
    remember: (session) => sessionMemory?.keep(session),
    knownFiles: async (ids) => knowledge?.known(ids) ?? [],
    filesOf: async (agentId) => knowledge?.filesOf(agentId) ?? [],
    search: async (query, signal) => knowledge?.search({ ...query, signal }) ?? [],
    recall: async ({ agentId, user, limit }) => memories?.recall(agentId, user, limit) ?? [],
    keepMemory: async (memory) => memories?.keep(memory),
    startAfterCall: async ({ session, name }) => (await unfinished?.start(session, name)) ?? true,
    finishAfterCall: async ({ session, call }) => unfinished?.finish(session, call),
    fault: (error) => onFault(fromWire(error)),
    mcpFault: ({ server, reason }) => stores.onMcpFault?.(server, reason),
  };
}
