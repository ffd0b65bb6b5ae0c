/**
 * Addresses that customers give lead nowhere but to the public internet: every spelling of a private address, in every
 * field that takes one, behind redirects and behind names whose answers change. What listens is real and counts.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { LookupFunction } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { Engine } from '../../src/engine/engine.js';
import { errorOf, ParleyError } from '../../src/base/errors.js';
import { AddressGuard } from '../../src/net/address-guard.js';
import { GuardedClient } from '../../src/net/guarded-client.js';
import { dialGuarded } from '../../src/net/guarded-socket.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { httpServer, type LocalServer } from '../net/local-server.js';

let inside: LocalServer;
let insideV6: Server;
let outside: LocalServer;
/** Paths that were asked for inside, and connections that were made there. */
let reached: string[];
let connections = 0;

beforeAll(async () => {
  inside = await httpServer((request, response) => {
    reached.push((request.url ?? '').split('?')[0] ?? '');
    response.end('{}');
  });
  insideV6 = createServer((request, response) => {
    reached.push((request.url ?? '').split('?')[0] ?? '');
    response.end('{}');
  });
  insideV6.listen(inside.port, '::1');
  insideV6.on('connection', () => connections++);
  await Promise.race([once(insideV6, 'listening'), once(insideV6, 'error')]); // there may be no IPv6 here
  outside = await httpServer((request, response) => {
    const status = Number(/^\/(\d+)/.exec(request.url ?? '')?.[1] ?? 200);
    response.writeHead(status, { location: `${inside.origin}/redirected` }).end('{}');
  });
});
beforeEach(() => (reached = []));
afterAll(async () => {
  insideV6.close();
  await Promise.all([inside.close(), outside.close()]);
});

const PRIVATE = ['127.0.0.1', '127.255.0.9', '0.0.0.0', '10.1.2.3', '172.16.9.9', '192.168.1.1', '100.100.100.200'];
const METADATA = ['169.254.169.254', '168.63.129.16', '192.0.0.192'];
const NAMES = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  'localhost.localdomain',
  'ip6-localhost',
  'router',
  'metadata.google.internal',
  'METADATA.google.internal.',
  'instance-data',
  'nas.local',
  'a.lan',
  'b.home.arpa',
];
const V6 = [
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::0.0.0.1]',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[ff02::1]',
  '[fec0::1]',
  '[2001:db8::1]',
  '[100::1]',
  '[5f00::1]',
];

/** Everything that means this IPv4 address to some parser. */
function spellings(address: string): string[] {
  const parts = address.split('.').map(Number) as [number, number, number, number];
  const [a, b, c, d] = parts;
  const value = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (n: number, width = 2): string => n.toString(16).padStart(width, '0');
  const pair = `${hex(a)}${hex(b)}:${hex(c)}${hex(d)}`;
  const [first = ''] = address;
  return [
    address,
    `${address}.`,
    String(value),
    `0x${hex(value, 8)}`,
    `0X${hex(value, 8).toUpperCase()}`,
    `0${value.toString(8)}`,
    `000${value.toString(8)}`,
    parts.map((n) => `0x${hex(n)}`).join('.'),
    parts.map((n) => `0${n.toString(8)}`).join('.'),
    parts.map((n) => `00${n.toString(8)}`).join('.'),
    `${String(a)}.${String(value % 2 ** 24)}`,
    `${String(a)}.${String(b)}.${String(c * 256 + d)}`,
    `0x${hex(a)}.${String(b)}.0${c.toString(8)}.${String(d)}`,
    address.replace(/./g, fullWidth),
    address.replaceAll('.', '。'),
    `%${hex(first.charCodeAt(0))}${address.slice(1)}`,
    `[::ffff:${address}]`,
    `[::FFFF:${pair}]`,
    `[0:0:0:0:0:ffff:${pair}]`,
    `[::${address}]`,
    `[64:ff9b::${pair}]`,
    `[64:ff9b:1::${pair}]`,
    `[2002:${pair}::]`,
    `[::ffff:0:${address}]`,
    `[2001:0:${pair}::1]`,
  ];
}

function fullWidth(char: string): string {
  return char === '.' ? '．' : String.fromCodePoint((char.codePointAt(0) ?? 0) + 0xfee0);
}

/** Whole addresses that parsers take apart differently. */
const tricks = (port: number): string[] => [
  `http://example.com@127.0.0.1:${String(port)}/`,
  `http://127.0.0.1:${String(port)}#@example.com/`,
  `http://127.0.0.1:${String(port)}\\@example.com/`,
  `http:127.0.0.1:${String(port)}/`,
  `http:/\\127.0.0.1:${String(port)}/`,
  `\u0000http://127.0.0.1:${String(port)}/`,
  `http://127.0.0.1\t:${String(port)}/`,
  `ht\ntp://127.0.0.1:${String(port)}/`,
  `//127.0.0.1:${String(port)}/`,
  `HTTP://127.0.0.1:${String(port)}/`,
  `http://127.0.0.1:0${String(port)}/`,
  `file:///etc/passwd`,
  'data:,x',
  `unix:/var/run/docker.sock`,
  `http://unix:/var/run/docker.sock:/x`,
  'gopher://127.0.0.1:6379/_INFO',
  `http://①②⑦.⓪.⓪.①:${String(port)}/`,
  `http://127.0.0.1%2eexample.com/`,
  `http://127。1:${String(port)}/`,
];

