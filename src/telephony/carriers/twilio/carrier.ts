import type { NumberOffer, NumberQuery } from '../carrier.js';
import { callerOf } from '../media-socket/account-numbers.js';
import { type WebhookReply, segmentsBelow, UNKNOWN } from '../media-socket/webhook-endpoint.js';
import type { Rest } from '../media-socket/rest.js';
import type { LegParts } from '../media-socket/leg-control.js';
import { TwilioApi } from './api.js';
import { TwilioControl, dialOutcome, rejectTwiml } from './call-control.js';
import { EMPTY_XML, HANG_UP_XML } from '../media-socket/response-xml.js';
import {
  DocumentCarrier,
  type DocumentCarrierOptions,
  type WebhookHead,
  xmlReply,
} from '../media-socket/document-carrier.js';
import type { CallWire } from '../media-socket/socket-carrier.js';
import { parseJson } from '../../../base/json.js';
import type { MediaDialect, MediaMessage } from '../media-socket/dialect.js';
import { MessageFields } from '../media-socket/message-fields.js';
import { cutNumber, cutPayload } from '../media-socket/audio-sequence.js';
import { createHmac } from 'node:crypto';
import { isEqualSecret } from '../../../base/secret.js';

/** Twilio Media Streams' messages. @see https://www.twilio.com/docs/voice/media-streams/websocket-messages (2026-11-22) */
export const TWILIO_MESSAGES: MediaDialect = {
  read: (text) => quickly(text) ?? slowly(text),
  media: (streamId, payload) => `{"event":"media","streamSid":"${streamId}","media":{"payload":"${payload}"}}`,
  mark: (streamId, name) => `{"event":"mark","streamSid":"${streamId}","mark":{"name":"${name}"}}`,
  clear: (streamId) => `{"event":"clear","streamSid":"${streamId}"}`,
};

const fields = new MessageFields('twilio');
const TIMESTAMP = '"timestamp":';

/** Null = use the full parser. */
function quickly(text: string): MediaMessage | null {
  const payload = cutPayload(text);
  const atMs = payload === null ? null : cutNumber(text, TIMESTAMP);
  return payload === null || atMs === null ? null : { type: 'media', payload, atMs };
}

function slowly(text: string): MediaMessage | null {
  const message = parseJson(text) as Partial<Record<string, unknown>> | null;
  switch (message?.['event']) {
    case 'connected':
      return null;
    case 'start':
      return fields.mulawStart(fields.objectIn(message, 'start'), { streamId: 'streamSid', callId: 'callSid' });
    case 'media': {
      const { track, payload, timestamp } = fields.objectIn(message, 'media');
      if (track === 'outbound') return null;
      return { type: 'media', payload: fields.text(payload, 'media.payload'), atMs: numberOf(timestamp) };
    }
    case 'dtmf':
      return fields.digits(message);
    case 'mark':
      return fields.mark(message);
    case 'stop':
      return { type: 'stop' };
    default:
      throw fields.unknownEvent(message);
  }
}

function numberOf(value: unknown): number | null {
  const number = typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN;
  return Number.isFinite(number) && number >= 0 ? number : null;
}

export interface TwilioCarrierOptions extends DocumentCarrierOptions {
  accountSid: string;
  authToken: string;
  rest: Rest;
  /** The pricing API. */
  pricing: Rest;
  /** Twilio's answering machine detection: off, who answered, or the end of a greeting. */
  machineDetection: 'Enable' | 'DetectMessageEnd' | null;
}

const PATH = '/carriers/twilio';
/** ANONYMOUS, RESTRICTED, BLOCKED, UNKNOWN and UNAVAILABLE as telephone keys: Twilio's values for withheld numbers. */
const WITHHELD = new Set(['+266696687', '+7378742833', '+2562533', '+8656696', '+86282452253']);

/** Calls over Twilio: placed with its REST API, reported by its webhooks, with audio over Media Streams. */
export class TwilioCarrier extends DocumentCarrier<TwilioControl> {
  readonly name = 'twilio';
  readonly path = PATH;
  protected readonly callId = /^CA[0-9a-fA-F]{32}$/;
  protected readonly callIdField = 'CallSid';
  protected readonly rejection = rejectTwiml('unavailable');
  protected readonly notSigned = 'Twilio has not signed with twilioAuthToken for publicUrl';
  readonly #options: TwilioCarrierOptions;
  readonly #api: TwilioApi;

  constructor(options: TwilioCarrierOptions) {
    const { clock, accountSid, rest, pricing, publicUrl } = options;
    const [voiceUrl, statusUrl] = [`${publicUrl}${PATH}/voice`, `${publicUrl}${PATH}/status`];
    const api = new TwilioApi({ clock, accountSid, rest, pricing, voiceUrl, statusUrl });
    super(options, api);
    this.#options = options;
    this.#api = api;
  }

