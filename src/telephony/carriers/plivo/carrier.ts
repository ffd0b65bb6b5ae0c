import type { NumberOffer, NumberQuery } from '../carrier.js';
import { callerOf } from '../media-socket/account-numbers.js';
import { type WebhookReply, segmentsBelow, UNKNOWN } from '../media-socket/webhook-endpoint.js';
import type { LegParts } from '../media-socket/leg-control.js';
import { Replies } from '../media-socket/replies.js';
import type { Rest } from '../media-socket/rest.js';
import {
  DocumentCarrier,
  type DocumentCarrierOptions,
  type WebhookHead,
  xmlReply,
} from '../media-socket/document-carrier.js';
import type { CallWire } from '../media-socket/socket-carrier.js';
import { PlivoApi } from './api.js';
import { type CallPath, PlivoControl, dialOutcome } from './call-control.js';
import { PlivoNumbers } from './numbers.js';
import { EMPTY_XML, HANG_UP_XML } from '../media-socket/response-xml.js';
import { rejectXml } from './xml.js';
import { parseJson } from '../../../base/json.js';
import type { MediaDialect } from '../media-socket/dialect.js';
import { MessageFields } from '../media-socket/message-fields.js';
import { type SequencedMessage, sequenceReader, soundIn } from '../media-socket/audio-sequence.js';
import { createHmac } from 'node:crypto';
import { isEqualSecret } from '../../../base/secret.js';

const fields = new MessageFields('plivo');

/**
 * The messages of a call's audio streams. The chunk number gives the position of audio, because the timestamp is the
 * time of day. A checkpoint returns as `playedStream` when earlier audio has been played; checkpoints waiting at a
 * clear do not return.
 * @see https://docs.plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-reference (2026-11-22), and
 * github.com/plivo/plivo-stream-sdk-node, src/types.ts; `sendDTMF` as in github.com/plivo-labs/agent-transport
 */
export function plivoMessages(): MediaDialect {
  return {
    read: sequenceReader(read),
    media: (_streamId, payload) =>
      `{"event":"playAudio","media":{"contentType":"audio/x-mulaw","sampleRate":8000,"payload":"${payload}"}}`,
    mark: (streamId, name) => `{"event":"checkpoint","streamId":"${streamId}","name":"${name}"}`,
    clear: (streamId) => `{"event":"clearAudio","streamId":"${streamId}"}`,
    keys: (keys) => `{"event":"sendDTMF","dtmf":"${keys}"}`,
  };
}

function read(text: string): SequencedMessage | null {
  const message = parseJson(text) as Partial<Record<string, unknown>> | null;
  switch (message?.['event']) {
    case 'start':
      return fields.mulawStart(fields.objectIn(message, 'start'), { streamId: 'streamId', callId: 'callId' });
    case 'media':
      return soundIn(message, fields);
    case 'dtmf':
      return fields.digits(message);
    case 'playedStream':
      return { type: 'mark', name: fields.text(message['name'], 'name') };
    case 'clearedAudio':
      return null;
    case 'stop':
      return { type: 'stop' };
    case 'playFailed':
    case 'error':
      throw fields.unreadable(`it reports ${message['event']}: ${String(message['reason']).slice(0, 200)}`);
    default:
      throw fields.unknownEvent(message);
  }
}

export interface PlivoCarrierOptions extends DocumentCarrierOptions {
  authId: string;
  authToken: string;
  rest: Rest;
  /** Whether Plivo's answering machine detection is on. */
  detectsMachines: boolean;
}

const PATH = '/carriers/plivo';
/** Plivo repeats within a minute; a replay by an attacker could come later. */
const REMEMBERED_MS = 3_600_000;

