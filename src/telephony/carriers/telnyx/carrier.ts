import { type KeyObject, createPublicKey, verify } from 'node:crypto';
import { isEqualSecret } from '../../../base/secret.js';
import type { NumberOffer, NumberQuery } from '../carrier.js';
import { callerOf } from '../media-socket/account-numbers.js';
import {
  type WebhookReply,
  type WebhookRequest,
  type WebhookSubject,
  REFUSED,
  segmentsBelow,
  UNKNOWN,
} from '../media-socket/webhook-endpoint.js';
import { retryUntilDone, type LegParts } from '../media-socket/leg-control.js';
import type { MediaSocket } from '../media-socket/media-socket.js';
import { Replies } from '../media-socket/replies.js';
import type { Rest } from '../media-socket/rest.js';
import { TelnyxApi, type TelnyxDetection } from './api.js';
import { TelnyxControl } from './call-control.js';
import { readEvent, type TelnyxEvent } from './event.js';
import { inOrder, TELNYX_CODECS, type TelnyxCodec, telnyxMessages } from './media-messages.js';
import { readTargetState } from './transfers.js';
import { type CallWire, SocketCarrier, type SocketCarrierOptions } from '../media-socket/socket-carrier.js';
import { ParleyError } from '../../../base/errors.js';

/** Maximum age of a webhook, also into the future, as in Telnyx's SDKs. */
const TOLERANCE_S = 300;

export interface TelnyxCarrierOptions extends SocketCarrierOptions {
  /** Real time, in milliseconds since 1970: webhooks carry it. */
  nowUnixMs: () => number;
  /** The account's public key for webhooks, 32 bytes in base64. */
  publicKey: string;
  /** The Voice API application; using a number sets its webhook address to `/carriers/telnyx/webhook` here. */
  connectionId: string;
  /** parley's public https address, with an optional path, without a trailing slash. */
  publicUrl: string;
  /** The same of this process alone, for media sockets. */
  mediaUrl: string;
  /** Under https://api.telnyx.com/v2, with the account's key. */
  rest: Rest;
  codec: TelnyxCodec;
  /** Telnyx's answering machine detection. */
  machineDetection: TelnyxDetection | null;
}

const PATH = '/carriers/telnyx';
/** Events are remembered as long as their signature is valid, so that each counts once. */
const REMEMBERED_MS = 2 * TOLERANCE_S * 1000;
const TAKEN: WebhookReply = { status: 200, contentType: 'text/plain', body: '' };

/** Calls over Telnyx: placed with its Call Control API, reported by its webhooks, with audio over media streams. */
export class TelnyxCarrier extends SocketCarrier<TelnyxControl> {
  readonly name = 'telnyx';
  readonly path = PATH;
  readonly #options: TelnyxCarrierOptions;
  readonly #key: KeyObject;
  readonly #api: TelnyxApi;
  readonly #replies: Replies;

  /** @throws ParleyError CONFIG_INVALID for an invalid key */
  constructor(options: TelnyxCarrierOptions) {
    const { clock, rest, connectionId, codec, publicKey, publicUrl } = options;
    const api = new TelnyxApi({ clock, rest, connectionId, webhookUrl: webhookUrlOf(publicUrl), codec });
    super(options, api);
    this.#options = options;
    this.#key = publicKeyOf(publicKey);
    this.#api = api;
    this.#replies = new Replies({ clock, keptMs: REMEMBERED_MS });
  }

  searchNumbers({ country, areaCode, limit = 10 }: NumberQuery, signal: AbortSignal): Promise<readonly NumberOffer[]> {
    return this.#api.searchNumbers(country.toUpperCase(), areaCode, limit, signal);
  }

  subjectOf({ path, body }: Omit<WebhookRequest, 'method'>): WebhookSubject {
    const [what, token = null] = segmentsBelow(PATH, path);
    if (what !== 'webhook') return { token, callId: null };
    const event = readEvent(body);
    if (event === null) return { token: null, callId: null };
    // Nobody but the node of a call may answer; the state is the token that its node gave to Telnyx.
    return { token: readTargetState(event.state)?.token ?? event.state, callId: event.callControlId };
  }

  admit({ path, headers }: Omit<WebhookRequest, 'body' | 'method'>): ((socket: MediaSocket) => void) | null {
    const control = this.callOfMedia(path);
    // A stream requested with the answer of a call has only the token in its address.
    const shown = headers['x-telnyx-streaming-auth-token'];
    if (control === undefined || (shown !== undefined && !isEqualSecret(shown, control.authToken))) {
      this.notProved('a media socket without the token of a call');
      return null;
    }
    const take = this.streaming(control);
    return take === null ? null : (socket) => take(inOrder(socket));
  }

