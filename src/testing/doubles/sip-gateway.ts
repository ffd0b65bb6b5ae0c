import type { CallEnd, Carrier, CarrierCall } from '../../telephony/carriers/carrier.js';
import type { Clock } from '../../base/clock.js';
import type { RtpSession } from '../../transports/rtp/session.js';
import type { InboundCall } from '../../telephony/sip/call/inbound.js';
import type { Leg } from '../../telephony/sip/call/leg.js';
import type { OfferAnswer } from '../../telephony/sip/call/offer-answer.js';
import type { SipOutboundCall } from '../../telephony/sip/call/outbound.js';
import type { Hop } from '../../telephony/sip/hop.js';
import type { SipTransport } from '../../telephony/sip/transport/transport.js';
import { UserAgent } from '../../telephony/sip/user-agent.js';
import type { Transport } from '../../transports/transport.js';

export interface SipGatewayOptions {
  clock: Clock;
  /** Transport for outgoing messages; pass incoming ones to `agent.receive`. */
  transport: SipTransport;
  /** Unique letters and digits. */
  token: () => string;
  /** 0 ≤ number < 1 */
  chance: () => number;
  /** The gateway's host in SIP addresses. */
  host: string;
  /** The other side of the trunk. */
  trunk: Hop;
  /** The network behind the gateway. */
  phones: Carrier;
  openMedia: () => Promise<RtpSession>;
  /** Keys are in-band tones in both directions, without events (RFC 4733). Default false */
  hasNoEvents?: boolean;
}

/** Ring timeout of the phones, longer than that of callers. */
const RING_MS = 120_000;

/**
 * A gateway between a SIP trunk and the phones of another network, like a carrier at the far side of a trunk. In tests,
 * agents that call over SIP and RTP reach the simulated network through it.
 */
export class SipGateway {
  readonly agent: UserAgent;
  /** Media of current calls. */
  readonly media = new Set<RtpSession>();
  readonly #options: SipGatewayOptions;
  #isClosed = false;

  constructor(options: SipGatewayOptions) {
    this.#options = options;
    const { clock, transport, token, chance, phones } = options;
    this.agent = new UserAgent({
      clock,
      transport,
      token,
      chance,
      digest: null,
      user: 'gateway',
      isTrusted: () => true,
      onCall: (call) => void this.#fromTrunk(call),
    });
    phones.receiveCalls((call) => void this.#toTrunk(call));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([...this.media].map((media) => media.close()));
    this.agent.close();
  }

  async #fromTrunk(call: InboundCall): Promise<void> {
    let phone: CarrierCall | null = null;
    call.listen({
      onEnded: () => void phone?.line.close(),
      onKeys: (keys) => press(phone?.line, keys),
    });
    const media = await this.#opened();
    if (!call.prepare(this.#described(media))) return void this.#end(media);
    phone = this.#options.phones.placeCall({ from: call.from, to: call.to, ringTimeoutMs: RING_MS });
    join(media.line, phone.line);
    phone.onState((state) => {
      if (state === 'ringing') call.ring();
      else if (state === 'answered') {
        media.answered();
        call.answer();
      } else if (state === 'ended') {
        if (call.leg === null) call.reject(statusOf(phone?.end ?? null));
        else call.leg.bye();
        void this.#end(media);
      }
    });
  }

  async #toTrunk(phone: CarrierCall): Promise<void> {
    const media = await this.#opened();
    const { trunk, host } = this.#options;
    let leg: Leg | null = null;
    const call: SipOutboundCall = this.agent.call({
      target: `sip:${phone.to}@${trunk.address}`,
      to: `<sip:${phone.to}@${trunk.address}>`,
      from: `<sip:${phone.from}@${host}>`,
      hops: [trunk],
      media: this.#described(media),
      events: {
        onRinging: () => undefined,
        onAnswered: (answered) => {
          leg = answered;
          media.answered();
          phone.answer();
        },
        onFailed: () => phone.hangUp(),
        onEnded: () => void phone.line.close(),
        onKeys: (keys) => press(phone.line, keys),
      },
    });
    join(media.line, phone.line);
    phone.onState((state) => {
      if (state !== 'ended') return;
      if (leg === null) call.cancel();
      else leg.bye();
      void this.#end(media);
    });
    call.start();
  }

  async #opened(): Promise<RtpSession> {
    const media = await this.#options.openMedia();
    this.media.add(media);
    return media;
  }

  async #end(media: RtpSession): Promise<void> {
    await media.close();
    this.media.delete(media);
  }

  #described(media: RtpSession): OfferAnswer {
    if (this.#options.hasNoEvents !== true) return media;
    return {
      offer: () => withoutEvents(media.offer()),
      accept: (answer) => media.accept(withoutEvents(answer)),
      answer: (offer) => withoutEvents(media.answer(withoutEvents(offer))),
      rollback: () => media.rollback(),
    };
  }
}

/** A session description without telephone events. */
function withoutEvents(sdp: string): string {
  const types = [...sdp.matchAll(/^a=rtpmap:(\d+) telephone-event\/.*$/gm)].map(([, type = '']) => type);
  return sdp
    .split('\r\n')
    .filter((line) => !types.some((type) => line.startsWith(`a=rtpmap:${type} `) || line.startsWith(`a=fmtp:${type} `)))
    .map((line) =>
      line.startsWith('m=')
        ? line
            .split(' ')
            .filter((part) => !types.includes(part))
            .join(' ')
        : line,
    )
    .join('\r\n');
}

function statusOf(end: CallEnd | null): number {
  switch (end?.cause) {
    case 'busy':
      return 486;
    case 'no-answer':
      return 480;
    case 'rejected':
      return 603;
    default:
      return 404;
  }
}

const NEVER = new AbortController().signal;

function press(to: Transport | undefined, keys: string): void {
  to?.sendDigits?.(keys, NEVER).catch(() => undefined);
}

/** Connects the audio and keys of two lines. */
function join(one: Transport, other: Transport): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    const frames = new Frames((from.inputRateHz * 20) / 1000, (frame) => to.play(frame));
    from.start({
      audio: (samples) => frames.take(samples),
      digits: (keys) => press(to, keys),
      text: () => undefined,
      formResult: () => undefined,
      closed: () => undefined,
    });
  }
}

/** Cuts audio of any length into frames of 20 ms. */
class Frames {
  readonly #give: (frame: Int16Array) => void;
  readonly #length: number;
  #rest: number[] = [];

  constructor(length: number, give: (frame: Int16Array) => void) {
    this.#length = length;
    this.#give = give;
  }

  take(samples: Int16Array): void {
    for (const sample of samples) this.#rest.push(sample);
    while (this.#rest.length >= this.#length) this.#give(Int16Array.from(this.#rest.splice(0, this.#length)));
  }
}