/** Calls over Plivo: placed with its REST API, reported by its callbacks, with audio over Audio Streaming. */
export class PlivoCarrier extends DocumentCarrier<PlivoControl> {
  readonly name = 'plivo';
  readonly path = PATH;
  protected readonly callId = /^[A-Za-z0-9-]{1,64}$/;
  protected readonly callIdField = 'CallUUID';
  protected readonly rejection = rejectXml('unavailable');
  protected readonly notSigned = 'Plivo has not signed with plivoAuthToken for publicUrl';
  readonly #options: PlivoCarrierOptions;
  readonly #api: PlivoApi;
  readonly #desk: PlivoNumbers;
  readonly #replies: Replies;

  constructor(options: PlivoCarrierOptions) {
    const { clock, authId, rest, publicUrl } = options;
    const urls = { answerUrl: `${publicUrl}${PATH}/answer`, hangupUrl: `${publicUrl}${PATH}/hangup` };
    const desk = new PlivoNumbers({ clock, authId, rest, applicationName: applicationNameOf(publicUrl), ...urls });
    super(options, desk);
    this.#options = options;
    this.#api = new PlivoApi({ clock, authId, rest });
    this.#desk = desk;
    this.#replies = new Replies({ clock, keptMs: REMEMBERED_MS });
  }

  searchNumbers({ country, areaCode, limit = 10 }: NumberQuery, signal: AbortSignal): Promise<readonly NumberOffer[]> {
    return this.#desk.search(country.toUpperCase(), areaCode, limit, signal);
  }

  protected isSigned(
    { method, path, headers }: WebhookHead,
    form: URLSearchParams,
    what: 'webhook' | 'socket',
  ): boolean {
    const { publicUrl, mediaUrl, authToken } = this.#options;
    const url = `${what === 'socket' ? mediaUrl : publicUrl}${path}`;
    // Plivo signs plain http for sockets whatever it connected to, according to the guide of its command line
    // (github.com/plivo/plivo-cli). Its documentation does not say so; the other two schemes would be as authentic.
    const schemes = what === 'socket' ? ['http', 'https', 'wss'] : [];
    const urls = schemes.length === 0 ? [url] : schemes.map((scheme) => url.replace(/^https?/, scheme));
    return isSigned(authToken, headers, urls, { method, form });
  }

  protected control(parts: LegParts<PlivoControl>): PlivoControl {
    const { detectsMachines } = this.#options;
    const { call, token } = parts;
    return new PlivoControl({
      ...parts,
      api: this.#api,
      url: (what, more) => this.callUrl(token, what, more),
      detectsMachines: detectsMachines && call.direction === 'outbound',
    });
  }

  protected wire(): CallWire {
    return { dialect: plivoMessages(), encoding: 'mulaw', sampleRateHz: 8_000 };
  }

  protected answer(
    { method, path, headers }: WebhookHead,
    form: URLSearchParams,
  ): WebhookReply | Promise<WebhookReply> {
    const { publicUrl, authToken } = this.#options;
    const [url, nonce] = [`${publicUrl}${path}`, headers['x-plivo-signature-v3-nonce'] ?? ''];
    return this.#replies.once(plivoSignature(authToken, { method, url, form }, nonce), () => this.#answer(path, form));
  }

  /** Answers an authenticated request. */
  async #answer(path: string, form: URLSearchParams): Promise<WebhookReply> {
    const [what = '', token, more = ''] = segmentsBelow(PATH, path);
    const callId = form.get('CallUUID') ?? '';
    if (what === 'answer' && token === undefined) {
      const [from, to] = [callerOf(numberOf(form.get('From') ?? '')), numberOf(form.get('To') ?? '')];
      return xmlReply(await this.incoming({ id: callId, from, to, headers: passedOn(form) }));
    }
    const control = token === undefined ? this.calls.byId(callId) : this.calls.byToken(token);
    switch (what as CallPath) {
      case 'answer':
        return xmlReply(control?.answered(callId) ?? HANG_UP_XML);
      case 'next':
        return xmlReply(control?.next() ?? HANG_UP_XML);
      case 'go':
        return xmlReply(control?.arrived(more) ?? HANG_UP_XML);
      case 'dialled':
        return xmlReply(control?.dialled(more, dialOutcome(form)) ?? HANG_UP_XML);
      case 'ring':
        control?.rang(callId);
        return xmlReply(EMPTY_XML);
      case 'leg':
        control?.targetStatus(more, form.get('DialAction') ?? '');
        return xmlReply(EMPTY_XML);
      case 'machine':
        control?.machine(form);
        return xmlReply(EMPTY_XML);
      case 'hangup':
        control?.hungUp(callId, form);
        return xmlReply(EMPTY_XML);
      default:
        return UNKNOWN;
    }
  }
}

