import { randomBytes } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import type { Clock } from '../base/clock.js';
import { RealClock } from '../base/real-clock.js';
import type { Settings } from '../settings/settings.js';
import type { Engine } from '../engine/engine.js';
import type { UnfinishedSession } from '../engine/unfinished-session.js';
import { AgentStore } from '../store/agents.js';
import { PublicationStore } from '../store/publications.js';
import { Checkpointer } from '../store/checkpointer.js';
import { CallStore } from '../store/calls.js';
import { DoNotCallStore } from '../store/do-not-call.js';
import { EvalRunStore } from '../store/eval-runs.js';
import { EvalSuiteStore } from '../store/eval-suites.js';
import { KeyStore } from '../store/keys.js';
import { DialStore } from '../store/dials.js';
import { StoredOutbox } from '../store/outbox.js';
import { PhoneStore } from '../store/phones.js';
import type { SecretBox } from '../store/secret-box.js';
import { type Keys, openSecretBox, openSigningKeys } from '../store/secret-keys.js';
import { SessionStore } from '../store/sessions.js';
import { doNotCallOfSessions, memoryOfSessions } from '../store/session-writes.js';
import type { DoNotCallList } from '../session/after-call/do-not-call.js';
import type { SessionMemory } from '../session/after-call/memory.js';
import { UnfinishedStore } from '../store/unfinished.js';
import { UnfinishedWrites } from '../store/unfinished-writes.js';
import type { SqlDatabase } from '../store/sql/statement.js';
import type { Writes } from '../store/writes.js';
import type { Queues } from '../base/queues.js';
import type { LiveTables } from '../store/sql/live-table.js';
import type { RowOwner } from '../store/row-owner.js';
import { MemoryTokenUses, SqlTokenUses, type TokenUses } from '../store/token-uses.js';
import { VoiceStore } from '../store/voices.js';
import { McpAuthorizationStore } from '../store/mcp-authorizations.js';
import { McpAuthorizer } from '../tools/mcp/oauth/authorizer.js';
import { AgentData } from './agents/agent-data.js';
import { clientDocumentUrl } from './mcp/client-document.js';
import type { DaemonModule } from './module.js';

export interface StoresOptions {
  settings: Settings;
  database: SqlDatabase;
  sqlite: Database | null;
  tables: LiveTables;
  /** Of this process: its rows carry the id. */
  node: RowOwner;
  writes: Writes;
  queues: Queues;
  clock: Clock;
  nowUnixMs: () => number;
  onError: (error: Error) => void;
}

/** Stores that are read without waiting, and what they need. */
type LiveStores = Pick<
  Stores,
  'box' | 'signingKeys' | 'sharedKeys' | 'tokenUses' | 'keys' | 'phones' | 'agents' | 'voices'
>;

/** The daemon's stores. */
export class Stores implements DaemonModule {
  readonly name = 'stores';
  readonly keys: KeyStore;
  readonly box: SecretBox;
  /** The first one signs, all verify. */
  readonly signingKeys: Keys;
  /** Keys that all processes on this database have. On SQLite, which has one, they are new at each start. */
  readonly sharedKeys: Keys;
  readonly tokenUses: TokenUses;
  readonly phones: PhoneStore;
  readonly agents: AgentStore;
  /** Knowledge and memories of agents. */
  readonly agentData: AgentData;
  readonly doNotCall: DoNotCallStore;
  readonly voices: VoiceStore;
  readonly calls: CallStore;
  readonly dials: DialStore;
  readonly publications: PublicationStore;
  readonly evalSuites: EvalSuiteStore;
  readonly evalRuns: EvalRunStore;
  /** Messages to agents' own webhooks. */
  readonly outbox: StoredOutbox;
  /** OAuth at the operator's MCP servers. */
  readonly mcpAuthorizer: McpAuthorizer;
  readonly unfinished: UnfinishedStore<UnfinishedSession>;
  readonly #unfinished: UnfinishedWrites<UnfinishedSession>;
  readonly #doNotCall: DoNotCallList;
  readonly #sessions: SessionMemory;
  readonly #checkpointer: Checkpointer | null;
  readonly #onError: (error: Error) => void;

