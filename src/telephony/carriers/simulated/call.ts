import type { Cancel } from '../../../base/clock.js';
import type { Random } from '../../../base/random.js';
import type { TransferOutcome, Transport, TransportSink } from '../../../transports/transport.js';
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
import { PhonePath, PHONE_RATE_HZ } from './path.js';
import type { SimulatedNumber } from './script.js';
import { dialMs } from '../../../audio/tones/dtmf.js';
import { FRAME_MS, frameSamples } from '../../../audio/frame.js';
import { LineInput } from '../../../transports/line-input.js';

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
  readonly line: SimulatedLine;
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
    this.line = new SimulatedLine(
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

export interface PhoneLineEvents {
  /** The agent's side has closed, and all of its audio was sent. */
  onClosed(): void;
  onDigits(keys: string): void;
  onTransfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
}

/** The agent's side of a simulated call. */
export class SimulatedLine implements Transport, CallEndpoint {
  readonly name = 'simulated phone';
  readonly inputRateHz = PHONE_RATE_HZ;
  readonly outputRateHz = PHONE_RATE_HZ;
  /** Omitted on lines with tones only. */
  readonly sendDigits?: (digits: string, signal: AbortSignal) => Promise<void>;
  readonly #events: PhoneLineEvents;
  readonly #out: Int16Array[] = [];
  readonly #input = new LineInput();
  readonly #presses: Press[] = [];
  #gone = false;
  #released = false;
  #closing = false;

  constructor(events: PhoneLineEvents, inBandDigits: boolean) {
    this.#events = events;
    if (!inBandDigits) this.sendDigits = (digits, signal) => this.#press(digits, signal);
  }

  start(sink: TransportSink): void {
    this.#input.start(sink);
  }

  play(frame: Int16Array | null): void {
    if (frame !== null && !this.#released && !this.#gone && !this.#closing) this.#out.push(frame);
  }

  send(): void {
    // A telephone has no display.
  }

  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    return this.#events.onTransfer(target, signal);
  }

  close(): Promise<void> {
    if (!this.#gone && !this.#closing) {
      this.#closing = true;
      this.#input.end();
      if (this.#out.length === 0) this.#events.onClosed();
    }
    return Promise.resolve();
  }

  /** The far end hears another party from now on. */
  release(): void {
    this.#released = true;
    this.#out.length = 0;
    if (this.#closing) this.#events.onClosed();
  }

  /** The next frame for the far end; also notices the last one before the close. */
  speak(): Int16Array | null {
    this.#pressOn();
    const frame = this.#out.shift() ?? null;
    if (frame !== null && this.#closing && this.#out.length === 0) this.#events.onClosed();
    return frame;
  }

  hear(frame: Int16Array | null): void {
    this.#input.audio(frame ?? SILENCE);
  }

  digits(keys: string): void {
    this.#input.digits(keys);
  }

  gone(): void {
    this.#gone = true;
    this.#out.length = 0;
    for (const { fail } of this.#presses.splice(0)) fail(new Error('the call is over'));
    this.#input.end();
  }

  #press(keys: string, signal: AbortSignal): Promise<void> {
    if (this.#gone) return Promise.reject(new Error('the call is over'));
    return new Promise((resolve, reject) => {
      const press = { keys: [...keys], leftMs: 0, done: resolve, fail: reject };
      this.#presses.push(press);
      const abort = (): void => {
        const at = this.#presses.indexOf(press);
        if (at >= 0) this.#presses.splice(at, 1);
        reject(signal.reason as Error);
      };
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** A tick of the key presses: each counts at its start and takes as long as its tone. */
  #pressOn(): void {
    const press = this.#presses[0];
    if (press === undefined) return;
    press.leftMs -= FRAME_MS;
    if (press.leftMs > 0) return;
    const key = press.keys.shift();
    if (key === undefined) {
      this.#presses.shift();
      press.done();
      return;
    }
    press.leftMs = dialMs(key);
    if (key !== 'w') this.#events.onDigits(key);
  }
}

interface Press {
  readonly keys: string[];
  leftMs: number;
  readonly done: () => void;
  readonly fail: (reason: Error) => void;
}

const SILENCE = new Int16Array(frameSamples(PHONE_RATE_HZ));
