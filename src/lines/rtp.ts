import * as z from 'zod';
import { abortAfter, raceAbort } from '../base/deadlines.js';
import { errorOf, reasonOf } from '../base/errors.js';
import type { Engine } from '../engine/engine.js';
import { faultOf, parseWith } from '../schema/issues.js';
import type { CallRequest, CarrierCall } from '../telephony/carriers/carrier.js';
import { CallLine } from '../telephony/carriers/sip/line.js';
import { type CodecName, CODECS } from '../transports/rtp/media-codec.js';
import { isNowhere, type SrtpPolicy } from '../transports/rtp/negotiation.js';
import { RtpPorts } from '../transports/rtp/ports.js';
import { printSdp } from '../transports/rtp/sdp.js';
import { openRtpMedia, type RtpSession, rtpSessionOver } from '../transports/rtp/session.js';
import type { TransferOutcome, Transport } from '../transports/transport.js';
import {
  answerTo,
  type CallerInfo,
  changeOf,
  DirectCall,
  type DirectCallOptions,
  DirectCalls,
  leftEnd,
} from './direct-call.js';
import { assertEngine, type LineOptions, type PhoneLine, SwitchedLine, withoutUnset } from './line.js';

export interface RtpLineOptions extends LineOptions {
  /** Local address for the sockets of calls, IPv4 or IPv6. */
  address: string;
  /** Our address as the other sides reach it. Default `address`; needed if that is the unspecified one. */
  advertisedAddress?: string | undefined;
  /** UDP ports, inclusive; each call uses two. Default 16384 to 32767; null = any. */
  portRange?: readonly [number, number] | null | undefined;
  /** In order of preference. Default PCMU, PCMA. */
  codecs?: readonly CodecName[] | undefined;
  /** Default `accepted`. */
  srtp?: SrtpPolicy | undefined;
  /** Whether to send silence as comfort noise, if the other side accepts it. Default false. */
  comfortNoise?: boolean | undefined;
  /**
   * Signals an outbound call. Resolves when the other side has answered: to its answer (SDP), or to where it takes packets.
   * What it throws is the reason why the call has failed. Default: calls only come in.
   * @param signal aborted when the call is given up
   */
  negotiate?: ((call: RtpDial, signal: AbortSignal) => Promise<string | RtpRemote> | string | RtpRemote) | undefined;
  /** Connects the far end of a call to somebody else. Default: agents cannot transfer. */
  transfer?: ((transfer: RtpTransfer, signal: AbortSignal) => Promise<TransferOutcome>) | undefined;
}