  async searchNumbers(
    { country, areaCode, limit = 10 }: NumberQuery,
    signal: AbortSignal,
  ): Promise<readonly NumberOffer[]> {
    const code = country.toUpperCase();
    const numbers = await this.#api.searchNumbers(code, areaCode, limit, signal);
    if (numbers.length === 0) return [];
    const monthlyCents = await this.#api.monthlyCents(code, signal);
    return numbers.map((number) => ({ number, country: code, monthlyCents }));
  }

  protected isSigned({ path, headers }: WebhookHead, form: URLSearchParams, what: 'webhook' | 'socket'): boolean {
    const { publicUrl, mediaUrl, authToken } = this.#options;
    const signed = what === 'socket' ? `${mediaUrl}${path}`.replace(/^http/, 'ws') : `${publicUrl}${path}`;
    return isSigned(authToken, headers['x-twilio-signature'] ?? '', signed, form);
  }

  protected override isOurs(form: URLSearchParams): boolean {
    return form.get('AccountSid') === this.#options.accountSid;
  }

  protected control(parts: LegParts<TwilioControl>): TwilioControl {
    const { machineDetection } = this.#options;
    const { call, token } = parts;
    return new TwilioControl({
      ...parts,
      api: this.#api,
      url: (what, more) => this.callUrl(token, what, more),
      machineDetection: call.direction === 'outbound' ? machineDetection : null,
    });
  }

  protected wire(): CallWire {
    return { dialect: TWILIO_MESSAGES, encoding: 'mulaw', sampleRateHz: 8_000 };
  }

  protected async answer({ path }: WebhookHead, form: URLSearchParams): Promise<WebhookReply> {
    const [what = '', token, more = ''] = segmentsBelow(PATH, path);
    const sid = form.get('CallSid') ?? '';
    if (what === 'voice') {
      const [from, to] = [callerOf(form.get('From') ?? '', WITHHELD), form.get('To') ?? ''];
      return xmlReply(await this.incoming({ id: sid, from, to, headers: passedOn(form) }));
    }
    const control = token === undefined ? this.calls.byId(sid) : this.calls.byToken(token);
    switch (what) {
      case 'status':
        control?.status(form);
        return xmlReply(EMPTY_XML);
      case 'answered':
        control?.targetStatus(more, form.get('CallStatus') ?? '');
        return xmlReply(EMPTY_XML);
      case 'machine':
        control?.machine(form);
        return xmlReply(EMPTY_XML);
      case 'next':
        return xmlReply(control?.next() ?? HANG_UP_XML);
      case 'dialled':
        return xmlReply(control?.dialled(more, dialOutcome(form)) ?? HANG_UP_XML);
      default:
        return UNKNOWN;
    }
  }
}

/** Information about a call for agents: SIP headers, and who forwarded it. */
function passedOn(form: URLSearchParams): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of form) {
    const header = /^SipHeader_(X-[A-Za-z0-9-]{1,60}|User-to-User|Diversion)$/i.exec(name)?.[1];
    if (header !== undefined) passed[header.toLowerCase()] = value.slice(0, 1_000);
  }
  const forwardedFrom = form.get('ForwardedFrom');
  if (forwardedFrom !== null) passed['diversion'] ??= forwardedFrom.slice(0, 100);
  return passed;
}

/**
 * Twilio's request signature: base64 of the HMAC-SHA1, with the account's auth token, of the requested address followed
 * by every form field, sorted by name; repeated fields are sorted by their distinct values.
 * (twilio.com/docs/usage/webhooks/webhooks-security; twilio-node 6.2.0 agrees with it in the tests.)
 *
 * @param url as Twilio knows it, with its query
 */
export function twilioSignature(authToken: string, url: string, form: URLSearchParams): string {
  let text = url;
  for (const name of [...new Set(form.keys())].sort()) {
    for (const value of [...new Set(form.getAll(name))].sort()) text += name + value;
  }
  return createHmac('sha1', authToken).update(text, 'utf8').digest('base64');
}

/** Whether a signature is Twilio's, with or without the port in the address. */
export function isSigned(authToken: string, signature: string, url: string, form: URLSearchParams): boolean {
  return portForms(url).some((form_) => isEqualSecret(signature, twilioSignature(authToken, form_, form)));
}

/** Twilio signs the standard port sometimes with, sometimes without the number. */
function portForms(url: string): string[] {
  const match = /^(https?|wss?):\/\/([^/?#:]+|\[[^\]]+\])(:\d+)?(.*)$/.exec(url);
  if (match === null) return [url];
  const [, scheme = '', host = '', port, rest = ''] = match;
  const standard = scheme === 'https' || scheme === 'wss' ? ':443' : ':80';
  const forms = [url, `${scheme}://${host}${rest}`];
  if (port === undefined) forms.push(`${scheme}://${host}${standard}${rest}`);
  return forms;
}
