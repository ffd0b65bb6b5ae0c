import type { EngineOptions } from '../../engine/options.js';
import { type StoredVoice, VoiceList } from '../../store/voices.js';
import { type SessionTraces, TraceFolder } from '../../session/record/trace-folder.js';
import type { Clock } from '../../base/clock.js';
import type { MainMethods, ThreadSettings } from '../wire/protocol.js';
import type { Rpc } from '../wire/rpc.js';

/** Deadline of a request to a store of the main thread; the callers have shorter ones. */
const ASK_MS = 30_000;

/**
 * The stores of a media thread's sessions: those of the main thread, whose connections to the database serve all threads.
 * A session asks for little, before and after its conversation. Custom voices, which are looked up without waiting, come
 * with each session.
 */
export class WorkerStores {
  readonly traces: TraceFolder | null;
  readonly #main: Rpc<MainMethods>;

  #voices = new VoiceList([]);

  constructor({ traces }: ThreadSettings, main: Rpc<MainMethods>, clock: Clock) {
    this.#main = main;
    this.traces = traces === null ? null : new TraceFolder({ ...traces, clock });
  }

  /** The stores for the thread's engine. */
  get forEngine(): Pick<
    EngineOptions,
    | 'agents'
    | 'knowledge'
    | 'memories'
    | 'doNotCall'
    | 'voices'
    | 'sessionMemory'
    | 'traces'
    | 'afterCallMarks'
    | 'onMcpFault'
    | 'mcpTokens'
  > {
    const main = this.#main;
    const waits = { timeoutMs: ASK_MS };
    return {
      traces: (this.traces satisfies SessionTraces | null) ?? undefined,
      voices: { find: (provider, voiceId) => this.#voices.find(provider, voiceId) },
      doNotCall: {
        has: (number) => main.ask('isOnDoNotCall', number, waits),
        list: () => main.ask('listDoNotCall', null, waits),
        add: async (entry) => main.tell('doNotCall', entry),
        remove: async () => {
          throw new Error('a session cannot remove a number from the do-not-call list');
        },
      },
      sessionMemory: {
        byId: (id, agentId) => main.ask('sessionById', { id, agentId }, waits),
        latest: (identifier, value, agentId) => main.ask('latestSession', { identifier, value, agentId }, waits),
        keep: async (session) => main.tell('remember', session),
      },
      memories: {
        recall: (agentId, user, limit) => main.ask('recall', { agentId, user, limit }, waits),
        keep: (memory) => main.ask('keepMemory', memory, waits),
      },
      agents: { get: (id) => main.ask('findAgent', id, waits) },
      afterCallMarks: {
        start: (session, name) => main.ask('startAfterCall', { session, name }, waits),
        finish: (session, call) => main.ask('finishAfterCall', { session, call }, waits),
      },
      knowledge: {
        known: (ids) => main.ask('knownFiles', ids, waits),
        filesOf: (agentId) => main.ask('filesOf', agentId, waits),
        search: ({ signal, ...query }) => main.ask('search', query, { ...waits, signal }),
      },
      mcpTokens: {
        grant: (server, signal) => main.ask('mcpGrant', server, { ...waits, signal }),
        renew: (server, refusal, signal) => main.ask('mcpRenew', { server, refusal }, { ...waits, signal }),
      },
      onMcpFault: (server, reason) => main.tell('mcpFault', { server, reason }),
    };
  }

  /** The custom voices from now on. */
  setVoices(voices: readonly StoredVoice[]): void {
    this.#voices = new VoiceList(voices);
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await this.traces?.close();
  }
}
