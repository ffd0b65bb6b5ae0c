import type { AgentSplit, Author, Publishing } from './agents.js';
import { run, sql, type SqlDatabase, type Transaction } from './sql/statement.js';

/** What was done with the versions of an agent. */
export type PublicationAction = 'publish' | 'rollback' | 'split' | 'discard' | 'settings';

/**
 * - `checking`: a run of the gate's test suite goes on.
 * - `scheduled`: it waits for its time.
 * - `done`: it is carried out.
 * - `refused`: the gate has refused it; the details say why.
 * - `canceled`: by a request, or by a rollback.
 */
export type PublicationStatus = 'checking' | 'scheduled' | 'done' | 'refused' | 'canceled';

export interface PublicationDetails {
  /** Why it was refused, canceled or let through without the gate. */
  reason?: string;
  /** Cases of the gate's suite that failed. */
  failed?: readonly { name: string; mode: string; passes: number; runs: number; needed: number }[];
  /** Runs that the stop of a daemon has cut off. */
  restarts?: number;
  /** Somebody has published without the gate. */
  override?: boolean;
  split?: AgentSplit | null;
  settings?: Pick<Publishing, 'drafts' | 'gate' | 'widget'>;
}

/** An entry of the record of who did what with the versions of an agent. Times in microseconds since 1970. */
export interface Publication {
  /** Grows with each entry. */
  seq: number;
  id: string;
  agentId: string;
  action: PublicationAction;
  status: PublicationStatus;
  /** The version that it is about; null = none. */
  version: number | null;
  /** The published version before it; null = it has not changed which one is. */
  previous: number | null;
  note: string | null;
  details: PublicationDetails;
  /** The run of the gate's suite. */
  runId: string | null;
  /** When to publish; null = at once. */
  dueUs: number | null;
  by: Author | null;
  createdUs: number;
  /** Null = it is `checking` or `scheduled`. */
  finishedUs: number | null;
}

export type NewPublication = Omit<Publication, 'seq' | 'createdUs' | 'finishedUs'>;

interface Row {
  seq: number;
  id: string;
  agent_id: string;
  action: PublicationAction;
  status: PublicationStatus;
  version: number | null;
  previous: number | null;
  note: string | null;
  details: string;
  run_id: string | null;
  due_us: number | null;
  by_key: string | null;
  by_name: string | null;
  created_us: number;
  finished_us: number | null;
}

/** Entries that are kept of one agent. The oldest that are over are deleted first. */
const MAX_ENTRIES = 1000;

