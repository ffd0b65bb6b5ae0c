import { ParleyError } from '../../../base/errors.js';
import type { CallEnd } from '../carrier.js';
import { DocumentControl } from '../media-socket/document-control.js';
import { TRANSFER_RING_S, type CallDocuments } from '../media-socket/leg-redirects.js';
import type { LegParts } from '../media-socket/leg-control.js';
import type { SocketControl } from '../media-socket/socket-carrier.js';
import type { TwilioApi } from './api.js';
import { endOf } from './statuses.js';
import { HANG_UP_XML } from '../media-socket/response-xml.js';
import { conferenceTwiml, connectTwiml, dialTwiml, rejectTwiml } from './twiml.js';

export interface TwilioControlOptions extends LegParts<TwilioControl> {
  api: TwilioApi;
  /** A webhook or media socket address for this call. */
  url: (what: 'next' | 'status' | 'dialled' | 'answered' | 'machine' | 'media', more?: string) => string;
  machineDetection: 'Enable' | 'DetectMessageEnd' | null;
}

const MANNERS = {
  carrier: 'twilio',
  title: 'Twilio',
  /** Twilio notices a broken socket late. */
  brokenMs: 8_000,
  /** Twilio waits 15 s for the answer to its webhook. */
  decideMs: 12_000,
};
/** A key with its pause, as Twilio plays them; `w` is half a second. */
const KEY_MS = 500;

/** Twilio's side of a call: handles webhooks and sends instructions. */
export class TwilioControl extends DocumentControl<TwilioControl> implements SocketControl {
  readonly #options: TwilioControlOptions;

  constructor(options: TwilioControlOptions) {
    super(options, documentsOf(options), MANNERS);
    this.#options = options;
  }

  /** A status callback. */
  status(form: URLSearchParams): void {
    const status = form.get('CallStatus') ?? '';
    const sid = form.get('CallSid') ?? '';
    if (sid === '' || (this.id !== null && sid !== this.id)) return;
    this.known(sid);
    if (status === 'ringing') this.rings();
    if (status === 'in-progress' && this.call.state !== 'answered') this.awaitStream();
    const end = endOf(status, form, this.call.state === 'answered');
    if (end !== null) this.over(end);
  }

  /** Presses keys. parley does not hear the far end meanwhile, for about a second. */
  async press(keys: string, signal: AbortSignal): Promise<void> {
    if (!/^[0-9*#w]{1,200}$/.test(keys)) throw new ParleyError('KEYS_UNSUPPORTED', { carrier: 'Twilio', keys });
    await this.detours.visit(connecting(this.#options, keys), keys.length * KEY_MS, signal);
  }

  /** A new status of a transfer's target. */
  targetStatus(attempt: string, status: string): void {
    if (status === 'in-progress') this.detours.targetAnswered(attempt);
  }

  /** The result of Twilio's answering machine detection. */
  machine(form: URLSearchParams): void {
    this.call.answeredBy((form.get('AnsweredBy') ?? 'unknown').slice(0, 40));
  }

  protected async dial(ringS: number, signal: AbortSignal): Promise<void> {
    const { api, url, machineDetection: mode } = this.#options;
    const { from, to } = this.call;
    const machineDetection = mode === null ? null : { mode, url: url('machine') };
    const twiml = connecting(this.#options);
    this.known(await api.createCall({ from, to, ringS, machineDetection, twiml, statusUrl: url('status') }, signal));
  }

  protected redirect(id: string, document: string, signal: AbortSignal): Promise<void> {
    return this.#options.api.redirect(id, document, signal);
  }

  protected end(id: string, signal: AbortSignal): Promise<void> {
    return this.#options.api.end(id, signal);
  }

  protected async endOfCall(id: string, signal: AbortSignal): Promise<CallEnd | null> {
    const found = await this.#options.api.status(id, signal);
    if (found === null) return { cause: 'failed', by: 'network', reason: 'Twilio no longer knows the call' };
    return endOf(found.status, new URLSearchParams(), true);
  }
}

function documentsOf(options: TwilioControlOptions): CallDocuments {
  const { url, call } = options;
  return {
    connecting: () => connecting(options),
    dialling: (target, attempt) =>
      dialTwiml({
        target,
        from: call.ours,
        ringS: TRANSFER_RING_S,
        statusUrl: url('answered', attempt),
        actionUrl: url('dialled', attempt),
      }),
    meeting: conferenceTwiml,
    hangUp: HANG_UP_XML,
    reject: rejectTwiml,
  };
}

function connecting({ url }: TwilioControlOptions, keys = ''): string {
  return connectTwiml({ streamUrl: url('media'), nextUrl: url('next') }, keys);
}