const ALL = (): string[] => [
  ...[...PRIVATE, ...METADATA].flatMap(spellings).map((host) => `http://${host}:${String(inside.port)}/`),
  ...[...NAMES, ...V6].map((host) => `http://${host}:${String(inside.port)}/`),
  ...tricks(inside.port),
];

/** A call of an agent that has the address everywhere, to its end. Resolves with the faults, or why there was no call. */
async function call(address: string, allowUrls: readonly string[] = []): Promise<unknown> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock, allowUrls });
  const line = new MemoryTransport();
  const at = (path: string): string => address.replace(/\/$/, `/${path}`);
  const agent: AgentConfig = {
    first_message: 'Hello.',
    extra_prompt_webhook: at('brief'),
    session_data_webhook: at('ended'),
    call_settings: { background: { url: at('background'), volume: 1 } },
    tools: [{ name: 'book', description: 'Books.', webhook: at('book') }],
  };
  try {
    const session = await engine.createSession({
      agent,
      transport: line,
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      tts: toneTts(),
      llm: functionLlm(({ messages }) =>
        messages.at(-1)?.content === 'book' ? { calls: [{ name: 'book', arguments: '{}' }] } : 'Done.',
      ),
    });
    let ended = false;
    const report = session.run().finally(() => (ended = true));
    await clock.advanceBy(1_000);
    session.sendText('book');
    await clock.advanceBy(3_000);
    line.hangUp();
    await clock.runUntil(() => ended, 600_000);
    return (await report).faults;
  } catch (error) {
    return error;
  } finally {
    await engine.close();
  }
}

describe('a private address', () => {
  it('is reached where the operator lists it: what the other tests rely on', async () => {
    await call(`${inside.origin}/`, [inside.origin]);
    expect([...new Set(reached)].toSorted()).toEqual(['/background', '/book', '/brief', '/ended']);
  });

  it('is reached by no field of an agent, in no usual spelling', async () => {
    const hosts = [...spellings('127.0.0.1'), 'localhost', 'localhost.', '[::1]', '0.0.0.0', '[::]', '127.1', '0'];
    for (const host of hosts) await call(`http://${host}:${String(inside.port)}/`);
    for (const url of tricks(inside.port)) await call(url);
    expect([reached, connections]).toEqual([[], 0]);
  });

  it('is refused by the client and the socket that all fields share, in every spelling', async () => {
    const client = new GuardedClient({ clock: new RealClock(), lookup: localResolver });
    const guard = new AddressGuard({ lookup: localResolver });
    const wrong: string[] = [];
    const signal = new AbortController().signal;
    for (const url of ALL()) {
      const asked = await client.request({ url, signal, timeoutMs: 5_000 }).catch(errorOf);
      if (!(asked instanceof ParleyError) || asked.code !== 'NET_ADDRESS_REFUSED')
        wrong.push(`${url}: ${asked instanceof Error ? asked.message : 'it was answered'}`);
      const socketUrl = url.replace(/^http/i, 'ws');
      const dialled = await dial(guard, socketUrl);
      if (!/not allowed|not on the public|local network|not an address|user name/.test(dialled)) {
        wrong.push(`${socketUrl}: ${dialled}`);
      }
    }
    await client.close();
    expect(wrong).toEqual([]);
    expect([reached, connections]).toEqual([[], 0]);
  });

  it('is not reached through a redirect', async () => {
    for (const status of [301, 302, 303, 307, 308])
      await call(`${outside.origin}/${String(status)}/`, [outside.origin]);
    expect(reached).toEqual([]);
    const guard = new AddressGuard({ allowUrls: [outside.origin.replace('http', 'ws')] });
    expect(await dial(guard, `${outside.origin.replace('http', 'ws')}/302`)).toMatch(/302/);
    expect(reached).toEqual([]);
  });

  it('is not reached through a name whose answers change (DNS rebinding)', async () => {
    for (const answers of [
      [['192.0.2.1'], ['127.0.0.1']],
      [['93.184.216.34', '127.0.0.1']],
      [['::ffff:127.0.0.1']],
      [['127.0.0.1'], ['93.184.216.34']],
      [[]],
    ]) {
      let asked = 0;
      const lookup: LookupFunction = (_name, _options, callback) => {
        const addresses = answers[Math.min(asked++, answers.length - 1)] ?? [];
        callback(
          null,
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        );
      };
      const client = new GuardedClient({ clock: new RealClock(), lookup });
      const url = `http://rebind.example.com:${String(inside.port)}/`;
      const { signal } = new AbortController();
      for (let time = 0; time < 2; time++) {
        if (answers.length === 2 && answers[time]?.[0] === '93.184.216.34') continue; // that one may be called
        await expect(client.request({ url, signal, timeoutMs: 5_000 })).rejects.toMatchObject({
          code: 'NET_ADDRESS_REFUSED',
        });
      }
      await client.close();
      expect(await dial(new AddressGuard({ lookup }), url.replace('http', 'ws'))).not.toBe('open');
    }
    expect([reached, connections]).toEqual([[], 0]);
  });
});

/** A resolver that knows every name as this machine. */
const localResolver: LookupFunction = (_name, _options, callback) =>
  callback(null, [{ address: '127.0.0.1', family: 4 }]);

/** Why a socket did not open; `open` where it did. */
async function dial(guard: AddressGuard, url: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { url, headers: {}, connectTimeoutMs: 5_000, clock: new RealClock(), maxMessageBytes: 1_000 };
    const events = { onOpen: () => resolve('open'), onText: () => undefined, onClosed: resolve };
    dialGuarded(guard, options, events).catch((error: unknown) => resolve(errorOf(error).message));
  });
}