/** One per public address, so that two parley installations can share an account. */
function applicationNameOf(publicUrl: string): string {
  return `parley-${publicUrl.replace(/^https?:\/\//, '').replaceAll(/[^A-Za-z0-9]+/g, '-')}`.slice(0, 60);
}

/** Plivo writes numbers without the plus. */
function numberOf(text: string): string {
  return /^\d{7,15}$/.test(text) ? `+${text}` : text;
}

/** Information about a call for agents: SIP headers, and who forwarded it. */
function passedOn(form: URLSearchParams): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of form) {
    if (/^x-ph-[a-z0-9-]{1,60}$/i.test(name)) passed[name.toLowerCase()] = value.slice(0, 1_000);
  }
  const forwardedFrom = form.get('ForwardedFrom');
  if (forwardedFrom !== null && forwardedFrom !== '') passed['diversion'] = forwardedFrom.slice(0, 100);
  return passed;
}

/** Maximum number of signatures checked per header. */
const MOST_SIGNATURES = 8;
const MOST_NONCE = 200;

/** The signed parts of a request. */
export interface SignedRequest {
  method: 'GET' | 'POST';
  /** As Plivo knows it, with its query. */
  url: string;
  /** Fields of the posted form. */
  form: URLSearchParams;
}

/**
 * Plivo's request signature, version 3: base64 of the HMAC-SHA256, with the account's auth token, of the address with
 * its sorted query, the form's fields sorted by name and value and concatenated, a dot and the nonce.
 * (docs.plivo.com/docs/voice/concepts/signature-validation, 2026-11-22; the validator of npm plivo 4.79.0 agrees with
 * it in the tests.)
 */
export function plivoSignature(authToken: string, { method, url, form }: SignedRequest, nonce: string): string {
  const [address = '', query = ''] = split(url);
  const asked = pairsOf(new URLSearchParams(query), '=').join('&');
  const posted = method === 'POST' ? pairsOf(form, '').join('') : '';
  const mark = asked !== '' || posted !== '' ? '?' : '';
  const dot = asked !== '' && posted !== '' ? '.' : '';
  return createHmac('sha256', authToken).update(`${address}${mark}${asked}${dot}${posted}.${nonce}`).digest('base64');
}

/**
 * Whether a request is Plivo's. Its header may have several signatures, by several valid auth tokens; another header
 * always has the main account's.
 *
 * @param urls possible forms of the requested address
 */
export function isSigned(
  authToken: string,
  headers: Readonly<Record<string, string | undefined>>,
  urls: readonly string[],
  { method, form }: Omit<SignedRequest, 'url'>,
): boolean {
  const nonce = headers['x-plivo-signature-v3-nonce'] ?? '';
  const shown = [headers['x-plivo-signature-v3'], headers['x-plivo-signature-ma-v3']]
    .flatMap((header) => header?.split(',') ?? [])
    .slice(0, MOST_SIGNATURES);
  if (nonce === '' || nonce.length > MOST_NONCE) return false;
  return urls.some((url) => {
    const right = plivoSignature(authToken, { method, url, form }, nonce);
    return shown.some((one) => isEqualSecret(one.trim(), right));
  });
}

function split(url: string): string[] {
  const at = url.indexOf('?');
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
}

function pairsOf(form: URLSearchParams, between: string): string[] {
  return [...new Set(form.keys())].sort().flatMap((name) =>
    form
      .getAll(name)
      .sort()
      .map((value) => `${name}${between}${value}`),
  );
}