/** A call whose far end is to be connected to somebody else. */
export interface RtpTransfer {
  /** A number or an address, which calls may be transferred to. */
  readonly target: string;
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: string;
  /** As the call's caller or request gave them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An outbound call for the embedder's signalling. */
export interface RtpDial {
  readonly from: string;
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Our offer (SDP). */
  readonly offer: string;
  /** Where we take packets. */
  readonly address: string;
  readonly port: number;
  /** It rings at the far end. */
  ringing(): void;
  /** The far end has hung up. */
  hungUp(): void;
}

/** The other side of a call without descriptions (SDP). */
export interface RtpRemote {
  /** An IP address. */
  address: string;
  port: number;
  codec: CodecName;
  /** Default the static type of RFC 3551; 107 for Opus. */
  payloadType?: number | undefined;
}

/** Calls whose signalling is the embedder's: descriptions (SDP) or addresses go in and out, audio flows over RTP. */
export interface RtpLine extends PhoneLine {
  /**
   * Takes an offer (SDP) to the handler of calls. Resolves to the answer when an agent takes the call, which speaks at once.
   * @param caller its `signal` is aborted when the caller hangs up, before the answer or later
   * @throws ParleyError SDP_INVALID, MEDIA_UNSUPPORTED, CALL_REFUSED, RTP_PORTS_FULL; the signal's reason
   */
  accept(offer: string, caller?: CallerInfo): Promise<string>;
  /**
   * Answers another offer of a running call: hold, another address.
   * @throws ParleyError NOT_FOUND, SDP_INVALID, MEDIA_UNSUPPORTED; the call continues unchanged
   */
  change(sessionId: string, offer: string): Promise<string>;
}

const codecSchema = z.enum(Object.keys(CODECS) as [CodecName, ...CodecName[]]);
const addressSchema = z.ipv4().or(z.ipv6());
const portSchema = z.int().min(1_024).max(65_535);
const optionsSchema = z.strictObject({
  address: addressSchema,
  advertisedAddress: addressSchema.optional(),
  portRange: z.tuple([portSchema, portSchema]).nullable().optional(),
  codecs: z.array(codecSchema).min(1).optional(),
  srtp: z.enum(['off', 'accepted', 'offered', 'required']).optional(),
  comfortNoise: z.boolean().optional(),
});
const remoteSchema = z.strictObject({
  address: addressSchema,
  port: z.int().min(1).max(65_535),
  codec: codecSchema,
  payloadType: z.int().min(0).max(127).optional(),
});

/** @throws ParleyError CONFIG_INVALID, ARGUMENT_INVALID without an engine */
export async function rtpLine(options: RtpLineOptions): Promise<RtpLine> {
  const { engine, mayTransfer, onError, negotiate, transfer, ...given } = options;
  assertEngine(engine);
  const parsed = parseWith(optionsSchema, withoutUnset(given));
  const { address, advertisedAddress = address, codecs = ['PCMU', 'PCMA'] } = parsed;
  if (isNowhere(advertisedAddress)) {
    const reason =
      'the other side cannot send to the unspecified address: set the one at which it reaches this machine';
    throw faultOf(['advertisedAddress'], reason);
  }
  const { portRange, srtp = 'accepted', comfortNoise = false } = parsed;
  const ports = new RtpPorts({
    clock: engine.clock,
    localAddress: address,
    ...(portRange !== undefined && { portRange }),
  });
  const open = async (): Promise<OpenSession> => {
    const { clock, ticker } = engine;
    const opened = await openRtpMedia({ clock, ticker, ports, codecs });
    const session = rtpSessionOver(opened, { address: advertisedAddress, codecs, srtp, comfortNoise });
    return { session, port: opened.port };
  };
  const parts = { engine, onError, open, negotiate, transfer, address: advertisedAddress, codecs };
  const calls = new RtpCalls(parts);
  const line = new SwitchedLine({ engine, mayTransfer, onError, carrier: calls, closing: () => Promise.resolve() });
  const accept: RtpLine['accept'] = async (offer, caller) => {
    caller?.signal?.throwIfAborted();
    const { session } = await open();
    let answer: string;
    try {
      answer = session.answer(offer);
    } catch (error) {
      await session.close();
      throw error;
    }
    const call: DirectCall = new DirectCall({
      clock: engine.clock,
      carrier: 'rtp',
      codec: '',
      direction: 'inbound',
      caller,
      transport: session.line,
      connect: () => Promise.resolve(session.answered()),
      change: (again) => Promise.resolve().then(() => session.answer(again)),
      transfer: transferOf(transfer, () => call),
      close: () => session.close(),
      onError: (error) => onError?.(errorOf(error)),
    });
    return answerTo(call, calls, Promise.resolve(answer), caller?.signal);
  };
  return Promise.resolve(Object.assign(line, { accept, change: changeOf(line) }));
}

interface OpenSession {
  session: RtpSession<Transport>;
  port: number;
}

interface RtpCallsParts extends Pick<RtpLineOptions, 'negotiate' | 'transfer' | 'onError'> {
  engine: Engine;
  open: () => Promise<OpenSession>;
  /** For the other side's packets. */
  address: string;
  codecs: readonly CodecName[];
}

class RtpCalls extends DirectCalls {
  readonly #parts: RtpCallsParts;

  constructor(parts: RtpCallsParts) {
    super();
    this.#parts = parts;
  }

