import { ParleyError } from '../../../base/errors.js';
import { type CallEnd, type CallRefusal, isBusyTone } from '../carrier.js';
import { DocumentControl } from '../media-socket/document-control.js';
import { TRANSFER_RING_S, type CallDocuments } from '../media-socket/leg-redirects.js';
import type { LegParts } from '../media-socket/leg-control.js';
import type { SocketControl } from '../media-socket/socket-carrier.js';
import type { TwilioApi } from './api.js';
import {
  HANG_UP_XML,
  type DialVerb,
  escapedXml,
  responseXml,
  type StreamRequest,
} from '../media-socket/response-xml.js';
import type { TransferOutcome } from '../../../transports/transport.js';

interface TwilioControlOptions extends LegParts<TwilioControl> {
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
    await this.redirects.visit(connecting(this.#options, keys), keys.length * KEY_MS, signal);
  }

  /** A new status of a transfer's target. */
  targetStatus(attempt: string, status: string): void {
    if (status === 'in-progress') this.redirects.targetAnswered(attempt);
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

/** SIP answers for a rejected call (RFC 3261, 21.6.2; RFC 8197; RFC 8688). */
const DECLINED = new Set(['603', '607', '608']);

/**
 * The end for a Twilio status; null = the call continues.
 * @param form of the callback
 * @param wasAnswered whether audio flowed both ways
 */
function endOf(status: string, form: URLSearchParams, wasAnswered: boolean): CallEnd | null {
  const sip = form.get('SipResponseCode') ?? '';
  const error = form.get('ErrorMessage') ?? form.get('ErrorCode') ?? '';
  const details = [sip === '' ? '' : `SIP ${sip}`, error.slice(0, 200)].filter((one) => one !== '').join(', ');
  const reason = details === '' ? status : `${status} (${details})`;
  const end = (cause: CallEnd['cause'], by: CallEnd['by']): CallEnd => ({ cause, by, reason });
  switch (status) {
    case 'completed':
      // Answered, and over before audio flowed: the called person hung up.
      return end('hangup', 'remote');
    case 'busy':
      return DECLINED.has(sip) ? end('rejected', 'remote') : end('busy', 'remote');
    case 'no-answer':
      return end('no-answer', 'network');
    case 'canceled':
      return wasAnswered ? end('hangup', 'network') : end('canceled', 'network');
    case 'failed':
      return DECLINED.has(sip) ? end('rejected', 'remote') : end('failed', 'network');
    default:
      return null;
  }
}

/** The outcome of a transfer as reported by `<Dial>`. */
export function dialOutcome(form: URLSearchParams): TransferOutcome {
  const [status, sip] = [form.get('DialCallStatus') ?? '', form.get('DialSipResponseCode') ?? ''];
  if (status === 'completed' || status === 'answered') return { ok: true };
  if (DECLINED.has(sip)) return { ok: false, reason: 'rejected' };
  return { ok: false, reason: status === 'busy' || status === 'no-answer' ? status : 'failed' };
}

/** TwiML instructions. @see https://www.twilio.com/docs/voice/twiml (2026-11-22) */

/**
 * Connects the audio to a media socket, both ways, until it closes; then Twilio asks for instructions.
 * @param first keys to press before
 */
function connectTwiml({ streamUrl, nextUrl }: StreamRequest, first = ''): string {
  const play = first === '' ? '' : `<Play digits="${escapedXml(first)}"/>`;
  const stream = `<Connect><Stream url="${escapedXml(streamUrl)}"/></Connect>`;
  return responseXml(`${play}${stream}<Redirect method="POST">${escapedXml(nextUrl)}</Redirect>`);
}

/** Connects the far end to a target, with ringback. */
function dialTwiml({ target, from, ringS, statusUrl, actionUrl }: DialVerb): string {
  const noun = /^sips?:/i.test(target) ? 'Sip' : 'Number';
  const callback = `statusCallbackEvent="answered" statusCallback="${escapedXml(statusUrl)}" statusCallbackMethod="POST"`;
  const dial = `timeout="${String(ringS)}" callerId="${escapedXml(from)}" action="${escapedXml(actionUrl)}" method="POST"`;
  return responseXml(`<Dial ${dial}><${noun} ${callback}>${escapedXml(target)}</${noun}></Dial>`);
}

/** Moves the far end to a conference with the party that it is connected to; it ends when either leaves. */
function conferenceTwiml(room: string): string {
  const rules = 'beep="false" startConferenceOnEnter="true" endConferenceOnExit="true" waitUrl=""';
  return responseXml(`<Dial><Conference ${rules}>${escapedXml(room)}</Conference></Dial>`);
}

/** The caller hears a busy tone or that the number is not in service, free of charge. */
export function rejectTwiml(refusal: CallRefusal): string {
  return responseXml(`<Reject reason="${isBusyTone(refusal) ? 'busy' : 'rejected'}"/>`);
}
