import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { ParleyError } from '../../../src/base/errors.js';
import type { CallIntake } from '../../../src/telephony/sip/call-intake.js';
import type { InboundCall, InboundEvents } from '../../../src/telephony/sip/call/inbound.js';
import type { Leg, LegEnd } from '../../../src/telephony/sip/call/leg.js';
import type { OfferAnswer } from '../../../src/telephony/sip/call/offer-answer.js';
import type {
  SipOutboundCall,
  OutboundEvents,
  OutboundFailure,
  OutboundOptions,
} from '../../../src/telephony/sip/call/outbound.js';
import { DigestClient } from '../../../src/telephony/sip/digest.js';
import type { Hop } from '../../../src/telephony/sip/hop.js';
import { type SipMessage, type SipRequest, messageBytes } from '../../../src/telephony/sip/message.js';
import { parseMessage } from '../../../src/telephony/sip/parse.js';
import { UserAgent } from '../../../src/telephony/sip/user-agent.js';
import { Random } from '../../../src/base/random.js';

/** Media that agree to everything but what says `nothing`, and write down what they got. */
export class TestMedia implements OfferAnswer {
  readonly reported: string[] = [];
  readonly #name: string;
  #offers = 0;

  constructor(name: string) {
    this.#name = name;
  }

  offer(): string {
    return `offer ${String(++this.#offers)} of ${this.#name}`;
  }

  accept(answer: string): void {
    this.#check(answer);
    this.reported.push(`accept ${answer}`);
  }

  answer(offer: string): string {
    this.#check(offer);
    this.reported.push(`answer ${offer}`);
    return `answer of ${this.#name}`;
  }

  rollback(): void {
    this.reported.push('rollback');
  }

  #check(sdp: string): void {
    if (sdp.includes('nothing')) throw new ParleyError('MEDIA_UNSUPPORTED', { reason: 'nothing' });
  }
}

export const HOPS = {
  ann: { protocol: 'UDP', address: '192.0.2.1', port: 5060 },
  bob: { protocol: 'UDP', address: '192.0.2.2', port: 5060 },
  eve: { protocol: 'UDP', address: '203.0.113.9', port: 5060 },
} as const satisfies Record<string, Hop>;

export function messageOf(bytes: Uint8Array): SipMessage {
  const parsed = parseMessage(bytes);
  if (!parsed.ok) throw new Error(parsed.fault);
  return parsed.message;
}

/** Whether a message is lost, and what passes in its place. */
type Filter = (message: SipMessage, from: Hop, to: Hop) => boolean;

/** A network of UDP in virtual time: 10 ms to each. */
export class Wire {
  readonly clock = new VirtualClock();
  /** Every message: when it was sent, by whom, and its method or status. */
  readonly log: { atMs: number; from: string; what: string; message: SipMessage }[] = [];
  /** False: the message is lost. */
  passes: Filter = () => true;
  readonly #receivers = new Map<string, (bytes: Uint8Array, from: Hop) => void>();

  attach(hop: Hop, receive: (bytes: Uint8Array, from: Hop) => void): void {
    this.#receivers.set(`${hop.address}:${String(hop.port)}`, receive);
  }

  send(bytes: Uint8Array, from: Hop, to: Hop): void {
    const message = messageOf(bytes);
    const what = message.kind === 'request' ? message.method : String(message.status);
    this.log.push({ atMs: this.clock.nowMs(), from: from.address, what, message });
    if (!this.passes(message, from, to)) return;
    const copy = Uint8Array.from(bytes);
    this.clock.schedule(this.clock.nowMs() + 10, () => {
      this.#receivers.get(`${to.address}:${String(to.port)}`)?.(copy, from);
    });
  }

  /** What was sent, in order; ACK and retransmissions too. */
  get said(): string {
    return this.log.map(({ what }) => what).join(' ');
  }

  times(what: string): number[] {
    return this.log.filter((entry) => entry.what === what).map(({ atMs }) => atMs);
  }

  last(what: string): SipMessage {
    const entry = this.log.findLast((one) => one.what === what);
    if (entry === undefined) throw new Error(`${what} was not sent`);
    return entry.message;
  }
}

export interface Phone {
  agent: UserAgent;
  hop: Hop;
  /** Calls that came in. */
  calls: InboundCall[];
  /** Whether new calls are taken; true at first. */
  isOpen: boolean;
  /** Calls that were refused: the status, and why. */
  refused: string[];
}

