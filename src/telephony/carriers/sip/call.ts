import type { SpecialInformation } from '../../../audio/tones/special-information-tones.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import type { SessionLine } from '../../../engine/remote-line.js';
import type { Leg, LegEnd } from '../../sip/call/leg.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import {
  type CallEnd,
  type CallRecord,
  type CallRefusal,
  type CallState,
  type CarrierCall,
  refused,
} from '../carrier.js';
import { CallStates, TRANSFERRED } from '../call-states.js';
import { endOfLeg } from './end-cause.js';
import type { AgentLine, CallLineEvents, CallMediaHost, CallMedia } from './call-media-host.js';

/** The call's signalling. */
export interface Signalling {
  /** Null until the call is answered. */
  leg(): Leg | null;
  /** Refuses an inbound call, or cancels an outbound one. */
  giveUp(refusal?: CallRefusal): void;
  /** Answers an inbound call. */
  accept(): void;
}

export interface SipCallOptions {
  id: string;
  carrier: string;
  direction: 'inbound' | 'outbound';
  from: string;
  to: string;
  headers: Readonly<Record<string, string>>;
  rateHz: number;
  mediaHost: CallMediaHost;
  /** Where its line must be, see `CallMediaHost`. */
  near: Parameters<CallMediaHost['openLine']>[2];
  clock: Clock;
  onTransfer: (call: SipCall, target: string, signal: AbortSignal) => Promise<TransferOutcome>;
  onConnect: (call: SipCall, other: CarrierCall<SessionLine>, signal: AbortSignal) => Promise<TransferOutcome>;
  onPlace: (call: SipCall, target: string, ringTimeoutMs: number) => SipCall;
  /** The call is completely over. */
  onOver: () => void;
  onListenerError: (error: unknown) => void;
}

/** Time for the last words to arrive and leave the far end's jitter buffer. */
const LAST_WORDS_MS = 120;

/** A call on a SIP trunk. */
export class SipCall implements CarrierCall<SessionLine> {
  readonly id: string;
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly line: AgentLine;
  readonly #options: SipCallOptions;
  readonly #states: CallStates;
  #end: CallEnd | null = null;
  #signalling: Signalling | null = null;
  #media: CallMedia | null = null;
  #transfer: CallRecord['transfer'] = null;
  #transferring = 0;
  /** The far end was transferred: in the network (`away`), or relayed by parley (`bridged`). */
  #handedOver: 'no' | 'away' | 'bridged' = 'no';
  #cancelLastWords: Cancel | null = null;
  #codec = '';
  #announced: SpecialInformation | null = null;
  #isOver = false;
  /** Called when a bridged far end leaves. */
  #onFarGone: () => void = () => undefined;

  constructor(options: SipCallOptions) {
    const { id, direction, from, to, headers, rateHz, mediaHost, near, clock } = options;
    this.#options = options;
    this.#states = new CallStates({ nowMs: () => clock.nowMs(), onListenerError: options.onListenerError });
    this.id = id;
    this.direction = direction;
    this.from = from;
    this.to = to;
    this.headers = headers;
    const events: CallLineEvents = {
      onClosed: () => this.#agentLeft(),
      onTransfer: (target, signal) => this.#transferTo(target, signal),
    };
    this.line = mediaHost.openLine(rateHz, events, near);
  }

  get state(): CallState {
    return this.#states.current;
  }

  get end(): CallEnd | null {
    return this.#end;
  }

  get leg(): Leg | null {
    return this.#signalling?.leg() ?? null;
  }

  get media(): CallMedia | null {
    return this.#media;
  }

  /** The meaning of special information tones before the answer; null = none. */
  get announced(): SpecialInformation | null {
    return this.#announced;
  }

  /** Whether the call is completely over. */
  get isOver(): boolean {
    return this.#isOver;
  }

  onState(listener: (state: CallState) => void): Cancel {
    return this.#states.listen(listener);
  }

