import type { Cancel } from '../../../base/clock.js';
import type { Random } from '../../../base/random.js';
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
import { Actor, type SoundOf } from './actor.js';
import type { CallEndpoint } from './endpoint.js';
import { PhoneLine } from './phone-line.js';
import { PhonePath } from './path.js';
import type { SimulatedNumber } from './script.js';

export interface SimulatedCallOptions {
  id: string;
  carrier: string;
  direction: 'inbound' | 'outbound';
  from: string;
  to: string;
  headers: Readonly<Record<string, string>>;
  /** The far end. */
  far: SimulatedNumber;
  /** Available from the answer of the call on. */
  soundOf: SoundOf;
  random: Random;
  nowMs: () => number;
  /** Transfers the far end. */
  onTransfer: (target: string, signal: AbortSignal) => Promise<TransferOutcome>;
  onConnect: (other: CarrierCall) => TransferOutcome;
  /** Places a call for an attended transfer. */
  onPlace: (target: string, ringTimeoutMs: number) => CarrierCall;
  onAnswered: () => void;
  onEnded: () => void;
  onListenerError: (error: unknown) => void;
  /** Gets what each end hears, 20 ms at a time; for tests and for listening in. */
  tap?: ((frames: { agent: Int16Array | null; far: Int16Array | null }) => void) | undefined;
}

/** A call on the simulated network: the agent's line at one end, an actor at the other, a path each way. */
export class SimulatedCall implements CarrierCall {
  readonly id: string;
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly line: PhoneLine;
  /** Notes of the far end's script, in order. */
  readonly notes: string[] = [];
  readonly actor: Actor;
  readonly #options: SimulatedCallOptions;
  readonly #toFar: PhonePath;
  readonly #fromFar: PhonePath;
  readonly #states: CallStates;
  #end: CallEnd | null = null;
  /** The other party of the far end: the agent, or after a transfer another call. */
  #near: CallEndpoint;
  /** The agent has left; ticks until its last words have arrived. */
  #draining: number | null = null;
  #transfer: CallRecord['transfer'] = null;
  #handedOver = false;
  /** Both ends have left. */
  #over = false;
  #digits = { sent: '', received: '' };

  constructor(options: SimulatedCallOptions) {
    this.#options = options;
    this.#states = new CallStates(options);
    const { id, direction, from, to, headers, far, random } = options;
    this.id = id;
    this.direction = direction;
    this.from = from;
    this.to = to;
    this.headers = headers;
    this.#toFar = new PhonePath(far.line, random);
    this.#fromFar = new PhonePath(far.line, random);
    this.actor = new Actor({
      steps: far.steps,
      soundOf: (step) => options.soundOf(step),
      random,
      inBandDigits: far.inBandDigits,
      noiseDbfs: far.line.noiseDbfs ?? null,
      onDigits: (keys) => {
        this.#digits.received += keys;
        this.#near.digits(keys);
      },
      onNote: (note) => this.notes.push(note),
      onHangUp: () => this.finish({ cause: 'hangup', by: 'remote', reason: 'the far end hung up' }),
    });
    this.line = new PhoneLine(
      {
        onClosed: () => this.#agentLeft(),
        onDigits: (keys) => {
          this.#digits.sent += keys;
          this.actor.digits(keys);
        },
        onTransfer: async (target, signal) => {
          const outcome = await options.onTransfer(target, signal);
          this.#transfer = { target, outcome };
          return outcome;
        },
      },
      far.inBandDigits,
    );
    this.#near = this.line;
  }

  get state(): CallState {
    return this.#states.current;
  }

  get end(): CallEnd | null {
    return this.#end;
  }

  onState(listener: (state: CallState) => void): Cancel {
    return this.#states.listen(listener);
  }

  answer(): void {
    if (this.direction === 'inbound') this.pickUp();
  }

  hangUp(refusal: CallRefusal = 'declined'): void {
    if (this.#end !== null) return;
    if (this.#handedOver) this.#endForAgent(TRANSFERRED);
    else if (this.state === 'answered') this.#finishByAgent();
    else if (this.direction === 'inbound') this.finish(refused(refusal));
    else this.finish({ cause: 'canceled', by: 'agent', reason: '487 Request Terminated' });
  }

  placeBeside(target: string, ringTimeoutMs: number): CarrierCall {
    return this.#options.onPlace(target, ringTimeoutMs);
  }

  connectTo(other: CarrierCall): Promise<TransferOutcome> {
    const outcome = this.#options.onConnect(other);
    this.#transfer = { target: other.to, outcome };
    return Promise.resolve(outcome);
  }

  record(): CallRecord {
    const { id: callId, carrier, far } = this.#options;
    const { direction, from, to } = this;
    return {
      callId,
      carrier,
      direction,
      from,
      to,
      ...this.#states.times(),
      end: this.#end,
      codec: far.line.codec === 'alaw' ? 'PCMA' : 'PCMU',
      digitsSent: this.#digits.sent,
      digitsReceived: this.#digits.received,
      transfer: this.#transfer,
      packets: {
        sent: this.#toFar.sent,
        sentLost: this.#toFar.lost,
        received: this.#fromFar.sent,
        receivedLost: this.#fromFar.lost,
      },
    };
  }

  /** It rings at the far end. */
  ring(): void {
    if (this.state === 'initiated') this.#states.enter('ringing');
  }

  /** Audio flows both ways from the next tick on. */
  pickUp(): void {
    if (this.state !== 'initiated' && this.state !== 'ringing') return;
    this.actor.begin();
    this.#options.onAnswered();
    this.#states.enter('answered');
  }

  /** The far end is connected to another party; the agent's part ends when its line closes. */
  handOver(to: CallEndpoint): void {
    this.#near = to;
    this.#handedOver = true;
    this.#draining = null;
    this.line.release();
  }

  /** 20 ms pass. */
  tick(): void {
    if (!this.#states.wasReached('answered') || this.#over) return;
    const toFar = this.#toFar.pass(this.#near.speak());
    this.actor.hear(toFar);
    const fromFar = this.#fromFar.pass(this.actor.speak());
    if (this.#isOver()) return; // either may have ended the call
    this.#options.tap?.({ agent: fromFar, far: toFar });
    this.#near.hear(fromFar);
    if (this.#draining !== null && --this.#draining <= 0) this.#finishByAgent();
  }

  /** The call is over; the first reason counts. */
  finish(end: CallEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.actor.gone();
    if (this.#handedOver) this.#near.gone();
    this.#endForAgent(this.#handedOver ? TRANSFERRED : end);
    this.#states.forget();
    this.#options.onEnded();
  }

  #isOver(): boolean {
    return this.#over;
  }

  #finishByAgent(): void {
    this.finish({ cause: 'hangup', by: 'agent', reason: 'the agent hung up' });
  }

  #endForAgent(end: CallEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.line.gone();
    this.#states.enter('ended');
  }

  #agentLeft(): void {
    if (this.#handedOver) this.#endForAgent(TRANSFERRED);
    else if (this.state !== 'answered') this.hangUp();
    else this.#draining ??= this.#toFar.delayFrames + 1;
  }
}
