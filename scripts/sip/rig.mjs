/**
 * A trunk of parley's on loopback, with sipp at its far side; for scripts/sip/run.mjs. Uses the build in dist.
 */
import { spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { encodeG711 } from '../../dist/audio/codecs/g711.js';
import { SipCarrier } from '../../dist/telephony/carriers/sip/carrier.js';
import { RealClock } from '../../dist/base/real-clock.js';
import { Ticker } from '../../dist/base/ticker.js';
import { RtpPorts } from '../../dist/transports/rtp/ports.js';
import { openRtpSession } from '../../dist/transports/rtp/session.js';
import { Sockets } from '../../dist/telephony/sip/transport/sockets.js';

const none = () => Promise.reject(new Error('none'));

export const OWN = '+12025550199';
export const HOST = '127.0.0.1';
/** sipp stands still when nothing has happened for so long. */
const SIPP_MS = 60_000;

export const clock = new RealClock();
export const ticker = new Ticker(clock);
const ports = new RtpPorts({ clock, localAddress: HOST, portRange: [20_000, 29_999], drainMs: 1000 });
const scenarios = fileURLToPath(new URL('scenarios/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-sip-'));

/** A second of tone as sipp plays it. */
export const TONE = Int16Array.from({ length: 8000 }, (_, at) =>
  Math.round(8000 * Math.sin((2 * Math.PI * 440 * at) / 8000)),
);
export const toneFile = join(folder, 'tone.ul');
writeFileSync(toneFile, encodeG711('mulaw', TONE));

/** Special information tones, and a second of silence (ITU-T E.180). */
const information = Int16Array.from({ length: 3 * 2720 + 8000 }, (_, at) => {
  const frequencyHz = [950, 1400, 1800][Math.floor(at / 2720)] ?? 0;
  return Math.round(6000 * Math.sin((2 * Math.PI * frequencyHz * at) / 8000));
});
const informationFile = join(folder, 'information.ul');
writeFileSync(informationFile, encodeG711('mulaw', information));

/**
 * @param {{ port: number, servers: { protocol: 'UDP'|'TCP'|'TLS', port: number, host?: string }[], listen?: ('UDP'|'TCP'|'TLS')[],
 *   options?: Record<string, unknown>, tls?: object, host?: string,
 *   srtp?: 'off' | 'required' }} of
 */
export function openTrunk({ port, servers, listen = ['UDP'], options = {}, tls = {}, srtp = 'off', host = HOST }) {
  return SipCarrier.open({
    clock,
    ticker,
    token: () => randomBytes(12).toString('hex'),
    chance: () => randomInt(2 ** 32) / 2 ** 32,
    names: { naptr: none, srv: none, addresses: none },
    servers: servers.map((server) => ({ host, ...server })),
    domain: 'trunk.example.com',
    credentials: null,
    register: false,
    sources: [],
    keepAliveMs: 0,
    openTransport: (user) =>
      Sockets.open({
        clock,
        events: user,
        isTrusted: (hop) => user.isTrusted(hop),
        tls,
        listen: listen.map((protocol) => ({ protocol, address: host, port: protocol === 'TLS' ? port + 1 : port })),
      }),
    openMedia: (listener, address) =>
      openRtpSession({
        clock,
        ticker,
        listener,
        codecs: ['PCMU', 'PCMA'],
        srtp,
        advertisedAddress: address,
        ports: host === HOST ? ports : new RtpPorts({ clock, localAddress: host, portRange: [20_000, 29_999] }),
      }),
    codecs: ['PCMU', 'PCMA'],
    numbers: [OWN],
    owned: [OWN],
    numberFormat: 'e164',
    transfer: 'auto',
    countryOf: async () => 'US',
    onError: (/** @type {unknown} */ error) => console.error(error),
    ...options,
  });
}

/**
 * sipp with a scenario; resolves with its exit code and what it complained about.
 * @param {string} scenario file below `scenarios`, without `.xml`
 * @param {string[]} args
 * @param {string} [status] of the answer that the scenario calls STATUS
 */
export function sipp(scenario, args, status = '') {
  const errors = join(folder, `${scenario}-${randomBytes(4).toString('hex')}.log`);
  const text = readFileSync(join(scenarios, `${scenario}.xml`), 'utf8')
    .replaceAll('TONE', toneFile)
    .replaceAll('INFORMATION', informationFile)
    .replaceAll('STATUS', status);
  const file = join(folder, `${scenario}-${randomBytes(4).toString('hex')}.xml`);
  writeFileSync(file, text);
  const all = [
    '-sf',
    file,
    '-i',
    HOST,
    '-mi',
    HOST,
    '-nostdin',
    '-trace_err',
    '-error_file',
    errors,
    '-timeout',
    String(SIPP_MS / 1000),
    '-timeout_error',
    '-max_socket',
    '1000',
    '-default_behaviors',
    'all,-bye',
    ...args,
  ];
  const child = spawn('sipp', all, { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const done = new Promise((resolve) => {
    child.once('close', (code) => {
      let complaints = '';
      try {
        complaints = readFileSync(errors, 'utf8');
      } catch {
        // sipp writes the file only where it has something to say.
      }
      resolve({ code, complaints, output });
    });
  });
  return { done, stop: () => child.kill() };
}

/** @param {number} ms */
export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param {() => boolean} condition
 * @param {string} what
 */
export async function until(condition, what, limitMs = 15_000) {
  const endMs = clock.nowMs() + limitMs;
  while (!condition()) {
    if (clock.nowMs() > endMs) throw new Error(`it never came to that: ${what}`);
    await wait(5);
  }
}

/**
 * Somebody who talks on a line: a tone, all the time; and listens.
 * @param {import('../../dist/telephony/carriers/carrier.js').CarrierCall} call
 */
export function talk(call) {
  const heard = { loud: 0, keys: '', isClosed: false };
  call.line.start({
    audio: (samples) => {
      if (samples.some((sample) => Math.abs(sample) > 1000)) heard.loud++;
    },
    digits: (keys) => (heard.keys += keys),
    text: () => undefined,
    formResult: () => undefined,
    closed: () => {
      heard.isClosed = true;
      stop();
    },
  });
  let at = 0;
  const stop = ticker.subscribe(() => {
    call.line.play(TONE.slice(at, at + 160));
    at = (at + 160) % 8000;
  });
  return heard;
}

/**
 * @param {import('../../dist/telephony/carriers/sip/carrier.js').SipCarrier} carrier
 * @param {number} afterMs
 * @param {number} hangUpAfterMs 0 = never
 */
export function answerAll(carrier, afterMs, hangUpAfterMs) {
  /** @type {{ call: import('../../dist/telephony/carriers/carrier.js').CarrierCall, heard: ReturnType<typeof talk> }[]} */
  const calls = [];
  carrier.receiveCalls((call) => {
    calls.push({ call, heard: talk(call) });
    setTimeout(() => call.answer(), afterMs);
    if (hangUpAfterMs > 0) setTimeout(() => call.hangUp(), afterMs + hangUpAfterMs);
  });
  return calls;
}

export function tidy() {
  rmSync(folder, { recursive: true, force: true });
}