  answer(): void {
    if (this.direction === 'inbound' && this.state === 'ringing' && !this.#isOver) this.#signalling?.accept();
  }

  hangUp(refusal: CallRefusal = 'declined'): void {
    if (this.#end !== null) return;
    if (this.#handedOver === 'bridged') this.#endForAgent(TRANSFERRED);
    else if (this.state === 'answered') this.#bye();
    else if (this.direction === 'inbound') this.#giveUp(refused(refusal), refusal);
    else this.#giveUp({ cause: 'canceled', by: 'agent', reason: '487 Request Terminated' });
  }

  placeBeside(target: string, ringTimeoutMs: number): SipCall {
    return this.#options.onPlace(this, target, ringTimeoutMs);
  }

  async connectTo(other: CarrierCall<SessionLine>, signal: AbortSignal): Promise<TransferOutcome> {
    const outcome = await this.#options.onConnect(this, other, signal);
    this.#transfer = { target: other.to, outcome };
    return outcome;
  }

  get recorded(): Promise<void> | undefined {
    return this.line.frozen;
  }

  record(): CallRecord {
    const { id: callId, carrier } = this.#options;
    const { direction, from, to } = this;
    const { sent, received, lost, reportedLoss } = this.line.lineStats();
    return {
      callId,
      carrier,
      direction,
      from,
      to,
      ...this.#states.times(),
      end: this.#end,
      codec: this.#media?.stats().codec ?? this.#codec,
      digitsSent: this.line.digitsSent,
      digitsReceived: this.line.digitsReceived,
      transfer: this.#transfer,
      packets: {
        sent,
        received,
        receivedLost: lost,
        sentLost: Math.round(sent * (reportedLoss ?? 0)),
        early: this.#media?.stats().early ?? 0,
      },
    };
  }

  /** Attaches the open media. Closes them if the call has ended meanwhile. */
  attach(media: CallMedia): void {
    this.#media = media;
    if (this.#isOver) void media.close();
    else if (media.line !== null) this.line.attach?.(media.line);
  }

  /** Special information tones were detected before the answer. */
  hearAnnouncement(what: SpecialInformation): void {
    this.#announced ??= what;
  }

  bind(signalling: Signalling): void {
    this.#signalling = signalling;
  }

  /** Cancels an unanswered call and reports this end. */
  giveUp(end: CallEnd): void {
    if (this.#end === null && this.state !== 'answered') this.#giveUp(end);
  }

  ring(): void {
    if (this.state === 'initiated' && !this.#isOver) this.#states.enter('ringing');
  }

  pickUp(): void {
    if (this.#isOver || (this.state !== 'initiated' && this.state !== 'ringing')) return;
    this.#media?.answered();
    this.#states.enter('answered');
  }

  /** The far end has hung up, or the network has failed. */
  legEnded(end: LegEnd, leg: Leg | null): void {
    if (leg !== this.leg) return; // of a replaced far end
    // The outcome of a transfer is reported before the line closes.
    if (this.#transferring === 0) this.finish(endOfLeg(end));
    else {
      const { clock } = this.#options;
      clock.schedule(clock.nowMs(), () => this.finish(endOfLeg(end)));
    }
  }

  /** Ends a call that the network keeps although its far end is gone. The outcome of a transfer is reported first. */
  farLost(reason: string): void {
    const { clock } = this.#options;
    clock.schedule(clock.nowMs(), () => {
      const leg = this.leg;
      this.finish({ cause: 'hangup', by: 'remote', reason });
      leg?.bye(reason);
    });
  }

  /** The far end was transferred in the network: the agent leaves. */
  handedAway(): void {
    this.#handedOver = 'away';
  }

  /** The far end is connected to another call, which ends with this one. */
  bridgedTo(onFarGone: () => void): void {
    this.#handedOver = 'bridged';
    this.#onFarGone = onFarGone;
    this.#cancelLastWords?.();
  }

  /** Another party replaces the far end: the leg to the old one is over, the call is not. */
  replacing(old: Leg | null): void {
    old?.bye('replaced');
  }

  /** Cancels an unanswered call in the network, whatever was reported about it. */
  withdraw(refusal?: CallRefusal): void {
    this.#signalling?.giveUp(refusal);
  }

  /** Ends a bridged call. */
  drop(): void {
    this.leg?.bye('the other side hung up');
  }

  /** The call is over; the first reason counts. */
  finish(end: CallEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelLastWords?.();
    this.#codec = this.#media?.stats().codec ?? '';
    this.line.freeze();
    this.#endForAgent(this.#handedOver === 'no' ? end : TRANSFERRED);
    void this.#media?.close();
    this.#onFarGone();
    this.#states.forget();
    this.#options.onOver();
  }

  #giveUp(end: CallEnd, refusal?: CallRefusal): void {
    const signalling = this.#signalling;
    this.finish(end);
    signalling?.giveUp(refusal);
  }

  #bye(): void {
    const leg = this.leg;
    if (leg === null || leg.isOver) this.finish({ cause: 'hangup', by: 'agent', reason: 'the agent hung up' });
    else leg.bye('the agent hung up');
  }

  async #transferTo(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    this.#transferring++;
    try {
      const outcome = await this.#options.onTransfer(this, target, signal);
      this.#transfer = { target, outcome };
      return outcome;
    } finally {
      this.#transferring--;
    }
  }

  #endForAgent(end: CallEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.line.gone();
    this.#states.enter('ended');
  }

  #agentLeft(): void {
    if (this.state !== 'answered' || this.#handedOver !== 'no') {
      this.hangUp();
      return;
    }
    const { clock } = this.#options;
    this.#cancelLastWords = clock.schedule(clock.nowMs() + LAST_WORDS_MS, () => this.hangUp());
  }
}
