/**
 * `parley serve` with and without media threads, as an operator starts it, with sipp and baresip as its trunk: the calls
 * of both are to be the same. For scripts/sip/run.mjs; uses the build in dist.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { encodeG711 } from '../../dist/audio/codecs/g711.js';
import { levelOf } from '../../dist/audio/dsp/level.js';
import { decodeWav } from '../../dist/audio/files/wav.js';
import { Engine } from '../../dist/engine/engine.js';
import { openUdpSocket } from '../../dist/transports/rtp/socket.js';
import { openGateway, openPhones } from './agents.mjs';
import { Baresip } from './baresip.mjs';
import { clock, HOST, OWN, sipp, TONE, wait } from './rig.mjs';

const KEY = 'sk_sip_threads_00000000000000000000000000';
const TARGET = '+12025550166';
const MAILBOX = '+12025550103';
const PORTS = { daemon: 16_060, far: 16_064, baresip: 16_070 };
const HEARD_DBFS = -45;
const CLERK = {
  name: 'Clerk',
  config: {
    prompt: 'You answer the phone.',
    first_message: 'Hello, the harbour office.',
    llm: { model: 'scripted' },
    call_settings: { enable_recording: true },
    flow: { agent_terminate_call: { enabled: true }, call_transfer: { phone: TARGET, instruction: 'Always.' } },
  },
  script: {
    rules: [
      {
        when: '9',
        call: { tool: 'transfer_call', arguments: { phone: TARGET }, ok: {}, failed: { say: 'No.', end: true } },
      },
    ],
  },
};

/** A daemon of its own process. */
class Served {
  /** @param {number} threads */
  static async start(threads) {
    const folder = mkdtempSync(join(tmpdir(), 'parley-sip-threads-'));
    const config = join(folder, 'settings.json');
    const sip = {
      servers: [`sip:${HOST}:${PORTS.far}`],
      sources: [HOST],
      listen: [`udp:${HOST}:${PORTS.daemon}`],
      numbers: [OWN],
      keepAliveS: 0,
      transfer: 'refer',
      codecs: ['opus', 'G722', 'PCMU', 'PCMA'],
    };
    writeFileSync(config, JSON.stringify({ sip, media: { threads }, drainS: 1 }));
    const served = new Served(folder, {
      PATH: process.env['PATH'],
      PARLEY_DATA_DIR: join(folder, 'data'),
      PARLEY_CONFIG: config,
      PARLEY_API_KEY: KEY,
      PARLEY_LOG_LEVEL: 'warn',
    });
    await served.#opened();
    const { id } = await served.ask('POST', '/agents', CLERK);
    await served.ask('POST', '/phones/import', { phone: OWN });
    await served.ask('POST', `/phones/${OWN}/set_agent`, { agent_id: id });
    return served;
  }