  override placeCall(request: CallRequest): CarrierCall {
    const { engine, negotiate, transfer, onError, codecs } = this.#parts;
    if (negotiate === undefined) return super.placeCall();
    const given = new AbortController();
    let opened: RtpSession<Transport> | null = null;
    // The line exists before the sockets do.
    const transport = new CallLine(Math.max(...codecs.map((name) => CODECS[name].sampleRateHz)), {
      onClosed: () => call.hangUp(),
      onTransfer: () => Promise.resolve<TransferOutcome>({ ok: false, reason: 'unsupported' }),
    });
    const call: DirectCall = new DirectCall({
      clock: engine.clock,
      carrier: 'rtp',
      codec: '',
      direction: 'outbound',
      caller: request,
      transport,
      connect: () => Promise.resolve(opened?.answered()),
      change: (offer) => Promise.resolve().then(() => opened?.answer(offer) ?? ''),
      transfer: transferOf(transfer, () => call),
      close: async () => {
        transport.freeze();
        given.abort(new Error('the call is over'));
        transport.gone();
        await opened?.close();
      },
      onError: (error) => onError?.(errorOf(error)),
    });
    void this.#dial(call, { ...request, negotiate, transport, given: given.signal }, (session) => (opened = session));
    return call;
  }

  async #dial(
    call: DirectCall,
    {
      negotiate,
      transport,
      given,
      ...request
    }: CallRequest & {
      negotiate: NonNullable<RtpLineOptions['negotiate']>;
      transport: CallLine;
      given: AbortSignal;
    },
    onOpen: (session: RtpSession<Transport>) => void,
  ): Promise<void> {
    const { engine, open, address } = this.#parts;
    const { from, to, headers = {} } = request;
    const { signal, cancel } = abortAfter(engine.clock, request.ringTimeoutMs, given);
    try {
      const { session, port } = await open();
      onOpen(session);
      transport.attach(session.line);
      if (given.aborted) return await session.close();
      const ringing = (): void => call.ring();
      const hungUp = (): void => call.finish(leftEnd());
      const dial: RtpDial = { from, to, headers, offer: session.offer(), address, port, ringing, hungUp };
      const remote = await raceAbort(Promise.resolve(negotiate(dial, signal)), signal);
      session.accept(typeof remote === 'string' ? remote : descriptionOf(remote));
      call.connect();
    } catch (error) {
      if (signal.aborted) call.finish({ cause: 'no-answer', by: 'agent', reason: 'it was not answered in time' });
      else call.finish({ cause: 'failed', by: 'network', reason: reasonOf(error) });
    } finally {
      cancel();
    }
  }
}

function transferOf(transfer: RtpLineOptions['transfer'], ofCall: () => DirectCall): DirectCallOptions['transfer'] {
  if (transfer === undefined) return undefined;
  return (target, signal) => {
    const { direction, from, to, headers } = ofCall();
    return transfer({ target, direction, from, to, headers }, signal);
  };
}

/** The description of a side that has none of its own. @throws ParleyError CONFIG_INVALID */
function descriptionOf(remote: RtpRemote): string {
  const { address, port, codec, payloadType } = parseWith(remoteSchema, remote, ['negotiate']);
  const facts = CODECS[codec];
  const { clockRateHz } = facts;
  const type = payloadType ?? facts.payloadType;
  const audio = { payloadType: type, name: facts.name, clockRateHz, channels: facts.channels, fmtp: null };
  // By convention; keys from other types are not heard as events.
  const keys = { payloadType: 101, name: 'telephone-event', clockRateHz, channels: 1, fmtp: '0-15' };
  const media = {
    kind: 'audio',
    port,
    profile: 'RTP/AVP',
    address,
    direction: 'sendrecv' as const,
    formats: [audio, keys],
    rawFormats: [String(type), '101'],
    ptimeMs: 20,
    maxPtimeMs: null,
    rtcp: null,
    rtcpMux: false,
    crypto: [],
  };
  return printSdp({ origin: { id: '1', version: '1' }, media: [media] }, address);
}
