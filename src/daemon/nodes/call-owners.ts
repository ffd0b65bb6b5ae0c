import { sql, type SqlDatabase } from '../../store/sql/statement.js';
import type { Owner } from '../http/forwarder.js';

interface Row {
  node_id: string | null;
  ended_us: number | null;
}

/** Finds the nodes that have calls. */
export class CallOwners {
  readonly #database: SqlDatabase | null;

  /** @param database null = there is one node */
  constructor(database: SqlDatabase | null) {
    this.#database = database;
  }

  /** For what only the node of a running call can answer. Null = there is no such call, or it has ended. */
  async ofRunning(sessionId: string): Promise<Owner | null> {
    const owner = await this.of(sessionId);
    return owner?.isNeeded === true ? owner : null;
  }

  /** For a carrier's request about a call with its id. Null = no node has it. */
  async ofCallId(callId: string): Promise<Owner | null> {
    const row = await this.#database?.first<Row>(
      sql`SELECT node_id, ended_us FROM calls WHERE call_id = ${callId} AND ended_us IS NULL`,
    );
    return row?.node_id == null ? null : { nodeId: row.node_id, what: 'call', isNeeded: false };
  }

  /** For what the node of a call knows better, even after the call's end: its events and its files. */
  async of(sessionId: string): Promise<Owner | null> {
    if (this.#database === null) return null;
    const row = await this.#database.first<Row>(
      sql`SELECT node_id, ended_us FROM calls WHERE session_id = ${sessionId}`,
    );
    if (row === null || row.node_id === null) return null;
    return { nodeId: row.node_id, what: 'call', isNeeded: row.ended_us === null };
  }
}
