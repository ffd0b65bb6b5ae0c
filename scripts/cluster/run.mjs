/**
 * `npm run test:cluster`: three daemons on one PostgreSQL, behind nginx and Kamailio, with a carrier's side of our own. They
 * place and take calls while one is killed with SIGKILL, one drains, the database crashes and restarts, connections to it
 * break, and a share of its notifications is dropped. Then the far end's own count of calls is held against the call log.
 *
 *   npm run test:cluster -- --rounds 50 --seed 1 --calls 200 --records 10000 --verbose
 *
 * --verbose lists how the calls ended. Then three nodes call a campaign of many records in simulated time (campaign.mjs).
 *
 * The last line is `N passed, N failed`, of rounds and the campaign. Uses the build in dist.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hasTool } from '../system-tools.mjs';
import { tidy } from '../sip/rig.mjs';
import { PostgresCluster } from '../postgres-cluster.mjs';
import { campaignOverNodes } from './campaign.mjs';
import { playRound } from './round.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    calls: { type: 'string', default: '200' },
    records: { type: 'string', default: '10000' },
    verbose: { type: 'boolean', default: false },
  },
});
const missing = ['nginx', 'kamailio'].filter((tool) => !hasTool(tool));
if (PostgresCluster.programs === null) missing.push('postgresql');
if (missing.length > 0) {
  console.log(`not installed: ${missing.join(', ')} (Debian's packages of these names)`);
  process.exit(1);
}
let passed = 0;
let failed = 0;
const first = Number(values.seed);
for (let seed = first; seed < first + Number(values.rounds); seed++) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-cluster-'));
  await tried(`seed ${seed}`, () =>
    playRound({ folder, seed, count: Number(values.calls), isVerbose: values.verbose }),
  );
  rmSync(folder, { recursive: true, force: true });
}
const records = Number(values.records);
if (records > 0) {
  await tried(`a campaign of ${records} records`, () => campaignOverNodes({ seed: first, records, nodes: 3 }));
}
tidy();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

/** @param {string} name @param {() => Promise<string>} work resolves with figures */
async function tried(name, work) {
  const startMs = performance.now();
  try {
    const figures = await work();
    passed++;
    console.log(`✓ ${name}  ${((performance.now() - startMs) / 1000).toFixed(0)} s  ${figures}`);
  } catch (error) {
    failed++;
    console.log(`✗ ${name}\n  ${String(/** @type {Error} */ (error).stack ?? error).replaceAll('\n', '\n  ')}`);
  }
}