/** A user agent on the wire. */
export function phoneAt(
  wire: Wire,
  hop: Hop,
  seed: number,
  credentials?: { user: string; password: string },
  intake?: CallIntake,
): Phone {
  const random = new Random(seed);
  let tokens = 0;
  const token = (): string => `${hop.address.replaceAll('.', '')}x${String(++tokens)}`;
  const calls: InboundCall[] = [];
  const agent = new UserAgent({
    clock: wire.clock,
    token,
    chance: () => random.next(),
    user: 'parley',
    digest: credentials === undefined ? null : new DigestClient(credentials, token),
    transport: {
      send: (bytes, to) => wire.send(bytes, hop, to),
      localPlace: () => ({ host: hop.address, port: hop.port, bound: hop.address }),
      isOpen: () => true,
      close: () => Promise.resolve(),
    },
    isTrusted: ({ address }) => address.startsWith('192.0.2.'),
    takesCalls: () => phone.isOpen,
    ...(intake !== undefined && { intake }),
    onCall: (call) => calls.push(call),
    onRefused: ({ status, why }) => phone.refused.push(`${String(status)} ${why}`),
  });
  wire.attach(hop, (bytes, from) => agent.receive(bytes, from));
  const phone: Phone = { agent, hop, calls, isOpen: true, refused: [] };
  return phone;
}

export interface Placed {
  call: SipOutboundCall;
  media: TestMedia;
  /** What was reported, in order. */
  reported: string[];
  leg: () => Leg;
  failure: () => OutboundFailure;
}

export function place(from: Phone, to: Hop, options: Partial<OutboundOptions> = {}): Placed {
  const reported: string[] = [];
  const media = new TestMedia('ann');
  let leg: Leg | null = null;
  let failed: OutboundFailure | null = null;
  const events: OutboundEvents = {
    onRinging: () => reported.push('ringing'),
    onAnswered: (answered) => {
      leg = answered;
      reported.push('answered');
    },
    onFailed: (failure) => {
      failed = failure;
      reported.push(`failed ${failure.reason}`);
    },
    onEnded: ({ by, reason }) => reported.push(`ended by ${by}: ${reason}`),
    onKeys: (keys) => reported.push(`keys ${keys}`),
  };
  const call = from.agent.call({
    target: `sip:bob@${to.address}`,
    from: '<sip:ann@example.com>',
    to: '<sip:bob@example.com>',
    hops: [to],
    media,
    events,
    ...options,
  });
  call.start();
  const there = <T>(value: T | null): T => {
    if (value === null) throw new Error(`it is not there: ${reported.join(', ')}`);
    return value;
  };
  return { call, media, reported, leg: () => there(leg), failure: () => there(failed) };
}

/** Takes a call that came in, as far as it is reported. */
export function take(call: InboundCall, upTo: 'prepared' | 'ringing' | 'answered' = 'answered') {
  const reported: string[] = [];
  const media = new TestMedia('bob');
  const events: InboundEvents = {
    onAnswered: () => (taken.answers += 1),
    onEnded: ({ by, reason }: LegEnd) => reported.push(`ended by ${by}: ${reason}`),
    onKeys: (keys) => reported.push(`keys ${keys}`),
  };
  const taken = { reported, media, answers: 0 };
  call.listen(events);
  if (call.prepare(media) && upTo !== 'prepared') {
    call.ring();
    if (upTo === 'answered') call.answer();
  }
  return taken;
}

/** Two phones, and a call between them that has been answered. */
export async function connected() {
  const wire = new Wire();
  const ann = phoneAt(wire, HOPS.ann, 1);
  const bob = phoneAt(wire, HOPS.bob, 2);
  const placed = place(ann, HOPS.bob);
  await wire.clock.advanceBy(50);
  const [call] = bob.calls;
  if (call === undefined) throw new Error('no call came');
  const taken = take(call);
  await wire.clock.advanceBy(50);
  const bobLeg = call.leg;
  if (bobLeg === null) throw new Error('there is no leg');
  return { wire, ann, bob, placed, annLeg: placed.leg(), bobLeg, taken, call };
}

/** Somebody at an address who says what a test has it say. */
export class Puppet {
  readonly got: SipMessage[] = [];
  readonly #wire: Wire;
  readonly #hop: Hop;

  constructor(wire: Wire, hop: Hop, answer: (message: SipMessage, puppet: Puppet, from: Hop) => void) {
    this.#wire = wire;
    this.#hop = hop;
    wire.attach(hop, (bytes, from) => {
      const message = messageOf(bytes);
      this.got.push(message);
      answer(message, this, from);
    });
  }

  say(message: SipMessage, to: Hop): void {
    this.#wire.send(messageBytes(message), this.#hop, to);
  }

  requests(method: string): SipRequest[] {
    return this.got.filter((message): message is SipRequest => message.kind === 'request' && message.method === method);
  }
}