  protected control(parts: LegParts<TelnyxControl>): TelnyxControl {
    const { token: makeToken, machineDetection, codec, publicUrl, mediaUrl } = this.#options;
    const { call, token } = parts;
    return new TelnyxControl({
      ...parts,
      api: this.#api,
      webhookUrl: webhookUrlOf(publicUrl),
      stream: { url: `${mediaUrl}${PATH}/media/${token}`.replace(/^http/, 'ws'), authToken: makeToken() },
      // An answer cannot name the sampling rate.
      streamsWithAnswer: codec !== 'L16',
      detection: call.direction === 'outbound' ? machineDetection : null,
    });
  }

  protected wire(): CallWire {
    return { dialect: telnyxMessages(), ...TELNYX_CODECS[this.#options.codec] };
  }

  /** Commands are separate requests: Telnyx expects nothing in the answer to a webhook. */
  protected reply({ method, path, headers, body }: WebhookRequest): WebhookReply | Promise<WebhookReply> {
    const [what] = segmentsBelow(PATH, path);
    if (method !== 'POST' || what !== 'webhook') return UNKNOWN;
    if (!isSigned(this.#key, headers, body, this.#options.nowUnixMs())) {
      this.notProved('a webhook that Telnyx has not signed for telnyx.publicKey, or not just now');
      return REFUSED;
    }
    const event = readEvent(body);
    if (event === null) return TAKEN;
    return event.id === '' ? this.#take(event) : this.#replies.once(event.id, () => this.#take(event));
  }

  #take(event: TelnyxEvent): WebhookReply {
    try {
      this.#tell(event);
    } catch (error) {
      this.onError(error);
    }
    return TAKEN;
  }

  #tell(event: TelnyxEvent): void {
    const { type, callControlId, state, isIncoming } = event;
    const target = readTargetState(state);
    const control = this.calls.byId(callControlId) ?? this.calls.byToken(target?.token ?? state);
    if (control !== undefined) {
      if (target === null) control.event(event);
      else control.targetEvent(target.attempt, event);
    } else if (target === null) {
      if (type === 'call.initiated' && isIncoming) this.#incoming(event);
    } else if (type === 'call.hangup') {
      // Of an old transfer, or of another process: the far end's leg has no owner.
      this.#insist((signal) => this.#api.hangUp(target.farId, this.#options.token(), signal));
    }
  }

  /** An inbound call. */
  #incoming({ callControlId: id, from, to, headers }: TelnyxEvent): void {
    if (!this.takes(to)) {
      this.#insist((signal) => this.#api.reject(id, 'unavailable', this.#options.token(), signal));
      return;
    }
    const control = this.open({ direction: 'inbound', id, from: callerOf(from), to, headers });
    control.offer();
    this.offer(control);
  }

  /** Retries a command for a leg without a call. */
  #insist(does: (signal: AbortSignal) => Promise<void>): void {
    const attempt = (): Promise<void> => does(new AbortController().signal);
    const onGivenUp = (error: unknown): void => this.onError(error);
    void retryUntilDone(this.#options.clock, attempt, () => false, onGivenUp);
  }
}

function webhookUrlOf(publicUrl: string): string {
  return `${publicUrl}${PATH}/webhook`;
}

/** DER prefix of a 32-byte Ed25519 key (RFC 8410, 4). */
const DER_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
/**
 * The account's webhook key, as shown in Mission Control: 32 bytes in base64.
 * @throws ParleyError CONFIG_INVALID
 */
export function publicKeyOf(base64: string): KeyObject {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== 32) {
    throw new ParleyError('CONFIG_INVALID', { reason: "Telnyx's public key should be 32 bytes in base64" });
  }
  return createPublicKey({ key: Buffer.concat([DER_HEAD, bytes]), format: 'der', type: 'spki' });
}

/**
 * Whether a webhook is Telnyx's and recent: the Ed25519 signature covers its timestamp, a bar and the raw body.
 * (developers.telnyx.com, Webhook signature verification; telnyx 7.24.0 agrees with it in the tests.)
 */
export function isSigned(
  key: KeyObject,
  headers: Readonly<Record<string, string | undefined>>,
  body: Buffer,
  unixMs: number,
): boolean {
  const timestamp = headers['telnyx-timestamp'] ?? '';
  const signature = Buffer.from(headers['telnyx-signature-ed25519'] ?? '', 'base64');
  if (!/^\d{1,12}$/.test(timestamp) || signature.length !== 64) return false;
  if (Math.abs(unixMs / 1000 - Number(timestamp)) > TOLERANCE_S) return false;
  return verify(null, Buffer.concat([Buffer.from(`${timestamp}|`), body]), key, signature);
}
