/**
 * What SIP costs: reading and writing a message, a whole call's signalling at both ends, and the slowest of many
 * hostile datagrams.
 *
 *   npm run build && node bench/run.mjs sip [--calls=2000] [--datagrams=50000]
 */
import { VirtualClock } from '../dist/base/virtual-clock.js';
import { Random } from '../dist/base/random.js';
import type { InboundCall } from '../dist/telephony/sip/call/inbound.js';
import { parseMessage } from '../dist/telephony/sip/parse.js';
import { messageBytes } from '../dist/telephony/sip/message.js';
import { UserAgent } from '../dist/telephony/sip/user-agent.js';
import type { Hop } from '../dist/telephony/sip/hop.js';
import { machine } from './lib/machine.js';
import { markdownTable, median } from './lib/numbers.js';

const option = (name: string): string | undefined =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const CALLS = Number(option('calls') ?? 2_000);
const DATAGRAMS = Number(option('datagrams') ?? 50_000);
const HOPS: readonly [Hop, Hop] = [
  { protocol: 'UDP', address: '192.0.2.1', port: 5060 },
  { protocol: 'UDP', address: '192.0.2.2', port: 5060 },
];
const SDP =
  'v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 20000 RTP/AVP 0 8 101\r\n' +
  'a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n';
const MEDIA = { offer: () => SDP, accept: () => undefined, answer: () => SDP, rollback: () => undefined };

/** Two user agents, each message handed over at once; what was sent is kept. */
function pair() {
  const clock = new VirtualClock();
  const random = new Random(1);
  const sent: Uint8Array[] = [];
  const queue: (() => void)[] = [];
  const agents: UserAgent[] = [];
  let tokens = 0;
  const answer = (call: InboundCall): void => {
    call.listen({ onEnded: () => undefined, onKeys: () => undefined });
    call.prepare(MEDIA);
    call.ring();
    call.answer();
  };
  for (const [index, own] of HOPS.entries()) {
    agents.push(
      new UserAgent({
        clock,
        digest: null,
        user: 'bench',
        isTrusted: () => true,
        onCall: answer,
        token: () => `${String(index)}token${String(++tokens)}0123456789`,
        chance: () => random.next(),
        transport: {
          send: (bytes) => {
            if (sent.length < 10) sent.push(bytes);
            queue.push(() => agents[1 - index]?.receive(bytes, own));
          },
          localPlace: () => ({ host: own.address, port: own.port, bound: own.address }),
          isOpen: () => true,
          close: () => Promise.resolve(),
        },
      }),
    );
  }
  const settle = (): void => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) next();
  };
  const [caller] = agents as [UserAgent, UserAgent];
  const call = (): void => {
    const placed = caller.call({
      target: 'sip:+12025550123@example.com;user=phone',
      from: '<sip:+12025550199@example.com>',
      to: '<sip:+12025550123@example.com>',
      hops: [HOPS[1]],
      media: MEDIA,
      events: {
        onRinging: () => undefined,
        onAnswered: () => undefined,
        onFailed: () => undefined,
        onEnded: () => undefined,
        onKeys: () => undefined,
      },
    });
    placed.start();
    settle();
    placed.leg?.bye();
    settle();
  };
  return { clock, agents, sent, call };
}

/** Microseconds a call of `act`, the median of five rounds. */
function microseconds(count: number, act: () => unknown): number {
  const rounds = Array.from({ length: 5 }, () => {
    const start = process.hrtime.bigint();
    for (let n = 0; n < count; n++) act();
    return Number(process.hrtime.bigint() - start) / count / 1_000;
  });
  return median(rounds);
}

async function costs(): Promise<Uint8Array[]> {
  const { clock, sent, call, agents } = pair();
  call();
  const invite = sent[0] as Uint8Array;
  const parsed = parseMessage(invite);
  const rows: (string | number)[][] = [
    ['what', 'µs'],
    [`an INVITE of ${String(invite.length)} bytes, read`, microseconds(20_000, () => parseMessage(invite))],
    ['written', microseconds(20_000, () => (parsed.ok ? messageBytes(parsed.message) : null))],
  ];
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const start = process.cpuUsage();
    for (let n = 0; n < CALLS / 5; n++) call();
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / (CALLS / 5));
    await clock.advanceBy(40_000); // its transactions are over
  }
  rows.push(['a call, INVITE to BYE, both ends together (CPU)', median(times)]);
  console.log(`\n${markdownTable(rows)}`);
  for (const agent of agents) agent.close();
  return sent;
}

/** Messages that chance has changed, and some that were made to take long. */
function hostile(seeds: readonly Uint8Array[]): void {
  const random = new Random(7);
  const { agents } = pair();
  const [agent] = agents as [UserAgent, UserAgent];
  const parts = [
    '\r\n',
    '\r\n\r\n',
    ' '.repeat(4_000),
    '"'.repeat(3_000),
    ';,'.repeat(2_000),
    '<',
    '>',
    ':',
    '\0',
    'a=',
  ];
  let slowestUs = 0;
  let slowestBytes = 0;
  let totalUs = 0;
  for (let n = 0; n < DATAGRAMS; n++) {
    let bytes = Buffer.from(random.pick(seeds));
    for (let change = random.int(1, 4); change > 0; change--) {
      const at = random.int(0, bytes.length);
      const put = Buffer.from(random.pick(parts), 'latin1');
      bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + random.int(0, 20))]);
    }
    // The best of three: a pause of the machine's is none of the datagram's.
    const took = [0, 0, 0].map(() => {
      const start = process.hrtime.bigint();
      agent.receive(bytes, HOPS[1]);
      return Number(process.hrtime.bigint() - start) / 1_000;
    });
    const us = Math.min(...took);
    totalUs += us;
    if (us <= slowestUs) continue;
    slowestUs = us;
    slowestBytes = bytes.length;
  }
  const rows: (string | number)[][] = [
    [`${String(DATAGRAMS)} hostile datagrams`, 'µs'],
    ['on average', totalUs / DATAGRAMS],
    [`the slowest, of ${String(slowestBytes)} bytes`, slowestUs],
  ];
  console.log(`\n${markdownTable(rows)}`);
  agent.close();
}

console.log(machine());
hostile(await costs());
