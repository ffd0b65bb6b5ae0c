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
import { HANG_UP_XML } from '../media-socket/response-xml.js';
import { conferenceXml, dialXml, rejectXml, streamXml } from './xml.js';

export interface PlivoControlOptions extends LegParts<PlivoControl> {
  api: PlivoApi;
  /** A callback or media socket address for this call. */
  url: (what: CallPath, more?: string) => string;
  /** Whether Plivo's answering machine detection is on. */
  detectsMachines: boolean;
}

/** Plivo's requests and reports about a call. */
export type CallPath = 'answer' | 'ring' | 'hangup' | 'machine' | 'next' | 'go' | 'leg' | 'dialled' | 'media';

const MANNERS = {
  carrier: 'plivo',
  title: 'Plivo',
  /** Plivo ends a stream by closing the socket; its report about the call follows. */
  brokenMs: 3_000,
  /** Plivo expects an answer within 15 s and waits 40 (docs.plivo.com/docs/voice/concepts/callback-configurations). */
  decideMs: 12_000,
};
/** A key with its pause. */
const KEY_MS = 250;
const PAUSE_MS = 500;
/** Maximum number of documents that Plivo may still fetch. */
const MOST_DOCUMENTS = 10;

/** Plivo's side of a call: handles callbacks and sends instructions. */
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

  /** The call was answered: returns the next instructions. */
  answered(callId: string): string {
    return this.#isOurs(callId) ? this.next() : HANG_UP_XML;
  }

  hungUp(callId: string, form: URLSearchParams): void {
    if (this.#isOurs(callId)) this.over(endOf(form, this.call.direction, this.call.state === 'answered'));
  }

  /** Plivo has fetched the document of a redirection. */
  arrived(where: string): string {
    const document = this.call.end === null || this.call.isHandedOver ? this.#sent.get(where) : undefined;
    return document ?? this.next();
  }

  /** A report about the leg of a transfer's target. */
  targetStatus(attempt: string, action: string): void {
    if (action === 'answer' || action === 'connected') this.redirects.targetAnswered(attempt);
  }

  /** The result of Plivo's answering machine detection. */
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
    // The call was cancelled before Plivo's answer.
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
      // Plivo may still fetch it, when it is no longer needed.
      this.#sent.delete(where);
      throw error;
    }
    // Plivo fetches it when the stream is over (github.com/plivo/plivo-cli, audio-streaming-skill: first the transfer,
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

  /** Whether Plivo's report is about this call; its id is known from then on. */
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
        statusUrl: url('leg', attempt),
        actionUrl: url('dialled', attempt),
      }),
    meeting: conferenceXml,
    hangUp: HANG_UP_XML,
    reject: rejectXml,
  };
}

/**
 * Plivo's codes for the end of a call. @see https://docs.plivo.com/docs/voice/troubleshooting/hangup-causes
 * (2026-11-22)
 */
const CODES = { canceled: '1000', noAnswer: '3000', busy: '3010', rejected: '3020', rangOut: '6010' };
/** Sources that mean that Plivo or parley ended the call. */
const NETWORK = new Set(['Plivo', 'API Request', 'Answer XML', 'Error']);

/**
 * The end for a hangup callback.
 * @param form `CallStatus`, `HangupCauseCode`, `HangupCauseName`, `HangupSource`
 * @param wasAnswered whether audio flowed both ways
 */
export function endOf(form: URLSearchParams, direction: 'inbound' | 'outbound', wasAnswered: boolean): CallEnd {
  const [status, code] = [form.get('CallStatus') ?? '', form.get('HangupCauseCode') ?? ''];
  const name = (form.get('HangupCauseName') ?? form.get('HangupCause') ?? '').slice(0, 100);
  const reason = `${name === '' ? status : name}${code === '' ? '' : ` (${code.slice(0, 10)})`}`;
  const end = (cause: CallEnd['cause'], by: CallEnd['by']): CallEnd => ({ cause, by, reason });
  const isTheirs = !NETWORK.has(form.get('HangupSource') ?? '');
  if (wasAnswered) return end('hangup', isTheirs ? 'remote' : 'network');
  // A caller who hung up before the answer.
  if (direction === 'inbound') return end('hangup', isTheirs ? 'remote' : 'network');
  switch (code) {
    case CODES.canceled:
      return end('canceled', 'network');
    case CODES.noAnswer:
    case CODES.rangOut:
      return end('no-answer', 'network');
    case CODES.busy:
      return end('busy', 'remote');
    case CODES.rejected:
      return end('rejected', 'remote');
  }
  switch (status) {
    case 'completed':
      // Answered, and over before audio flowed: the called person hung up.
      return end('hangup', 'remote');
    case 'busy':
      return end('busy', 'remote');
    case 'no-answer':
      return end('no-answer', 'network');
    case 'cancel':
    case 'canceled':
      return end('canceled', 'network');
    default:
      return end('failed', 'network');
  }
}

/** The outcome of a transfer as reported by `<Dial>`. @see https://docs.plivo.com/docs/voice/xml/dial (2026-11-22) */
export function dialOutcome(form: URLSearchParams): TransferOutcome {
  const status = form.get('DialStatus') ?? '';
  const cause = form.get('DialHangupCause') ?? '';
  if (status === 'completed') return { ok: true };
  if (cause === 'CALL_REJECTED') return { ok: false, reason: 'rejected' };
  if (status === 'busy') return { ok: false, reason: 'busy' };
  const hasRungOut = status === 'no-answer' || (status === 'timeout' && cause === 'NO_ANSWER');
  return { ok: false, reason: hasRungOut ? 'no-answer' : 'failed' };
}
