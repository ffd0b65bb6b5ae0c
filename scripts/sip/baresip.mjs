/** Calls with baresip, a second implementation: over UDP, TCP, and TLS with SRTP; for scripts/sip/run.mjs. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeWav, encodeWav } from '../../dist/audio/files/wav.js';
import { answerAll, HOST, openTrunk, OWN, talk, until, wait } from './rig.mjs';

const OURS = 15_960;
const THEIRS = 15_970;
const CONTROL = 15_980;
const TONE_HZ = 440;
/** @type {Record<string, { rateHz: number, sides: number }>} */
const SOUNDS = { g722: { rateHz: 16_000, sides: 1 }, opus: { rateHz: 48_000, sides: 2 } };
/** Of the files that it writes. */
const WAV_HEADER = 44;
const APPS = ['account', 'menu', 'ctrl_tcp'];

/** baresip as its own process, which plays a tone and takes every call. */
export class Baresip {
  /**
   * @param {{ port: number, protocol?: 'UDP' | 'TCP' | 'TLS', host?: string, codecs?: string[], isSecure?: boolean,
   *   user?: string, control?: number, toneHz?: number, onFolder?: (folder: string) => string[] }} of `port`: the one that
   *   `protocol` is spoken at is one more for TLS; `codecs`: names of modules. Default g711; `user`: of its address;
   *   `control`: the port of its commands; `onFolder`: further lines of its configuration
   */
  static async start({
    port,
    protocol = 'UDP',
    host = HOST,
    codecs = ['g711'],
    isSecure = false,
    user = 'bob',
    control = CONTROL,
    toneHz = TONE_HZ,
    onFolder,
  }) {
    const folder = mkdtempSync(join(tmpdir(), 'parley-baresip-'));
    const written = host.includes(':') ? `[${host}]` : host;
    const sound = join(folder, 'tone.wav');
    // It does not resample: the file is as its codec is.
    const { rateHz, sides } = SOUNDS[codecs[0] ?? 'g711'] ?? { rateHz: 8_000, sides: 1 };
    const step = (2 * Math.PI * toneHz) / rateHz;
    const long = Int16Array.from({ length: 30 * rateHz }, (_, at) => Math.round(8_000 * Math.sin(step * at)));
    writeFileSync(
      sound,
      encodeWav(
        Array.from({ length: sides }, () => long),
        rateHz,
      ),
    );
    const config = [
      `net_interface ${host}`,
      `sip_listen ${written}:${port}`,
      `audio_source aufile,${sound}`,
      `audio_player aufile,${join(folder, 'heard.wav')}`,
      `audio_alert aufile,${join(folder, 'alert.wav')}`,
      `ctrl_tcp_listen ${HOST}:${control}`,
      'module_path /usr/lib/baresip/modules',
      ...[...codecs, 'aufile', 'srtp'].map((name) => `module ${name}.so`),
      ...APPS.map((name) => `module_app ${name}.so`),
      'rtp_ports 24000-24200',
      ...(onFolder?.(folder) ?? []),
    ];
    writeFileSync(join(folder, 'config'), `${config.join('\n')}\n`);
    const place = `${written}:${protocol === 'TLS' ? port + 1 : port};transport=${protocol.toLowerCase()}`;
    const account = `<sip:${user}@${place}>;regint=0;answermode=auto`;
    writeFileSync(join(folder, 'accounts'), `${account}${isSecure ? ';mediaenc=srtp-mand' : ''}\n`);
    const baresip = new Baresip(folder, control);
    await wait(1500);
    baresip.open();
    return baresip;
  }

  /** @param {string} folder @param {number} port of its commands */
  constructor(folder, port) {
    this.folder = folder;
    this.port = port;
    this.process = spawn('baresip', ['-f', folder], { stdio: 'ignore' });
    /** @type {import('node:net').Socket | null} */
    this.control = null;
    /** What it tells of its calls, such as `{ type: 'CALL_DTMF_START', param: '1' }`. @type {{ type: string, param?: string }[]} */
    this.events = [];
  }

  open() {
    this.control = connect(this.port, HOST);
    this.control.on('error', () => undefined);
    let text = '';
    this.control.on('data', (chunk) => {
      text += chunk;
      // Netstrings: the length, a colon, so many characters, a comma.
      for (let [, length] = /^(\d+):/.exec(text) ?? []; length !== undefined; [, length] = /^(\d+):/.exec(text) ?? []) {
        const from = length.length + 1;
        const to = from + Number(length);
        if (text.length <= to) return;
        const message = JSON.parse(text.slice(from, to));
        if (message.event === true) this.events.push(message);
        text = text.slice(to + 1);
      }
    });
  }

