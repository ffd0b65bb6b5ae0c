/** A folder that all workers of a test run share, and the end of the PostgreSQL server that they may have started there. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresCluster } from '../scripts/postgres-cluster.mjs';

const folder = mkdtempSync(join(tmpdir(), 'parley-test-run-'));

export function setup(): void {
  chmodSync(folder, 0o755); // for the server's user
  process.env['PARLEY_TEST_SHARED'] = folder; // workers inherit it
}

export function teardown(): void {
  PostgresCluster.sharedIn(folder)?.crash();
  rmSync(folder, { recursive: true });
}