  /** @param {string} folder @param {NodeJS.ProcessEnv} env */
  constructor(folder, env) {
    this.folder = folder;
    this.address = '';
    const program = fileURLToPath(new URL('../../bin/parley.js', import.meta.url));
    this.process = spawn(process.execPath, [program, 'serve', '--port', '0'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  async #opened() {
    let said = '';
    this.process.stdout?.on('data', (chunk) => (said += chunk));
    await this.until(async () => (this.address = /http:\/\/[\d.:]+/.exec(said)?.[0] ?? '') !== '', 'it listens');
    await this.until(async () => (await fetch(`${this.address}/readyz`)).status === 200, 'it is ready');
  }

  /** @param {() => Promise<boolean>} condition @param {string} what */
  async until(condition, what) {
    const endMs = clock.nowMs() + 40_000;
    while (!(await condition())) {
      if (clock.nowMs() > endMs) throw new Error(`it never came to that: ${what}`);
      await wait(50);
    }
  }

  /** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
  async ask(method, path, body) {
    const headers = { authorization: KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const response = await fetch(this.address + path, { method, headers, body: body && JSON.stringify(body) });
    assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
    return response.json();
  }

  /** What is the same in all calls like this one, once the newest is over; then it is erased. */
  async logged() {
    /** @type {any} */
    let item = null;
    const isOver = async () => {
      [item] = (await this.ask('GET', '/call-logs')).histories;
      return item != null && item.carrier_call_log !== null;
    };
    await this.until(isOver, 'a call is in the log');
    const {
      call_status: status,
      carrier_call_log: log,
      recording,
      error_message: error,
      voip,
      chat,
      session_id: id,
    } = item;
    const wav = recording && (await (await fetch(recording.recording_url)).arrayBuffer());
    const sides = wav && decodeWav(new Uint8Array(wav)).channels.map((side) => levelOf(side).rmsDbfs > HEARD_DBFS);
    await this.ask('DELETE', `/call-logs/${id}`);
    const { codec, digitsReceived: digits, end, transfer, packets } = log;
    const bothWays = [packets.sent > 25, packets.received > 25];
    // How much of the greeting was heard is chance, where a key or the end has come into it.
    const said = chat.replace(/Hello, the[^"]*/, 'Hello');
    return { status, codec, digits, end, transfer, bothWays, sides, error, transferred: voip.transfer, said };
  }

  async secured() {
    const text = await (await fetch(`${this.address}/metrics`)).text();
    return text
      .split('\n')
      .filter((line) => line.startsWith('parley_rtp_calls_total'))
      .sort();
  }

  /** @returns {Promise<number | null>} */
  async stop() {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill('SIGTERM');
      await once(this.process, 'exit');
    }
    rmSync(this.folder, { recursive: true, force: true });
    return this.process.exitCode;
  }
}

/** @param {ReturnType<typeof sipp>} far */
async function isFine(far) {
  const { code, complaints, output } = await far.done;
  assert.equal(code, 0, `sipp exits ${String(code)}: ${complaints.slice(0, 2000)}${output.slice(-500)}`);
}

/** sipp calls. @param {string} scenario @param {string} [status] */
const comes = (scenario, status) =>
  isFine(sipp(scenario, ['-p', String(PORTS.far), '-s', OWN, '-m', '1', `${HOST}:${PORTS.daemon}`], status));

/** Two calls a minute to one number are the most. */
let outbound = 0;

/** sipp is called. @param {Served} served @param {string} scenario @param {string} [status] */
async function goes(served, scenario, status) {
  const far = sipp(scenario, ['-p', String(PORTS.far), '-m', '1'], status);
  try {
    await wait(300);
    const to = `+1202555012${outbound++ % 10}`;
    await served.ask('POST', '/start_outbound_call', { from_phone: OWN, to_phone: to });
    const logged = await served.logged();
    await isFine(far);
    return logged;
  } finally {
    far.stop();
  }
}

/** A mailbox of the simulated network, behind a gateway: is it reported, and left a message? @param {Served} served */
async function leavesMessage(served) {
  const engine = new Engine({ clock });
  const { phones, notes } = await openPhones(engine);
  const gateway = await openGateway(phones, { gateway: PORTS.far, trunk: PORTS.daemon }, openUdpSocket);
  try {
    const flow = { voicemail: { action: 'message', message: 'Your table is kept for tomorrow at eight. Goodbye!' } };
    const config = { flow, first_message: 'Hello?' };
    await served.ask('POST', '/start_outbound_call', { from_phone: OWN, to_phone: MAILBOX, agent_config: config });
    const { status, codec, bothWays } = await served.logged();
    return { status, codec, bothWays, hasRecorded: notes.get(MAILBOX)?.has('recording') };
  } finally {
    await gateway.close();
    await phones.close();
    await engine.close();
  }
}

/** A call that moves to another port and codec: what comes there, and what is heard from there. @param {Served} served */
async function moves(served) {
  const socket = createSocket('udp4');
  socket.bind(0, HOST);
  await once(socket, 'listening');
  const types = new Set();
  let [sequence, at] = [0, 0];
  socket.on('message', (packet, { port }) => {
    types.add(packet[1] & 0x7f);
    const head = Buffer.from([0x80, 8, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    head.writeUInt16BE(sequence++, 2);
    head.writeUInt32BE(160 * sequence, 4);
    const sound = encodeG711('alaw', TONE.slice(at, at + 160));
    at = (at + 160) % TONE.length;
    socket.send(Buffer.concat([head, sound]), port, HOST); // a packet for each that comes
  });
  await comes('uac-moves', String(socket.address().port));
  socket.close();
  return { logged: await served.logged(), types: [...types] };
}

/** @param {Served} served @param {string} codec of baresip's @param {boolean} isSecure */
async function withBaresip(served, codec, isSecure) {
  const far = await Baresip.start({ port: PORTS.baresip, codecs: [codec], isSecure });
  try {
    far.ask('dial', `sip:${OWN}@${HOST}:${PORTS.daemon}`);
    const isAnswered = async () => (await served.ask('GET', '/call-logs')).histories[0]?.call_status === 'in-progress';
    await served.until(isAnswered, 'baresip is answered');
    await wait(2_500);
    far.ask('hold');
    await wait(500);
    far.ask('resume');
    await wait(1_000);
    far.ask('hangup');
    return await served.logged();
  } finally {
    await far.stop();
  }
}

/** @param {number} threads @param {boolean} hasBaresip */
async function callsOf(threads, hasBaresip) {
  const served = await Served.start(threads);
  try {
    await comes('uac-hold');
    const seen = {
      held: await served.logged(),
      moved: await moves(served),
      handedOn: await goes(served, 'uas-key-refer'),
      keptOn: await goes(served, 'uas-key-refer-refused', '603 Decline'),
      busy: await goes(served, 'uas-486'),
      announced: await goes(served, 'uas-announced'),
      mailbox: await leavesMessage(served),
      ...(hasBaresip && {
        secure: await withBaresip(served, 'g722', true),
        opus: await withBaresip(served, 'opus', false),
      }),
      rtp: await served.secured(),
    };
    const stays = comes('uac-waits-bye');
    await served.until(async () => (await served.ask('GET', '/call-logs')).histories.length > 0, 'a call has come');
    await wait(1_000);
    const code = await served.stop();
    await stays;
    return { ...seen, code };
  } finally {
    await served.stop();
  }
}

/** @param {boolean} hasBaresip */
export async function callsWithThreads(hasBaresip) {
  const [without, within] = [await callsOf(0, hasBaresip), await callsOf(2, hasBaresip)];
  assert.deepEqual(within, without);
  assert.deepEqual(
    Object.values(within).flatMap((one) => one.status ?? one.logged?.status ?? []),
    [
      'user-ended',
      'user-ended',
      'agent-ended',
      'agent-ended',
      'busy',
      'failed',
      'voicemail-message',
      ...(hasBaresip ? ['user-ended', 'user-ended'] : []),
    ],
  );
  assert.match(within.announced.end.reason, /^480 .*special information tones/);
  assert.deepEqual([within.moved.types, within.moved.logged.codec, within.code], [[8], 'PCMA', 0]);
  return within.rtp.join(', ');
}