  private constructor(options: StoresOptions, live: LiveStores) {
    const { settings, database, sqlite, writes, queues, node, clock, nowUnixMs, onError } = options;
    this.#onError = onError;
    this.keys = live.keys;
    this.box = live.box;
    this.signingKeys = live.signingKeys;
    this.sharedKeys = live.sharedKeys;
    this.tokenUses = live.tokenUses;
    this.phones = live.phones;
    this.agents = live.agents;
    this.voices = live.voices;
    this.agentData = new AgentData({ settings, onError, database, writes, clock, nowUnixMs });
    this.doNotCall = new DoNotCallStore(database);
    this.calls = new CallStore(database, node);
    this.dials = new DialStore(database, node);
    this.publications = new PublicationStore(database);
    this.evalSuites = new EvalSuiteStore(database);
    this.evalRuns = new EvalRunStore(database, this.box);
    this.outbox = new StoredOutbox(database, this.box, 'agent', writes);
    this.mcpAuthorizer = new McpAuthorizer({
      servers: settings.mcpServers,
      store: new McpAuthorizationStore(database, this.box),
      clock: clock.virtual ? new RealClock() : clock,
      nowUnixMs,
      clientDocument: () => clientDocumentUrl(settings),
    });
    this.unfinished = new UnfinishedStore(database, this.box, node);
    this.#unfinished = new UnfinishedWrites(this.unfinished, writes, queues);
    this.#doNotCall = doNotCallOfSessions(this.doNotCall, writes);
    this.#sessions = memoryOfSessions(new SessionStore(database), writes, queues);
    this.#checkpointer = sqlite === null ? null : new Checkpointer({ database: sqlite, clock, onError });
  }

  /** @throws ParleyError SECRETS_UNREADABLE if encrypted data cannot be decrypted, SECRETS_DIFFER */
  static async open(options: StoresOptions): Promise<Stores> {
    const { settings, database, tables, nowUnixMs } = options;
    const use = { database, nowUnixMs };
    const box = await openSecretBox(use, settings);
    const signingKeys = await openSigningKeys(use, settings);
    const isShared = database.dialect === 'postgres';
    return new Stores(options, {
      box,
      signingKeys,
      sharedKeys: isShared ? signingKeys : [randomBytes(32)],
      tokenUses: isShared ? new SqlTokenUses(database, nowUnixMs) : new MemoryTokenUses(nowUnixMs),
      keys: await KeyStore.open(database, tables, nowUnixMs),
      phones: await PhoneStore.open(database, tables, box),
      agents: await AgentStore.open(database, tables, box),
      voices: await VoiceStore.open(database, tables),
    });
  }

  /** The stores that the engine uses. */
  get forEngine(): Parameters<Engine['keepIn']>[0] {
    const { knowledge, memories } = this.agentData;
    return {
      knowledge,
      memories,
      doNotCall: this.#doNotCall,
      voices: this.voices,
      sessionMemory: this.#sessions,
      mcpTokens: this.mcpAuthorizer,
      outboxStore: this.outbox,
      unfinished: this.#unfinished,
      onWebhookLost: (sessionId, reason) => this.#onError(new Error(`session_data_webhook of ${sessionId}: ${reason}`)),
    };
  }

  /** Creates a private key if there is none. Returns the new key, else null. */
  async firstKeys({ publicKey, apiKey }: Pick<Settings, 'publicKey' | 'apiKey'>): Promise<string | null> {
    await this.keys.ofEnvironment('public', publicKey);
    await this.keys.ofEnvironment('private', apiKey);
    return this.keys.createFirst('first key');
  }

  /** Opens everything that the first call needs. */
  async warmUp(): Promise<void> {
    this.#checkpointer?.start();
    await this.agentData.warmUp();
  }

  /** May be called twice. Does not close the database. */
  async close(): Promise<void> {
    await Promise.all([this.agentData.close(), this.#checkpointer?.close(), this.mcpAuthorizer.close()]);
  }
}
