import { delay } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallEnd } from '../carrier.js';
import { isTarget } from '../media-socket/account-numbers.js';
import { TRANSFER_RING_S, type CallDocuments } from '../media-socket/leg-redirects.js';
import { DocumentControl } from '../media-socket/document-control.js';
import type { LegParts } from '../media-socket/leg-control.js';
import type { SocketControl } from '../media-socket/socket-carrier.js';
import type { PlivoApi } from './api.js';
import { endOf } from './statuses.js';
import { HANG_UP_XML } from '../media-socket/response-xml.js';
import { conferenceXml, dialXml, rejectXml, streamXml } from './xml.js';

export interface PlivoControlOptions extends LegParts<PlivoControl> {
  api: PlivoApi;
  /** An address of ours on the web, or of the media socket, for this call. */
  url: (what: CallPath, more?: string) => string;
  /** Whether Plivo judges who has answered, beside us. */
  detectsMachines: boolean;
}

/** What Plivo asks, and tells, about a call. */
export type CallPath = 'answer' | 'ring' | 'hangup' | 'machine' | 'next' | 'go' | 'told' | 'dialled' | 'media';

const MANNERS = {
  carrier: 'plivo',
  title: 'Plivo',
  /** A socket that is gone is how Plivo ends a stream; its word about the call comes behind that. */
  brokenMs: 3_000,
  /** Plivo wants an answer well within 15 s, and waits 40 (docs.plivo.com/docs/voice/concepts/callback-configurations). */
  decideMs: 12_000,
};
/** A key and the pause behind it. */
const KEY_MS = 250;
const PAUSE_MS = 500;
/** Documents that Plivo may still ask for. */
const MOST_DOCUMENTS = 10;

/** Plivo's side of a call: its callbacks in, our instructions out. */
export class PlivoControl extends DocumentControl<PlivoControl> implements SocketControl {
  readonly #options: PlivoControlOptions;
  /** The id of the request for this call, which cancels it before Plivo has reported the call. */
  #requestId: string | null = null;
  /** URLs to which the call was redirected for its next instructions, oldest first. */
  readonly #sent = new Map<string, string>();
  #sends = 0;

  constructor(options: PlivoControlOptions) {
    super(options, documentsOf(options), MANNERS);
    this.#options = options;
  }

  /** It rings at the far end. */
  rang(callId: string): void {
    if (this.#isOurs(callId)) this.rings();
  }

  /** Whoever was called has answered: what is next? */
  answered(callId: string): string {
    return this.#isOurs(callId) ? this.next() : HANG_UP_XML;
  }

  hungUp(callId: string, form: URLSearchParams): void {
    if (this.#isOurs(callId)) this.over(endOf(form, this.call.direction, this.call.state === 'answered'));
  }

  /** Plivo has come where the call was sent to. */
  arrived(where: string): string {
    const document = this.call.end === null || this.call.isHandedOver ? this.#sent.get(where) : undefined;
    return document ?? this.next();
  }

  /** What becomes of the leg of somebody whom the far end is transferred to. */
  told(attempt: string, action: string): void {
    if (action === 'answer' || action === 'connected') this.detours.targetAnswered(attempt);
  }

  /** What Plivo takes whoever answered for. */
  machine(form: URLSearchParams): void {
    this.call.answeredBy(form.get('Machine')?.toLowerCase() === 'true' ? 'machine' : 'human');
  }

  override transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    if (!isTarget(target)) return Promise.resolve({ ok: false, reason: 'failed' });
    return super.transfer(target, signal);
  }

  /** Presses keys; `w` waits half a second. */
  async press(keys: string, signal: AbortSignal): Promise<void> {
    if (!/^[0-9*#w]{1,200}$/.test(keys)) throw new ParleyError('KEYS_UNSUPPORTED', { carrier: 'Plivo', keys });
    const either = AbortSignal.any([signal, this.closing]);
    for (const part of keys.match(/w|[^w]+/g) ?? []) {
      if (part !== 'w' && !this.call.line.pressKeys(part)) throw new Error('the call cannot take keys now');
      await delay(this.clock, part === 'w' ? PAUSE_MS : part.length * KEY_MS, either);
    }
  }

  protected async dial(ringS: number, signal: AbortSignal): Promise<void> {
    const { api, url, detectsMachines } = this.#options;
    const { from, to, headers } = this.call;
    const urls = { answerUrl: url('answer'), ringUrl: url('ring'), hangupUrl: url('hangup') };
    const machineUrl = detectsMachines ? url('machine') : null;
    this.#requestId = await api.createCall({ ...urls, from, to, ringS, headers, machineUrl }, signal);
    // It had been given up before Plivo had answered.
    if (this.call.end !== null && this.id === null) this.hangUp();
  }

  protected override get handle(): string | null {
    return this.id ?? this.#requestId;
  }

  protected async redirect(id: string, document: string, signal: AbortSignal): Promise<void> {
    const where = String(++this.#sends);
    this.#sent.set(where, document);
    for (const [oldest] of this.#sent) if (this.#sent.size > MOST_DOCUMENTS) this.#sent.delete(oldest);
    try {
      await this.#options.api.transfer(id, this.#options.url('go', where), signal);
    } catch (error) {
      // Plivo may come for it all the same, when nobody waits for that any more.
      this.#sent.delete(where);
      throw error;
    }
    // Plivo comes for it when the stream is over (github.com/plivo/plivo-cli, audio-streaming-skill: first the transfer,
    // then the socket).
    this.call.line.detach();
  }

  protected end(handle: string, signal: AbortSignal): Promise<void> {
    const { api } = this.#options;
    return handle === this.id ? api.hangUp(handle, signal) : api.cancel(handle, signal);
  }

  protected async endOfCall(id: string, signal: AbortSignal): Promise<CallEnd | null> {
    const isLive = await this.#options.api.isLive(id, signal);
    return isLive ? null : { cause: 'hangup', by: 'remote', reason: 'Plivo says that the call is over' };
  }

  /** Whether Plivo tells of this call; its id is known from then on. */
  #isOurs(callId: string): boolean {
    if (callId === '' || (this.id !== null && callId !== this.id)) return false;
    this.known(callId);
    return true;
  }
}

function documentsOf({ url, call }: PlivoControlOptions): CallDocuments {
  return {
    connecting: () => streamXml({ streamUrl: url('media'), nextUrl: url('next') }),
    dialling: (target, attempt) =>
      dialXml({
        target,
        from: call.ours,
        ringS: TRANSFER_RING_S,
        statusUrl: url('told', attempt),
        actionUrl: url('dialled', attempt),
      }),
    meeting: conferenceXml,
    hangUp: HANG_UP_XML,
    reject: rejectXml,
  };
}