/** Who has published, scheduled, rolled back, split and discarded versions of agents, and when. */
export class PublicationStore {
  /** Whether other nodes may add entries. */
  readonly isShared: boolean;
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.isShared = database.dialect === 'postgres';
    this.#database = database;
  }

  *adding(entry: NewPublication): Transaction<void> {
    const { id, agentId, action, status, version, previous, note, details, runId, dueUs, by } = entry;
    const nowUs = yield* this.#database.nowUs();
    const finishedUs = isOpen(status) ? null : nowUs;
    yield sql`INSERT INTO agent_publications (id, agent_id, action, status, version, previous, note, details, run_id, due_us,
        by_key, by_name, created_us, finished_us)
      VALUES (${id}, ${agentId}, ${action}, ${status}, ${version}, ${previous}, ${note}, ${JSON.stringify(details)},
        ${runId}, ${dueUs}, ${by?.id ?? null}, ${by?.name ?? null}, ${nowUs}, ${finishedUs})`;
    yield sql`DELETE FROM agent_publications WHERE agent_id = ${agentId} AND finished_us IS NOT NULL AND seq <=
      (SELECT seq FROM agent_publications WHERE agent_id = ${agentId} ORDER BY seq DESC LIMIT 1 OFFSET ${MAX_ENTRIES})`;
  }

  /** Whether something of an agent is open. */
  *hasOpen(agentId: string): Transaction<boolean> {
    const { rows } = yield sql`SELECT 1 AS one FROM agent_publications
      WHERE agent_id = ${agentId} AND finished_us IS NULL LIMIT 1`;
    return rows.length > 0;
  }

  /** Adds an entry, unless another one of the agent is open. Returns whether it did. */
  addOpen(entry: NewPublication): Promise<boolean> {
    const parts = (): Transaction<boolean> => this.#addingOpen(entry);
    return this.#database.transaction(parts, `publications of ${entry.agentId}`);
  }

  /**
   * Moves an open entry on.
   * @param from the status that it must still have
   * @returns whether it had it: another node may have moved it on
   */
  *moving(
    { id, status: from }: Pick<Publication, 'id' | 'status'>,
    to: Pick<Publication, 'status' | 'details' | 'runId'> & { previous?: number | null },
  ): Transaction<boolean> {
    const finishedUs = isOpen(to.status) ? null : yield* this.#database.nowUs();
    const changes = yield* run(
      sql`UPDATE agent_publications SET status = ${to.status}, details = ${JSON.stringify(to.details)},
          run_id = ${to.runId}, previous = ${to.previous ?? null}, finished_us = ${finishedUs}
        WHERE id = ${id} AND status = ${from} AND finished_us IS NULL`,
    );
    return changes > 0;
  }

  /** As `moving`, by itself. */
  move(...moved: Parameters<PublicationStore['moving']>): Promise<boolean> {
    return this.#database.transaction(() => this.moving(...moved));
  }

  /** Ends what is open of an agent. Returns the number of entries. */
  *canceling(agentId: string, reason: string): Transaction<number> {
    const nowUs = yield* this.#database.nowUs();
    return yield* run(
      sql`UPDATE agent_publications SET status = 'canceled', details = ${JSON.stringify({ reason })},
          finished_us = ${nowUs} WHERE agent_id = ${agentId} AND finished_us IS NULL`,
    );
  }

  *#addingOpen(entry: NewPublication): Transaction<boolean> {
    if (yield* this.hasOpen(entry.agentId)) return false;
    yield* this.adding(entry);
    return true;
  }

  async get(id: string): Promise<Publication | null> {
    const row = await this.#database.first<Row>(sql`SELECT * FROM agent_publications WHERE id = ${id}`);
    return row === null ? null : publicationOf(row);
  }

  /** Latest first. @param before only entries before this one */
  async list(agentId: string, { limit, before }: { limit: number; before: number }): Promise<Publication[]> {
    const rows = await this.#database.all<Row>(
      sql`SELECT * FROM agent_publications WHERE agent_id = ${agentId} AND seq < ${before} ORDER BY seq DESC LIMIT ${limit}`,
    );
    return rows.map(publicationOf);
  }

  /** The last publication that made a version the published one; null = none is kept. */
  async lastOf(agentId: string, version: number): Promise<Publication | null> {
    const row = await this.#database.first<Row>(
      sql`SELECT * FROM agent_publications WHERE agent_id = ${agentId} AND version = ${version} AND action = 'publish'
          AND status = 'done' AND previous IS NOT NULL ORDER BY seq DESC LIMIT 1`,
    );
    return row === null ? null : publicationOf(row);
  }

  /** All entries that are open, oldest first, with the time of the database. */
  open(): Promise<{ nowUs: number; entries: Publication[] }> {
    const nowUs = (): Transaction<number> => this.#database.nowUs();
    return this.#database.read(function* () {
      const now = yield* nowUs();
      const { rows } = yield sql`SELECT * FROM agent_publications WHERE finished_us IS NULL ORDER BY seq`;
      return { nowUs: now, entries: (rows as readonly Row[]).map(publicationOf) };
    });
  }
}

function isOpen(status: PublicationStatus): boolean {
  return status === 'checking' || status === 'scheduled';
}

function publicationOf(row: Row): Publication {
  return {
    seq: row.seq,
    id: row.id,
    agentId: row.agent_id,
    action: row.action,
    status: row.status,
    version: row.version,
    previous: row.previous,
    note: row.note,
    details: JSON.parse(row.details) as PublicationDetails,
    runId: row.run_id,
    dueUs: row.due_us,
    by: row.by_key === null ? null : { id: row.by_key, name: row.by_name ?? '' },
    createdUs: row.created_us,
    finishedUs: row.finished_us,
  };
}
