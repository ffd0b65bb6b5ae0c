import { randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../base/clock.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { lineOver } from '../session/line-over.js';
import type { AgentCall } from '../telephony/calls/agent-call.js';
import { CallStates, TRANSFERRED } from '../telephony/carriers/call-states.js';
import {
  type CallEnd,
  type CallRecord,
  type CallRefusal,
  type CallRequest,
  type CallState,
  type CarrierCall,
  refused,
} from '../telephony/carriers/carrier.js';
import { NO_LINE_STATS, type TransferOutcome, type Transport, type TransportSink } from '../transports/transport.js';

/** What the embedder knows of who has sent an offer. */
export interface CallerInfo {
  /** Default empty. */
  from?: string | undefined;
  /** Default empty. */
  to?: string | undefined;
  /** Default none. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Aborted when the caller hangs up, before the answer or later. */
  signal?: AbortSignal | undefined;
}

export interface DirectCallOptions {
  clock: Clock;
  direction: CarrierCall['direction'];
  caller?: CallerInfo | undefined;
  /** What kind of line it is, for the record. */
  carrier: string;
  transport: Transport;
  /** For the record, if the transport's statistics do not name it. */
  codec: string;
  /** Answers an inbound call, or completes an outbound one. Resolves when audio flows both ways. */
  connect: () => Promise<unknown>;
  /** Answers another offer of the running call. */
  change?: (offer: string) => Promise<string>;
  /** Connects the far end to somebody else. Default: as the transport. */
  transfer?: ((target: string, signal: AbortSignal) => Promise<TransferOutcome>) | undefined;
  /** Frees the transport. Default: its own `close`. */
  close?: () => Promise<void>;
  onError: (error: unknown) => void;
}

const HUNG_UP: CallEnd = { cause: 'hangup', by: 'agent', reason: 'the agent hung up' };

/** A call over a transport of our own, without a carrier. */
export class DirectCall implements CarrierCall {
  readonly id = randomUUID();
  readonly direction: CarrierCall['direction'];
  readonly from: string;
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly line: Transport;
  readonly transport: Transport;
  /** Resolves when an agent answers an inbound call; rejects with ParleyError CALL_REFUSED if it ends before. */
  readonly decided: Promise<void>;
  readonly #options: DirectCallOptions;
  readonly #states: CallStates;
  readonly #digits = { sent: '', received: '' };
  #end: CallEnd | null = null;
  #transfer: CallRecord['transfer'] = null;
  #isAnswering = false;
  readonly #onLeft = (): void => this.finish(leftEnd());
  #decide!: { resolve: () => void; reject: (error: Error) => void };

  constructor(options: DirectCallOptions) {
    this.#options = options;
    const { clock, transport, direction, caller: { from = '', to = '', headers = {}, signal } = {}, onError } = options;
    this.direction = direction;
    this.from = from;
    this.to = to;
    this.headers = headers;
    signal?.addEventListener('abort', this.#onLeft, { once: true });
    this.#states = new CallStates({ nowMs: () => clock.nowMs(), onListenerError: onError });
    this.transport = transport;
    this.line = this.#lineOver(transport);
    this.decided = new Promise((resolve, reject) => (this.#decide = { resolve, reject }));
    this.decided.catch(() => undefined); // may have no reader
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

  /** It rings at the far end of an outbound call. */
  ring(): void {
    if (this.state === 'initiated') this.#states.enter('ringing');
  }

  answer(): void {
    if (this.direction === 'inbound') this.connect();
  }

  /** Answers an inbound call; completes an outbound one that was answered. */
  connect(): void {
    if (this.#isAnswering || this.#end !== null) return;
    this.#isAnswering = true;
    this.#decide.resolve();
    this.#options.connect().then(
      () => {
        if (this.#end === null) this.#states.enter('answered');
      },
      (error: unknown) => this.finish({ cause: 'failed', by: 'network', reason: reasonOf(error) }),
    );
  }

  hangUp(refusal: CallRefusal = 'declined'): void {
    if (this.state === 'answered') this.finish(HUNG_UP);
    else if (this.direction === 'inbound') this.finish(refused(refusal));
    else this.finish({ cause: 'canceled', by: 'agent', reason: 'the call was cancelled' });
  }

  /** Answers another offer of the running call. */
  change(offer: string): Promise<string> {
    return this.#options.change?.(offer) ?? Promise.resolve('');
  }

  /** The call is over. Only the first end counts. */
  finish(end: CallEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#decide.reject(new ParleyError('CALL_REFUSED', { reason: end.reason }));
    this.#states.enter('ended');
    this.#states.forget();
    const { transport, caller, onError, close = () => transport.close() } = this.#options;
    caller?.signal?.removeEventListener('abort', this.#onLeft);
    close().catch(onError);
  }

  record(): CallRecord {
    const { carrier, codec, transport } = this.#options;
    const stats = transport.lineStats?.() ?? NO_LINE_STATS;
    return {
      ...this.#states.times(),
      callId: this.id,
      carrier,
      direction: this.direction,
      from: this.from,
      to: this.to,
      end: this.#end,
      codec: stats.codec ?? codec,
      digitsSent: this.#digits.sent,
      digitsReceived: this.#digits.received,
      transfer: this.#transfer,
      packets: {
        sent: stats.sent,
        sentLost: Math.round(stats.sent * (stats.reportedLoss ?? 0)),
        received: stats.received,
        receivedLost: stats.lost,
      },
    };
  }

  /** The line of the session, whose end is the call's. */
  #lineOver(transport: Transport): Transport {
    const methods: Parameters<typeof lineOver>[1] = {
      start: (sink) => transport.start(this.#sinkOver(sink)),
      close: async () => {
        this.finish(this.#transfer?.outcome.ok === true ? TRANSFERRED : HUNG_UP);
        await (this.#options.close?.() ?? transport.close());
      },
    };
    const send = transport.sendDigits?.bind(transport);
    if (send !== undefined) {
      methods.sendDigits = async (keys, signal) => {
        await send(keys, signal);
        this.#digits.sent += keys;
      };
    }
    const { transfer } = this.#options;
    if (transfer !== undefined) {
      methods.transfer = async (target, signal) => {
        const outcome = await transfer(target, signal);
        this.#transfer = { target, outcome };
        return outcome;
      };
    }
    return lineOver(transport, methods);
  }

  #sinkOver(sink: TransportSink): TransportSink {
    return {
      audio: (samples) => sink.audio(samples),
      digits: (keys) => {
        this.#digits.received += keys;
        sink.digits(keys);
      },
      text: (text) => sink.text(text),
      formResult: (id, value) => sink.formResult(id, value),
      closed: (error) => {
        this.finish(leftEnd(error));
        sink.closed(error);
      },
    };
  }
}

/** The far end has left, or (with an error) the line broke. */
export function leftEnd(error?: Error): CallEnd {
  if (error === undefined) return { cause: 'hangup', by: 'remote', reason: 'the far end hung up' };
  return { cause: 'failed', by: 'network', reason: error.message };
}

/** Calls that come in over transports of our own. */
export class DirectCalls {
  #listener: ((call: CarrierCall) => void) | null = null;

  receiveCalls(listener: (call: CarrierCall) => void): Cancel {
    this.#listener = listener;
    return () => {
      if (this.#listener === listener) this.#listener = null;
    };
  }

  placeCall(_request?: CallRequest): CarrierCall {
    const reason = 'calls only come in here: the client connects';
    throw new ParleyError('ARGUMENT_INVALID', { argument: 'place', reason });
  }

  /** Offers a call to the line, which answers or refuses it. */
  offer(call: DirectCall): void {
    call.ring();
    if (this.#listener === null) call.hangUp('unavailable');
    else this.#listener(call);
  }
}

/**
 * Offers a call to the line. Resolves to the answer (SDP) when an agent takes it.
 * @throws ParleyError CALL_REFUSED; the error of `answering`; the reason of the caller's signal
 */
export async function answerTo(
  call: DirectCall,
  calls: DirectCalls,
  answering: Promise<string>,
  signal: AbortSignal | undefined,
): Promise<string> {
  calls.offer(call);
  try {
    const [sdp] = await Promise.all([answering, call.decided]);
    return sdp;
  } catch (error) {
    call.finish({ cause: 'failed', by: 'network', reason: reasonOf(error) });
    signal?.throwIfAborted();
    throw error;
  }
}

/** Answers offers of running calls. The function throws ParleyError NOT_FOUND where there is none. */
export function changeOf(line: {
  calls: ReadonlySet<AgentCall>;
}): (sessionId: string, offer: string) => Promise<string> {
  return async (sessionId, offer) => {
    const found = Array.from(line.calls).find((call) => call.sessionId === sessionId);
    if (found === undefined) throw new ParleyError('NOT_FOUND', { what: 'call', id: sessionId });
    return (found.call as DirectCall).change(offer);
  };
}
