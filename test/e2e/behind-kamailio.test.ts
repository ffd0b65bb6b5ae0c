import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/daemon-process.mjs';
import { startKamailio } from '../../scripts/sip/kamailio.mjs';
import { hasTool } from '../../scripts/system-tools.mjs';
import { PRIVATE_KEY } from '../daemon/house.js';
import { Served } from '../daemon/served.js';
import { FarPhones } from './far-phones.js';
import { sippCall, type SippCall } from './sipp-call.js';

const OURS = '+12025550199';
const THEIRS = '+12025550101';
const PATIENCE = { timeout: 20_000, interval: 100 };
const PLACES = ['proxy', 'one', 'two', 'far', 'carrier', 'second', 'prober'] as const;

/** Two daemons behind a real Kamailio with deploy/cluster/kamailio.cfg, and sipp as the carrier. */
describe.skipIf(!hasTool('kamailio') || !hasTool('sipp'))('two nodes behind Kamailio', () => {
  const ports = {} as Record<(typeof PLACES)[number], number>;
  let folder = '';
  let kamailio: ReturnType<typeof startKamailio>;
  let [one, two] = [] as unknown as [Served, Served];
  let far: FarPhones;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-nodes-'));
    for (const place of PLACES) ports[place] = await freePort('udp');
    kamailio = startKamailio({
      folder,
      port: ports.proxy,
      daemons: [ports.one, ports.two],
      carriers: [ports.far, ports.carrier, ports.second],
    });
    // The first has room for one conversation.
    [one, two] = await Promise.all([node('one', 1), node('two', 20)]);
    far = await FarPhones.open(ports.far, ports.proxy, [THEIRS]);
  }, 180_000);

  afterAll(async () => {
    await Promise.all([one?.close(), two?.close(), far?.close()]);
    await kamailio?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function node(name: 'one' | 'two', sessions: number): Promise<Served> {
    const config = join(folder, `${name}.json`);
    const sip = {
      servers: [`sip:127.0.0.1:${String(ports.proxy)}`],
      listen: [`udp:127.0.0.1:${String(ports[name])}`],
      numbers: [OURS],
      keepAliveS: 0,
    };
    writeFileSync(config, JSON.stringify({ sip, limits: { sessions }, drainS: 60 }));
    const served = await Served.start({ PARLEY_CONFIG: config });
    await served.until('/readyz');
    const phone = await asked(served, 'POST', '/phones/import', { phone: OURS });
    expect(phone.status).toBe(200);
    await asked(served, 'POST', `/phones/${OURS}/set_agent`, { agent_id: 'the-crooked-fork' });
    return served;
  }

  const calls = new Map<Served, number>();
  /** How many calls each has taken since this was last asked. */
  async function taken(): Promise<number[]> {
    return Promise.all(
      [one, two].map(async (each) => {
        const answer = await asked(each, 'GET', '/call-logs').catch(() => null); // one that has gone takes none
        const all = ((await answer?.json()) as { histories: unknown[] } | undefined)?.histories.length ?? 0;
        const before = calls.get(each) ?? 0;
        calls.set(each, Math.max(all, before));
        return Math.max(all - before, 0);
      }),
    );
  }

  const call = (port: number, scenario = 'uac-changes'): SippCall =>
    sippCall(scenario, port, `127.0.0.1:${String(ports.proxy)}`, ['-s', OURS]);
  const sessions = async (of: Served): Promise<number> =>
    Number(/^parley_sessions (\d+)/m.exec(await (await asked(of, 'GET', '/metrics')).text())?.[1] ?? 0);

  it('both take calls, in turns', async () => {
    for (let count = 0; count < 4; count++) {
      // A daemon is full until the end of its last call is in the log.
      for (const port of [ports.one, ports.two]) {
        await expect.poll(async () => (await options(port))[0], PATIENCE).toBe(200);
      }
      await expect
        .poll(() => [kamailio.stateOf(ports.one), kamailio.stateOf(ports.two)], PATIENCE)
        .toEqual(['AP', 'AP']);
      const its = call(ports.carrier);
      await expect.poll(async () => (await sessions(one)) + (await sessions(two)), PATIENCE).toBe(1);
      await goOn(its);
      expect(await its.done, its.output() + kamailio.errors()).toBe(0);
      await expect.poll(async () => (await sessions(one)) + (await sessions(two)), PATIENCE).toBe(0);
    }
    expect(await taken()).toEqual([2, 2]);
  });

  it('one that is full says so to OPTIONS, and the other takes all calls', async () => {
    const held = await callOn(one, ports.carrier);
    await expect.poll(() => options(ports.one), PATIENCE).toEqual([503, '10']);
    expect((await options(ports.two))[0]).toBe(200);
    await expect.poll(() => [kamailio.stateOf(ports.one), kamailio.stateOf(ports.two)], PATIENCE).toEqual(['IP', 'AP']);
    await taken();
    const its = call(ports.second);
    await expect.poll(() => sessions(two), PATIENCE).toBe(1);
    await goOn(its);
    expect(await its.done, its.output()).toBe(0);
    expect(await taken()).toEqual([0, 1]);
    await goOn(held);
    expect(await held.done).toBe(0);
    await expect.poll(() => kamailio.stateOf(ports.one), PATIENCE).toBe('AP');
  });

  it('a call out goes to a carrier, and both ends change and end it', async () => {
    await expect.poll(() => kamailio.stateOf(ports.far), PATIENCE).toBe('AP');
    const placed = await asked(two, 'POST', '/start_outbound_call', { from_phone: OURS, to_phone: THEIRS });
    expect(placed.status).toBe(200);
    await expect.poll(() => far.called.length, PATIENCE).toBe(1);
    const [phone] = far.called;
    await expect.poll(() => phone?.call.state, PATIENCE).toBe('answered');
    await phone?.turn('sendonly');
    phone?.call.hangUp();
    await expect.poll(() => sessions(two), PATIENCE).toBe(0);
    await taken();
  });

  it('one that drains keeps its call, which changes and ends, and takes no other', async () => {
    const held = await callOn(one, ports.carrier);
    one.process.kill('SIGTERM');
    await expect.poll(async () => (await fetch(`${one.address}/readyz`)).status, PATIENCE).toBe(503);
    expect((await fetch(`${one.address}/healthz`)).status).toBe(200);
    expect(await options(ports.one)).toEqual([503, '10']);
    await taken();
    // Kamailio may not know yet: the first refuses, and the second is asked.
    const its = call(ports.second);
    await expect.poll(() => sessions(two), PATIENCE).toBe(1);
    await goOn(its);
    expect(await its.done, its.output() + kamailio.errors()).toBe(0);
    await expect.poll(() => kamailio.stateOf(ports.one), PATIENCE).toBe('IP');
    expect(await taken()).toEqual([0, 1]);
    // A re-INVITE and a BYE of the call that runs.
    expect(await sessions(one)).toBe(1);
    await goOn(held);
    expect(await held.done, held.output() + kamailio.errors()).toBe(0);
    expect(await one.exit).toBe(0);
    const [draining, ended] = ['1 conversation continues', 'user-ended'].map((text) => one.err.lastIndexOf(text));
    expect(draining).toBeGreaterThan(-1);
    expect(ended).toBeGreaterThan(draining ?? 0);
  });

  it('where none is left, callers and carriers that ask learn it', async () => {
    two.process.kill('SIGTERM');
    expect(await two.exit).toBe(0);
    await expect.poll(() => kamailio.stateOf(ports.two), PATIENCE).toBe('IP');
    expect((await options(ports.proxy))[0]).toBe(503);
    // A stranger gets no answer.
    expect((await options(ports.proxy, '127.0.0.2'))[0]).toBeNull();
  });

  /** A call that one of them takes, whoever's turn it is. */
  async function callOn(wanted: Served, port: number): Promise<SippCall> {
    for (;;) {
      const its = call(port);
      await expect.poll(async () => (await sessions(one)) + (await sessions(two)), PATIENCE).toBe(1);
      if ((await sessions(wanted)) === 1) return its;
      await goOn(its);
      expect(await its.done, its.output()).toBe(0);
      await expect.poll(async () => (await sessions(one)) + (await sessions(two)), PATIENCE).toBe(0);
    }
  }

  /** The status of the answer to OPTIONS and its Retry-After; null = none within 2 s. */
  async function options(port: number, address = '127.0.0.1'): Promise<[number | null, string | undefined]> {
    const socket = createSocket('udp4').bind(ports.prober, address);
    await once(socket, 'listening');
    const own = `${address}:${String(ports.prober)}`;
    const answer = once(socket, 'message', { signal: AbortSignal.timeout(2000) });
    await send(socket, port, [
      `OPTIONS sip:127.0.0.1:${String(port)} SIP/2.0`,
      `Via: SIP/2.0/UDP ${own};branch=z9hG4bK${String(++asks)};rport`,
      'Max-Forwards: 70',
      `From: <sip:prober@${own}>;tag=p`,
      `To: <sip:127.0.0.1:${String(port)}>`,
      `Call-ID: options-${String(asks)}`,
      'CSeq: 1 OPTIONS',
      `Contact: <sip:prober@${own}>`,
    ]);
    const [bytes] = (await answer.catch(() => [''])) as [Buffer | string];
    socket.close();
    await once(socket, 'close');
    const text = bytes.toString();
    const status = /^SIP\/2\.0 (\d+)/.exec(text)?.[1];
    return [status === undefined ? null : Number(status), /^Retry-After: (.*)\r$/m.exec(text)?.[1]];
  }
});

let asks = 0;

/** Has sipp go on with its scenario, whose next step waits for this. */
async function goOn({ port, callId, output }: SippCall): Promise<void> {
  // The session may be counted before the 200 has reached sipp.
  await expect.poll(output, PATIENCE).toContain('call answered');
  const socket = createSocket('udp4');
  await send(socket, port, [
    `INFO sip:sipp@127.0.0.1:${String(port)} SIP/2.0`,
    'Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKgo',
    'From: <sip:test@127.0.0.1>;tag=test',
    'To: <sip:sipp@127.0.0.1>',
    `Call-ID: ${callId}`,
    'CSeq: 1 INFO',
  ]);
  socket.close();
}

function send(socket: Socket, port: number, lines: readonly string[]): Promise<void> {
  const text = `${lines.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`;
  return new Promise((resolve) => socket.send(text, port, '127.0.0.1', () => resolve()));
}

function asked(served: Served, method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(served.address + path, {
    method,
    headers: { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