  /** What the far end has heard of its last call, at 8 kHz; complete when the call is over. */
  heard() {
    const file = readdirSync(this.folder).findLast((name) => name.endsWith('-dec.wav'));
    assert.ok(file !== undefined, 'baresip has noted what it heard');
    return decodeWav(readFileSync(join(this.folder, file))).channels[0] ?? new Int16Array();
  }

  /** How much the far end has heard, for `heardSince`. It begins a file whenever its sound does. */
  mark() {
    const file = readdirSync(this.folder).findLast((name) => name.endsWith('-dec.wav'));
    return { file, size: file === undefined ? 0 : statSync(join(this.folder, file)).size };
  }

  /** What it has heard since then, at 8 kHz. @param {{ file: string | undefined, size: number }} mark */
  heardSince({ file, size }) {
    const now = this.mark();
    if (now.file === undefined) return new Int16Array();
    const bytes = readFileSync(join(this.folder, now.file));
    const from = now.file === file ? Math.max(size, WAV_HEADER) : WAV_HEADER;
    return new Int16Array(Uint8Array.from(bytes.subarray(from, bytes.length - ((bytes.length - from) % 2))).buffer);
  }

  /** @param {string} command @param {string} [params] */
  ask(command, params = '') {
    const text = JSON.stringify({ command, params, token: command });
    this.control?.write(`${text.length}:${text},`);
  }

  async stop() {
    this.control?.destroy();
    const ended = once(this.process, 'exit');
    this.process.kill();
    const killed = setTimeout(() => this.process.kill('SIGKILL'), 3000); // an unanswered call of its own lasts 32 s
    await ended;
    clearTimeout(killed);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Both ways, with a hold in between.
 * @param {'UDP' | 'TCP' | 'TLS'} protocol
 * @param {string} [host] `::1` for IPv6
 */
export async function callsWithBaresip(protocol, host = HOST) {
  const written = host.includes(':') ? `[${host}]` : host;
  const isSecure = protocol === 'TLS';
  const port = isSecure ? THEIRS + 1 : THEIRS;
  const own = { key: '', cert: '' };
  const baresip = await Baresip.start({
    port: THEIRS,
    protocol,
    host,
    isSecure,
    onFolder: (folder) => {
      const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
      execFileSync(
        'openssl',
        [
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-days',
          '2',
          '-keyout',
          key,
          '-out',
          cert,
          '-subj',
          `/CN=${HOST}`,
          '-addext',
          `subjectAltName=IP:${host}`,
        ],
        { stdio: 'ignore' },
      );
      [own.key, own.cert] = [readFileSync(key, 'utf8'), readFileSync(cert, 'utf8')];
      writeFileSync(join(folder, 'both.pem'), own.key + own.cert);
      return [`sip_certificate ${join(folder, 'both.pem')}`];
    },
  });
  const carrier = await openTrunk({
    port: OURS,
    servers: [{ protocol, port }],
    listen: [protocol],
    tls: { own, ca: own.cert },
    srtp: isSecure ? 'required' : 'off',
    host,
  });
  const calls = answerAll(carrier, 50, 0);
  try {
    const call = carrier.placeCall({ from: OWN, to: `sip:bob@${written}:${port}`, ringTimeoutMs: 5000 });
    const heard = talk(call);
    await until(() => call.state !== 'initiated' && call.state !== 'ringing', 'baresip answers');
    await until(() => heard.loud > 30, 'baresip is heard');
    assert.equal(call.media?.stats().isSecure, isSecure);
    call.hangUp();
    baresip.ask('dial', `sip:${OWN}@${written}:${isSecure ? OURS + 1 : OURS};transport=${protocol.toLowerCase()}`);
    await until(() => (calls[0]?.heard.loud ?? 0) > 30, 'baresip calls, and is heard');
    const [inbound] = calls;
    baresip.ask('hold');
    await wait(500);
    const before = inbound?.heard.loud;
    await wait(500);
    assert.equal(inbound?.heard.loud, before, 'nothing is heard of who holds');
    inbound?.call.hangUp();
    await until(() => carrier.calls.size === 0, 'all calls are over');
  } finally {
    await carrier.close();
    await baresip.stop();
  }
}
