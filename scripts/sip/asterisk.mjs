/** Calls with a real Asterisk, set up as docs/sip.md says; for scripts/sip/run.mjs. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answerAll, HOST, openTrunk, OWN, talk, until, wait } from './rig.mjs';

const OURS = 15_860;
const ACCOUNT = 15_870;
const THEIRS = 15_880;
/** The account's parley has another address: Asterisk knows the trunk's by its. */
const ACCOUNT_HOST = '127.0.0.2';
const PASSWORD = 'a long password';

/** The blocks of configuration in the section on Asterisk, in their order, with addresses of this machine. */
function recipe() {
  const docs = readFileSync(fileURLToPath(new URL('../../docs/sip.md', import.meta.url)), 'utf8');
  const section = docs.split('### Asterisk\n')[1]?.split('\n### ')[0] ?? '';
  return [...section.matchAll(/```ini\n(.*?)```/gs)].map(([, text = '']) =>
    text
      .replaceAll('192.0.2.5:5060', `${HOST}:${String(THEIRS)}`)
      .replaceAll('192.0.2.10:5060', `${HOST}:${String(OURS)}`)
      .replaceAll('192.0.2.10', HOST),
  );
}

/** Asterisk as its own process, with a folder of its own. */
class Asterisk {
  /** @param {string} folder @param {import('node:child_process').ChildProcess} child */
  constructor(folder, child) {
    this.folder = folder;
    this.child = child;
  }

  /** @param {string} pjsip @param {string} extensions */
  static async start(pjsip, extensions) {
    const folder = mkdtempSync(join(tmpdir(), 'parley-asterisk-'));
    /** @param {string} name @param {string} text */
    const write = (name, text) => writeFileSync(join(folder, name), text);
    for (const name of ['run', 'log', 'spool', 'db']) mkdirSync(join(folder, name));
    write(
      'asterisk.conf',
      [
        '[directories]',
        `astetcdir => ${folder}`,
        `astrundir => ${join(folder, 'run')}`,
        `astlogdir => ${join(folder, 'log')}`,
        `astspooldir => ${join(folder, 'spool')}`,
        `astdbdir => ${join(folder, 'db')}`,
        '',
      ].join('\n'),
    );
    write('modules.conf', '[modules]\nautoload=yes\n');
    write('logger.conf', '[general]\n[logfiles]\nmessages => notice,warning,error\n');
    write('rtp.conf', '[general]\nrtpstart=25000\nrtpend=25200\n');
    write('pjsip.conf', pjsip);
    write('extensions.conf', extensions);
    const child = spawn('asterisk', ['-f', '-C', join(folder, 'asterisk.conf')], { stdio: 'ignore' });
    const asterisk = new Asterisk(folder, child);
    for (let tries = 0; tries < 60; tries++) {
      if (asterisk.say('core waitfullybooted').includes('fully booted')) return asterisk;
      await wait(500);
    }
    await asterisk.stop();
    throw new Error('Asterisk does not start');
  }

  /** @param {string} command of its console */
  say(command) {
    try {
      const args = ['-C', join(this.folder, 'asterisk.conf'), '-rx', command];
      return execFileSync('asterisk', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    } catch {
      return '';
    }
  }

  async stop() {
    this.say('core stop now');
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.exitCode === null) await Promise.race([ended, wait(5000)]);
    if (this.child.exitCode === null) this.child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A trunk by address and a registered account: calls both ways, heard at both ends. */
export async function callsWithAsterisk() {
  const [trunk = '', account = '', extensions = ''] = recipe();
  const asterisk = await Asterisk.start(`${trunk}\n${account}`, extensions);
  const servers = [{ protocol: /** @type {const} */ ('UDP'), port: THEIRS, host: HOST }];
  const byAddress = await openTrunk({ port: OURS, servers, options: { domain: HOST } });
  const registered = await openTrunk({
    port: ACCOUNT,
    servers,
    host: ACCOUNT_HOST,
    options: {
      domain: HOST,
      user: 'acme',
      credentials: { user: 'acme', password: PASSWORD },
      register: true,
      fromUser: 'account',
      identity: 'asserted',
    },
  });
  try {
    await until(() => registered.trunk.registration?.state === 'registered', 'the account is registered');
    for (const [carrier, extension] of /** @type {const} */ ([
      [byAddress, '100'],
      [registered, '101'],
    ])) {
      const out = carrier.placeCall({ from: OWN, to: '+12025550123', ringTimeoutMs: 10_000 });
      const heard = talk(out);
      await until(() => out.state === 'answered' || out.state === 'ended', `${extension}: a call out is answered`);
      assert.equal(out.end, null);
      await until(() => heard.loud > 25, `${extension}: the tone of Asterisk is heard`);
      out.hangUp();
      await until(() => out.state === 'ended', 'the call out is over');

      const calls = answerAll(carrier, 100, 0);
      asterisk.say(`channel originate Local/${extension}@phones application Echo`);
      await until(() => calls[0]?.call.state === 'answered', `${extension}: a call in is answered`);
      assert.equal(calls[0]?.call.to, OWN);
      await until(() => (calls[0]?.heard.loud ?? 0) > 25, `${extension}: our own tone comes back`);
      calls[0]?.call.hangUp();
      await until(() => calls[0]?.call.state === 'ended', 'the call in is over');
    }
    const unknown = byAddress.placeCall({ from: OWN, to: '+493012345678', ringTimeoutMs: 10_000 });
    await until(() => unknown.state === 'ended', 'a number without an extension is refused');
    assert.equal(unknown.end?.cause, 'failed');
  } finally {
    await Promise.all([byAddress.close(), registered.close()]);
    await asterisk.stop();
  }
}
