/** Two daemons behind a real Kamailio, set up as docs/sip.md says; for scripts/sip/run.mjs. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HOST, openTrunk, OWN, talk, until, wait } from './rig.mjs';

const PROXY = 15_890;
const CALLER = 15_892;
const DAEMONS = [15_894, 15_896];

/** What the recipe leaves to the rest of a kamailio.cfg. */
const REST = `
fork=yes
children=1
log_stderror=yes
listen=udp:${HOST}:${String(PROXY)}
loadmodule "tm.so"
loadmodule "tmx.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "siputils.so"
loadmodule "textops.so"
modparam("tm", "fr_timer", 3000)
`;
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

/** @param {string} folder */
function configuration(folder) {
  const docs = readFileSync(fileURLToPath(new URL('../../docs/sip.md', import.meta.url)), 'utf8');
  const recipe = /### Kamailio\n.*?```c\n(.*?)```/s.exec(docs)?.[1] ?? '';
  const list = join(folder, 'dispatcher.list');
  writeFileSync(list, DAEMONS.map((port) => `1 sip:${HOST}:${String(port)}\n`).join(''));
  const file = join(folder, 'kamailio.cfg');
  const own = recipe
    .replace('/etc/kamailio/dispatcher.list', list)
    .replace('"ds_ping_interval", 5', '"ds_ping_interval", 1');
  // Routes come behind all modules and their parameters.
  const [modules = '', routes = ''] = own.split(/(?=route\[DISPATCH\])/);
  writeFileSync(file, `#!KAMAILIO\n${REST}${modules}${REQUEST_ROUTE}${routes}`);
  return file;
}

/** Calls go to both in turns; to the other one alone while one takes none. */
export async function callsBehindKamailio() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-kamailio-'));
  const servers = [{ protocol: /** @type {const} */ ('UDP'), port: PROXY }];
  const [args, errors] = [
    ['-DD', '-E', '-f', configuration(folder), '-m', '64', '-M', '8'],
    /** @type {string[]} */ ([]),
  ];
  const kamailio = spawn('kamailio', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  kamailio.stderr.on('data', (text) => errors.push(String(text)));
  /** Which of them take calls. */
  const open = new Set([0, 1]);
  const taken = [0, 0];
  const daemons = await Promise.all(
    DAEMONS.map((port, at) => openTrunk({ port, servers, options: { domain: HOST, takesCalls: () => open.has(at) } })),
  );
  for (const [at, daemon] of daemons.entries()) {
    daemon.receiveCalls((call) => {
      if (!open.has(at)) return call.hangUp('full');
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
    assert.equal(placed.end, null, errors.join(''));
    await until(() => heard.loud > 10, 'the daemon is heard');
    placed.hangUp();
    await until(() => placed.state === 'ended', 'the call is over');
  };
  try {
    await wait(3000);
    assert.equal(kamailio.exitCode, null, errors.join(''));
    for (let count = 0; count < 4; count++) await call();
    assert.deepEqual(taken, [2, 2]);
    open.delete(0);
    for (let count = 0; count < 4; count++) await call();
    assert.deepEqual(taken, [2, 6]);
  } finally {
    await Promise.all([caller, ...daemons].map((carrier) => carrier.close()));
    const ended = new Promise((resolve) => kamailio.once('exit', resolve));
    kamailio.kill();
    if (kamailio.exitCode === null) await Promise.race([ended, wait(5000)]);
    rmSync(folder, { recursive: true, force: true });
  }
}
