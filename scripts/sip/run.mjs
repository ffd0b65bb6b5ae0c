/**
 * `npm run test:sip`: parley's SIP trunk against sipp (Debian: sip-tester), in both roles, with media. One line a case;
 * the last line is `N passed, N failed`. Names of cases as arguments run these alone. Uses the build in dist.
 */
import { spawnSync } from 'node:child_process';
import { CASES } from './cases.mjs';
import { tidy } from './rig.mjs';

if (spawnSync('sipp', ['-v']).error !== undefined) {
  console.log('sipp is not installed (Debian: apt-get install sip-tester)');
  process.exit(1);
}
const wanted = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const [name, run] of CASES) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const startMs = performance.now();
  try {
    const note = await run();
    passed++;
    console.log(
      `✓ ${name}  ${((performance.now() - startMs) / 1000).toFixed(1)} s${typeof note === 'string' ? `  ${note}` : ''}`,
    );
  } catch (error) {
    failed++;
    console.log(`✗ ${name}\n  ${String(/** @type {Error} */ (error).stack ?? error).replaceAll('\n', '\n  ')}`);
  }
}
tidy();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
