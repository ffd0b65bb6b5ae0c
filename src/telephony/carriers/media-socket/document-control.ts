import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallEnd, CallRefusal, CarrierCall } from '../carrier.js';
import { LegRedirects, type CallDocuments } from './leg-redirects.js';
import { LegControl, type LegManners, type LegParts } from './leg-control.js';

export interface DocumentManners extends LegManners {
  /** The carrier waits longer than this for the answer to its first request about an inbound call. */
  decideMs: number;
}

/** Maximum number of consecutive instructions to open the media socket. */
const MOST_CONNECTS = 3;

/**
 * The control of a call with a carrier that requests instructions as documents: for an inbound call, when a stream is
 * over, and after a redirection.
 */
export abstract class DocumentControl<C extends DocumentControl<C>> extends LegControl {
  protected readonly redirects: LegRedirects;
  readonly #documents: CallDocuments;
  readonly #parts: LegParts<C>;
  readonly #decideMs: number;
  /** Number of instructions to open the media socket without success. */
  #connects = 0;
  /** The carrier was asked to open the media socket since the last stream began. */
  #isSent = false;
  #decide: (document: string) => void = () => undefined;
  readonly #decided: Promise<string>;
  /** The document that refused the call. */
  #rejection: string | null = null;

  constructor(parts: LegParts<C>, documents: CallDocuments, manners: DocumentManners) {
    super(parts, manners);
    this.#parts = parts;
    this.#documents = documents;
    this.#decideMs = manners.decideMs;
    this.redirects = new LegRedirects({
      call: parts.call,
      carrier: manners.carrier,
      clock: parts.clock,
      documents,
      streams: this.streams,
      id: () => this.id,
      redirect: (id, document, signal) => this.redirect(id, document, signal),
      onLost: () => this.gone(true),
      closing: this.closing,
      onError: (error) => this.onError(error),
    });
    this.#decided = new Promise((resolve) => (this.#decide = resolve));
  }

  /** The instructions for an inbound call, once it is decided. */
  async voice(): Promise<string> {
    const cancel = this.clock.schedule(this.clock.nowMs() + this.#decideMs, () => {
      this.call.finish({ cause: 'failed', by: 'agent', reason: 'no answer came in time' });
      this.refuse('unavailable');
    });
    const document = await this.#decided;
    cancel();
    // A repeated request, after the end.
    return this.call.end === null || document === this.#rejection ? document : this.#documents.hangUp;
  }

  accept(): void {
    this.#decide(this.#documents.connecting());
    this.awaitStream();
  }

  refuse(refusal: CallRefusal): void {
    this.#rejection = this.#documents.reject(refusal);
    this.#decide(this.#rejection);
  }

  hangUp(): void {
    this.#decide(this.#documents.hangUp);
    this.insist((id, signal) => this.end(id, signal));
  }

  /** The carrier requests instructions: the stream is over, the call is not. */
  next(): string {
    if (this.call.end !== null) return this.#documents.hangUp;
    // A socket that the carrier cannot open leads here at once, and would do so forever.
    if (++this.#connects > MOST_CONNECTS) {
      this.noStream();
      return this.#documents.hangUp;
    }
    this.awaitStream();
    this.#isSent = true;
    return this.#documents.connecting();
  }

  /** The carrier notices the end of a stream first, if the connection has died silently. */
  override get takesStream(): boolean {
    return super.takesStream || (this.#isSent && this.call.end === null);
  }

  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    return this.redirects.transfer(target, signal);
  }

  connect(other: CarrierCall, signal: AbortSignal): Promise<TransferOutcome> {
    const theirs = this.#parts.controlOf(other);
    if (theirs === null) return Promise.resolve({ ok: false, reason: 'failed' });
    return this.redirects.connect(theirs.redirects, `parley-${this.#parts.token}`, signal);
  }

  /** A transfer is over; returns the next instructions. */
  dialled(attempt: string, outcome: TransferOutcome): string {
    return this.redirects.dialled(attempt, outcome) ?? (this.call.isHandedOver ? this.#documents.hangUp : this.next());
  }

  /** Redirects the call to another document. */
  protected abstract redirect(id: string, document: string, signal: AbortSignal): Promise<void>;

  /** Ends the call; an unknown or ended call counts as ended. */
  protected abstract end(id: string, signal: AbortSignal): Promise<void>;

  /** The call's end according to the carrier; null = the call continues. */
  protected abstract endOfCall(id: string, signal: AbortSignal): Promise<CallEnd | null>;

  protected get isAway(): boolean {
    return this.redirects.isUnderWay;
  }

  protected override streamBegan(): void {
    this.#connects = 0;
    this.#isSent = false;
  }

  protected async lookAfter(id: string): Promise<void> {
    try {
      const end = await this.endOfCall(id, this.closing);
      if (end !== null) {
        this.over(end);
        return;
      }
      await this.redirects.fetchBack(id);
    } catch (error) {
      this.onError(error);
    }
    if (this.isBereft) this.fail('the media socket broke off');
  }

  protected giveUp(): void {
    this.redirects.giveUp();
    this.#decide(this.#documents.hangUp);
  }
}
