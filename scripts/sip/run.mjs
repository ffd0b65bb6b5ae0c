/**
 * `npm run test:sip`: parley's SIP trunk against sipp (Debian: sip-tester), in both roles, with media, and against baresip
 * and Asterisk where they are installed. One line a case;
 * the last line is `N passed, N failed`. Names of cases as arguments run these alone. Uses the build in dist.
 */
import { hasTool } from '../system-tools.mjs';
import { agentsOnATrunk } from './agents.mjs';
import { callsWithAsterisk } from './asterisk.mjs';
import { callsWithBaresip } from './baresip.mjs';
import { CASES } from './cases.mjs';
import { conferenceOverSip, controlOfASipCall } from './live-control.mjs';
import { tidy } from './rig.mjs';
import { callsWithThreads } from './threads.mjs';
import { TRANSFERS } from './transfers.mjs';
import { TRUNKS } from './trunks.mjs';

if (!hasTool('sipp')) {
  console.log('sipp is not installed (Debian: apt-get install sip-tester)');
  process.exit(1);
}
const wanted = process.argv.slice(2);
let passed = 0;
let failed = 0;
/** @type {[name: string, run: () => Promise<unknown>][]} */
const all = [
  ...CASES,
  ...TRANSFERS,
  ...TRUNKS,
  ['with media threads as without', () => callsWithThreads(hasTool('baresip'))],
  ['agents: a mailbox, a person, a menu and a booking, with 5 % loss and 60 ms of jitter', agentsOnATrunk],
];
if (hasTool('baresip')) {
  for (const protocol of /** @type {const} */ (['UDP', 'TCP', 'TLS'])) {
    all.push([
      `baresip, both ways, over ${protocol}${protocol === 'TLS' ? ' with SRTP' : ''}`,
      () => callsWithBaresip(protocol),
    ]);
  }
  all.push(['baresip, both ways, over TLS with SRTP on IPv6', () => callsWithBaresip('TLS', '::1')]);
  for (const threads of [0, 1]) {
    all.push([`control commands, with ${String(threads)} media threads`, () => controlOfASipCall(threads)]);
    all.push([`a conference of three, with ${String(threads)} media threads`, () => conferenceOverSip(threads)]);
  }
} else console.log('– baresip is not installed (Debian: apt-get install baresip-core): its calls are left out');
if (hasTool('asterisk')) all.push(['Asterisk, both ways, by address and registered', callsWithAsterisk]);
else console.log('– asterisk is not installed: its calls are left out');
for (const [name, run] of all) {
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
