import { randomUUID } from 'node:crypto';
import type { McpAuthorization, McpAuthorizations } from '../tools/mcp/oauth/authorizations.js';
import type { SecretBox } from './secret-box.js';
import { run, sql, type SqlDatabase } from './sql/statement.js';

const PURPOSE = 'mcp_authorizations.record';

/** Authorizations at MCP servers, for all nodes. Records hold tokens and secrets of clients, so they are encrypted. */
export class McpAuthorizationStore implements McpAuthorizations {
  readonly #database: SqlDatabase;
  readonly #box: SecretBox;
  /** Of this process. */
  readonly #holder = randomUUID();

  constructor(database: SqlDatabase, box: SecretBox) {
    this.#database = database;
    this.#box = box;
  }

  async get(server: string): Promise<McpAuthorization | null> {
    const row = await this.#database.first<{ record: string | null }>(
      sql`SELECT record FROM mcp_authorizations WHERE server = ${server}`,
    );
    return row?.record == null ? null : (JSON.parse(this.#box.open(row.record, PURPOSE)) as McpAuthorization);
  }

  async set(server: string, authorization: McpAuthorization | null): Promise<void> {
    const record = authorization === null ? null : this.#box.seal(JSON.stringify(authorization), PURPOSE);
    await this.#database.run(
      sql`INSERT INTO mcp_authorizations (server, record) VALUES (${server}, ${record})
          ON CONFLICT (server) DO UPDATE SET record = excluded.record`,
    );
  }

  claim(server: string, ms: number): Promise<boolean> {
    const { dialect } = this.#database;
    const [database, holder] = [this.#database, this.#holder];
    return database.transaction(function* () {
      const nowUs = yield* database.nowUs();
      const until = nowUs + ms * 1000;
      const column = dialect === 'postgres' ? sql`CAST(${until} AS BIGINT)` : sql`${until}`;
      const claimed = yield* run(
        sql`INSERT INTO mcp_authorizations (server, claimed_by, claimed_until_us) VALUES (${server}, ${holder}, ${column})
            ON CONFLICT (server) DO UPDATE SET claimed_by = excluded.claimed_by, claimed_until_us = excluded.claimed_until_us
            WHERE mcp_authorizations.claimed_until_us IS NULL OR mcp_authorizations.claimed_until_us <= ${nowUs}`,
      );
      return claimed > 0;
    });
  }

  async release(server: string): Promise<void> {
    await this.#database.run(
      sql`UPDATE mcp_authorizations SET claimed_by = NULL, claimed_until_us = NULL
          WHERE server = ${server} AND claimed_by = ${this.#holder}`,
    );
  }
}
