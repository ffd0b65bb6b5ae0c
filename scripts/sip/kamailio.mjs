/** The real Kamailio on loopback, with deploy/cluster/kamailio.cfg as it is. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const HOST = '127.0.0.1';
const CLOSE_MS = 5000;
export const KAMAILIO_CFG = fileURLToPath(new URL('../../deploy/cluster/kamailio.cfg', import.meta.url));

/**
 * Starts Kamailio before some daemons.
 * @param {{ folder: string, port: number, daemons: readonly number[], carriers: readonly number[] }} options `folder`:
 *   for its files; ports of SIP sockets on loopback, preferred carriers first
 */
export function startKamailio({ folder, port, daemons, carriers }) {
  const list = join(folder, 'dispatcher.list');
  const control = `unix:${join(folder, 'kamailio-control')}`;
  const nodes = daemons.map((at) => `1 sip:${HOST}:${at}\n`);
  writeFileSync(list, [...nodes, ...carriers.map((at, rank) => `2 sip:${HOST}:${at} 0 ${9 - rank}\n`)].join(''));
  const defined = [`DISPATCHER_LIST="${list}"`, `CONTROL_SOCKET="${control}"`, 'PING_S=1'];
  const own = ['-DD', '-E', '-m', '64', '-M', '8', '-f', KAMAILIO_CFG, '-l', `udp:${HOST}:${port}`];
  const args = [...own, ...defined.flatMap((definition) => ['-A', definition])];
  const child = spawn('kamailio', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text) => (errors += String(text)));
  const ended = once(child, 'exit');
  return {
    /** What it has said so far. */
    errors: () => errors,
    /**
     * How it has a destination, such as `AP`: active (inactive: `IP`), and asked with OPTIONS. Empty: not at all.
     * @param {number} at its port
     */
    stateOf(at) {
      try {
        const kamcmd = ['-s', control, 'dispatcher.list'];
        const said = execFileSync('kamcmd', kamcmd, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
        const flags = [...said.matchAll(/URI: sip:[^:]+:(\d+)\s+FLAGS: (\w+)/g)];
        return flags.find(([, its]) => Number(its) === at)?.[2] ?? '';
      } catch {
        return ''; // it does not listen yet
      }
    },
    /** May be called twice. */
    async close() {
      child.kill();
      const patience = new AbortController();
      await Promise.race([ended, wait(CLOSE_MS, undefined, { signal: patience.signal }).catch(() => undefined)]);
      patience.abort();
    },
  };
}
