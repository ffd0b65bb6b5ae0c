/**
 * A campaign of 10,000 records that three nodes call at once over one PostgreSQL, in simulated time: one node dies with a
 * record in its hand and calls on its lines, and the campaign is paused for a minute. Then every rule is checked, of every
 * call: each person is called once for each attempt that is allowed, and no pause, pace or limit is broken.
 *
 *   node scripts/cluster/campaign.mjs --seed 1 --records 10000 --nodes 3
 *
 * Uses the build in dist, and test/daemon/campaigns/support, which it bundles into scripts/cluster/.build.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleProgram } from '../../bench/lib/bundle.mjs';
import { PostgresCluster } from '../postgres-cluster.mjs';

/**
 * @param {{ seed: number, records: number, nodes: number }} options
 * @returns {Promise<string>} figures
 * @throws Error where a rule is broken
 */
export async function campaignOverNodes({ seed, records, nodes }) {
  const { runCampaign, postgres } = await import(pathToFileURL(await bundled()).href);
  const folder = mkdtempSync(join(tmpdir(), 'parley-campaign-'));
  // The server runs as another user.
  chmodSync(folder, 0o755);
  process.env['PARLEY_TEST_SHARED'] = folder;
  const startMs = performance.now();
  try {
    const run = await runCampaign({ backend: postgres, records, nodes, seed });
    const shares = Object.entries(run.nodes).map(([node, calls]) => `${node}: ${calls}`);
    const ends = Object.entries(run.ends).map(([status, calls]) => `${calls} ${status}`);
    return [
      `${records} records, ${run.calls} calls (${ends.join(', ')}) by ${shares.join(', ')}`,
      `${(run.tookMs / 60_000).toFixed(0)} simulated minutes in ${((performance.now() - startMs) / 1000).toFixed(0)} s`,
      'every rule held',
    ].join('; ');
  } finally {
    PostgresCluster.sharedIn(folder)?.crash();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the path of a module with `runCampaign` and the backend of the tests. */
async function bundled() {
  const outdir = fileURLToPath(new URL('.build', import.meta.url));
  mkdirSync(outdir, { recursive: true });
  const source = join(outdir, 'campaign.ts');
  const test = (/** @type {string} */ path) => JSON.stringify(`../../../test/${path}`);
  writeFileSync(
    source,
    `export { runCampaign } from ${test('daemon/campaigns/support/campaign-run.ts')};
     export { postgres } from ${test('store/support/backends.ts')};`,
  );
  await bundleProgram(source, outdir, { plugins: [ofBuild(outdir)] });
  return join(outdir, 'campaign.mjs');
}

/**
 * The tests import `src`; here they get the build.
 * @param {string} outdir
 * @returns {import('esbuild').Plugin}
 */
function ofBuild(outdir) {
  const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
  return {
    name: 'build-in-place-of-src',
    setup(bundler) {
      bundler.onResolve({ filter: /^(\.\.\/)+src\// }, ({ path }) => ({
        path: relative(outdir, join(dist, path.replace(/^(\.\.\/)+src\//, ''))),
        external: true,
      }));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      records: { type: 'string', default: '10000' },
      nodes: { type: 'string', default: '3' },
    },
  });
  if (PostgresCluster.programs === null) {
    console.log("not installed: postgresql (Debian's package of this name)");
    process.exit(1);
  }
  const { seed, records, nodes } = values;
  console.log(await campaignOverNodes({ seed: Number(seed), records: Number(records), nodes: Number(nodes) }));
}
