/**
 * `npm run test:fuzz [count] [seed]`: a million mutations each of SIP, descriptions, RTP, RTCP and SRTP, or so many; with a
 * new seed, which is printed, or a given one. What fails is named by its seed, its number and its bytes.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

const [count = '1000000', seed = String(randomInt(2 ** 31))] = process.argv.slice(2);
console.log(`${count} of each kind, seed ${seed}`);
const { status } = spawnSync('npx', ['vitest', 'run', '--retry=0', 'test/rtp/fuzz.test.ts', 'test/sip/fuzz.test.ts'], {
  env: { ...process.env, PARLEY_FUZZ_RUNS: count, PARLEY_FUZZ_SEED: seed },
  stdio: 'inherit',
});
process.exit(status ?? 1);
