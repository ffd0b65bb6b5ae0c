/** Two daemons behind a real Kamailio, set up as docs/sip.md says; for scripts/sip/run.mjs. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clock, HOST, openTrunk, OWN, talk, until, wait } from './rig.mjs';

const PROXY = 15_890;
const CALLER = 15_892;
const DAEMONS = [15_894, 15_896];

/** What the recipe leaves to the rest of a kamailio.cfg. */
const REST = `
fork=yes
children=1
log_stderror=yes
loadmodule "tm.so"
loadmodule "tmx.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "siputils.so"
loadmodule "textops.so"
loadmodule "ctl.so"
modparam("tm", "fr_timer", 3000) # asks the next daemon where one is dead
`;
/** How Kamailio has its daemons, in their order, such as `AP`: active, and asked with OPTIONS. @param {string} folder */
function states(folder) {
  try {
    const args = ['-s', `unix:${controlOf(folder)}`, 'dispatcher.list'];
    const list = execFileSync('kamcmd', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const flags = [...list.matchAll(/URI: sip:[^:]+:(\d+)\s+FLAGS: (\w+)/g)];
    return DAEMONS.map((port) => flags.find(([, its]) => Number(its) === port)?.[2] ?? '');
  } catch {
    return []; // it does not listen yet
  }
}

/** @param {string} folder */
const controlOf = (folder) => join(folder, 'control');

const REQUEST_ROUTE = `
request_route {
    if (has_totag()) {
        if (loose_route()) { t_relay(); exit; }
        if (is_method("ACK") && t_check_trans()) t_relay();
        exit;
    }
    if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
    if (is_method("INVITE")) route(DISPATCH);
}
`;

/**
 * @param {string} folder
 * @param {number} port of Kamailio's own
 * @param {number[]} daemons
 */
function configuration(folder, port, daemons) {
  const docs = readFileSync(fileURLToPath(new URL('../../docs/sip.md', import.meta.url)), 'utf8');
  const recipe = /### Kamailio\n.*?```c\n(.*?)```/s.exec(docs)?.[1] ?? '';
  const list = join(folder, 'dispatcher.list');
  writeFileSync(list, daemons.map((daemon) => `1 sip:${HOST}:${String(daemon)}\n`).join(''));
  const file = join(folder, 'kamailio.cfg');
  const own = recipe
    .replace('/etc/kamailio/dispatcher.list', list)
    .replace('"ds_ping_interval", 5', '"ds_ping_interval", 1');
  // Routes come behind all modules and their parameters.
  const [modules = '', routes = ''] = own.split(/(?=route\[DISPATCH\])/);
  const control = `modparam("ctl", "binrpc", "unix:${controlOf(folder)}")\n`;
  const listen = `listen=udp:${HOST}:${String(port)}\n`;
  writeFileSync(file, `#!KAMAILIO\n${listen}${REST}${control}${modules}${REQUEST_ROUTE}${routes}`);
  return file;
}

/**
 * Starts Kamailio before some daemons, set up as docs/sip.md says.
 * @param {{ folder: string, port: number, daemons: number[] }} options
 */
export function startKamailio({ folder, port, daemons }) {
  const args = ['-DD', '-E', '-f', configuration(folder, port, daemons), '-m', '64', '-M', '8'];
  /** @type {string[]} */
  const errors = [];
  const child = spawn('kamailio', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.on('data', (text) => errors.push(String(text)));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  return {
    errors: () => errors.join(''),
    async close() {
      child.kill();
      if (child.exitCode === null) await Promise.race([ended, wait(5000)]);
    },
  };
}

/** Calls go to both in turns; to the other one alone where one is full, and where one shuts down. */
export async function callsBehindKamailio() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-kamailio-'));
  const servers = [{ protocol: /** @type {const} */ ('UDP'), port: PROXY }];
  const kamailio = startKamailio({ folder, port: PROXY, daemons: DAEMONS });
  /** Of the first: it has no room; it shuts down, and says so to OPTIONS. */
  const first = { isFull: false, isClosing: false };
  const taken = [0, 0];
  let refused = 0;
  const daemons = await Promise.all(
    DAEMONS.map((port, at) =>
      openTrunk({ port, servers, options: { domain: HOST, takesCalls: () => at !== 0 || !first.isClosing } }),
    ),
  );
  for (const [at, daemon] of daemons.entries()) {
    daemon.receiveCalls((call) => {
      if (at === 0 && (first.isFull || first.isClosing)) {
        refused++;
        return call.hangUp('full');
      }
      taken[at] = (taken[at] ?? 0) + 1;
      talk(call);
      call.answer();
    });
  }
  const caller = await openTrunk({
    port: CALLER,
    servers,
    options: { domain: HOST, numbers: ['+12025550177'], owned: ['+12025550177'] },
  });
  const call = async () => {
    const placed = caller.placeCall({ from: '+12025550177', to: OWN, ringTimeoutMs: 10_000 });
    const heard = talk(placed);
    await until(() => placed.state === 'answered' || placed.state === 'ended', 'the call is answered');
    assert.equal(placed.end, null, kamailio.errors());
    await until(() => heard.loud > 10, 'the daemon is heard');
    placed.hangUp();
    await until(() => placed.state === 'ended', 'the call is over');
  };
  try {
    const become = async (/** @type {string} */ wanted) => {
      const endMs = clock.nowMs() + 60_000;
      while (states(folder).join() !== wanted) {
        assert.ok(clock.nowMs() < endMs, `${states(folder).join()}, not ${wanted}: ${kamailio.errors()}`);
        await wait(100);
      }
    };
    await become('AP,AP');
    for (let count = 0; count < 4; count++) await call();
    assert.deepEqual([taken, refused], [[2, 2], 0]);
    first.isFull = true;
    for (let count = 0; count < 4; count++) await call();
    assert.deepEqual([taken, refused], [[2, 6], 2], 'each second call is refused by the first, and taken by the other');
    first.isClosing = true;
    await become('IP,AP');
    for (let count = 0; count < 4; count++) await call();
    assert.deepEqual([taken, refused], [[2, 10], 2], 'nobody asks a daemon that shuts down');
  } finally {
    await Promise.all([caller, ...daemons].map((carrier) => carrier.close()));
    await kamailio.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
