/** Calls with baresip, a second implementation: over UDP, TCP, and TLS with SRTP; for scripts/sip/run.mjs. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeWav } from '../../dist/audio/wav.js';
import { answerAll, HOST, openTrunk, OWN, talk, TONE, until, wait } from './rig.mjs';

const OURS = 15_960;
const THEIRS = 15_970;
const CONTROL = 15_980;
const MODULES = ['g711', 'aufile', 'srtp'];
const APPS = ['account', 'menu', 'ctrl_tcp'];

/**
 * Both ways, with a hold in between.
 * @param {'UDP' | 'TCP' | 'TLS'} protocol
 * @param {string} [host] `::1` for IPv6
 */
export async function callsWithBaresip(protocol, host = HOST) {
  const written = host.includes(':') ? `[${host}]` : host;
  const folder = mkdtempSync(join(tmpdir(), 'parley-baresip-'));
  const isSecure = protocol === 'TLS';
  const port = isSecure ? THEIRS + 1 : THEIRS;
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert],
      ...['-subj', `/CN=${HOST}`, '-addext', `subjectAltName=IP:${host}`],
    ],
    { stdio: 'ignore' },
  );
  const own = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  writeFileSync(join(folder, 'both.pem'), own.key + own.cert);
  const sound = join(folder, 'tone.wav');
  const long = new Int16Array(TONE.length * 30);
  for (let at = 0; at < long.length; at += TONE.length) long.set(TONE, at);
  writeFileSync(sound, encodeWav(long, 8000));
  const config = [
    `net_interface ${host}`,
    `sip_listen ${written}:${THEIRS}`,
    `sip_certificate ${join(folder, 'both.pem')}`,
    `audio_source aufile,${sound}`,
    `audio_player aufile,${join(folder, 'heard.wav')}`,
    `audio_alert aufile,${join(folder, 'alert.wav')}`,
    `ctrl_tcp_listen ${HOST}:${CONTROL}`,
    'module_path /usr/lib/baresip/modules',
    ...MODULES.map((name) => `module ${name}.so`),
    ...APPS.map((name) => `module_app ${name}.so`),
    'rtp_ports 24000-24200',
  ];
  writeFileSync(join(folder, 'config'), `${config.join('\n')}\n`);
  const account = `<sip:bob@${written}:${port};transport=${protocol.toLowerCase()}>;regint=0;answermode=auto`;
  writeFileSync(join(folder, 'accounts'), `${account}${isSecure ? ';mediaenc=srtp-mand' : ''}\n`);
  const baresip = spawn('baresip', ['-f', folder], { stdio: 'ignore' });
  const carrier = await openTrunk({
    ...{ port: OURS, servers: [{ protocol, port }], listen: [protocol], tls: { own, ca: own.cert } },
    ...{ srtp: isSecure ? 'required' : 'off', host },
  });
  const calls = answerAll(carrier, 50, 0);
  try {
    await wait(1500);
    const call = carrier.placeCall({ from: OWN, to: `sip:bob@${written}:${port}`, ringTimeoutMs: 5000 });
    const heard = talk(call);
    await until(() => call.state !== 'initiated' && call.state !== 'ringing', 'baresip answers');
    await until(() => heard.loud > 30, 'baresip is heard');
    assert.equal(call.media?.stats().isSecure, isSecure);
    call.hangUp();
    const control = connect(CONTROL, HOST);
    control.on('error', () => undefined);
    const ask = (/** @type {string} */ command, params = '') => {
      const text = JSON.stringify({ command, params, token: command });
      control.write(`${text.length}:${text},`);
    };
    ask('dial', `sip:${OWN}@${written}:${isSecure ? OURS + 1 : OURS};transport=${protocol.toLowerCase()}`);
    await until(() => (calls[0]?.heard.loud ?? 0) > 30, 'baresip calls, and is heard');
    const [inbound] = calls;
    ask('hold');
    await wait(500);
    const before = inbound?.heard.loud;
    await wait(500);
    assert.equal(inbound?.heard.loud, before, 'nothing is heard of who holds');
    inbound?.call.hangUp();
    await until(() => carrier.calls.size === 0, 'all calls are over');
    control.destroy();
  } finally {
    await carrier.close();
    baresip.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}
