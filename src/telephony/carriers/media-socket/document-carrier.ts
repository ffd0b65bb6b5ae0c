import type { NumberDesk } from './account-numbers.js';
import type { DocumentControl } from './document-control.js';
import { HANG_UP_XML } from './response-xml.js';
import {
  type SocketCallFacts,
  SocketCarrier,
  type SocketCarrierOptions,
  type SocketControl,
} from './socket-carrier.js';
import type { MediaSocket } from './media-socket.js';
import {
  REFUSED,
  segmentsBelow,
  UNKNOWN,
  type WebhookReply,
  type WebhookRequest,
  type WebhookSubject,
} from './webhook-endpoint.js';

export interface DocumentCarrierOptions extends SocketCarrierOptions {
  /** parley's public https address, with an optional path, without a trailing slash. */
  publicUrl: string;
  /** The same of this process alone, for media sockets. */
  mediaUrl: string;
}

/** The part of a request that carriers sign, beside its form. */
export interface WebhookHead extends Omit<WebhookRequest, 'body' | 'method'> {
  method: 'GET' | 'POST';
}

export interface OfferedFacts extends Pick<SocketCallFacts, 'from' | 'to' | 'headers'> {
  id: string;
}

/** The common part of carriers that ask for instructions as XML documents. */
export abstract class DocumentCarrier<C extends DocumentControl<C> & SocketControl> extends SocketCarrier<C> {
  protected abstract readonly callId: RegExp;
  /** The document that rejects a call to a number that takes none. */
  protected abstract readonly rejection: string;
  /** What the log says of requests without a valid signature, with the settings that may be wrong. */
  protected abstract readonly notSigned: string;
  /** The form field with the carrier's id of a call. */
  protected abstract readonly callIdField: string;
  readonly #publicUrl: string;
  readonly #mediaUrl: string;

  constructor(options: DocumentCarrierOptions, desk: NumberDesk) {
    super(options, desk);
    this.#publicUrl = options.publicUrl;
    this.#mediaUrl = options.mediaUrl;
  }

  subjectOf({ path, body }: Omit<WebhookRequest, 'method'>): WebhookSubject {
    const [, token = null] = segmentsBelow(this.path, path);
    const callId = new URLSearchParams(body.toString('utf8')).get(this.callIdField);
    return { token, callId };
  }

  admit(request: Omit<WebhookRequest, 'body' | 'method'>): ((socket: MediaSocket) => void) | null {
    if (!this.isSigned({ ...request, method: 'GET' }, new URLSearchParams(), 'socket')) {
      this.notProved(`a media socket that ${this.notSigned}`);
      return null;
    }
    const control = this.callOfMedia(request.path);
    return control === undefined ? null : this.streaming(control);
  }

  protected reply(request: WebhookRequest): WebhookReply | Promise<WebhookReply> {
    if (request.method !== 'POST') return UNKNOWN;
    const form = new URLSearchParams(request.body.toString('utf8'));
    if (!this.isOurs(form)) this.notProved('a webhook of another account');
    else if (!this.isSigned({ ...request, method: 'POST' }, form, 'webhook'))
      this.notProved(`a webhook that ${this.notSigned}`);
    else return this.answer({ ...request, method: 'POST' }, form);
    return REFUSED;
  }

  /** Whether a request has the carrier's signature. */
  protected abstract isSigned(request: WebhookHead, form: URLSearchParams, what: 'webhook' | 'socket'): boolean;

  /** Answers a signed webhook. */
  protected abstract answer(request: WebhookHead, form: URLSearchParams): WebhookReply | Promise<WebhookReply>;

  /** Whether a webhook names the own account. */
  protected isOurs(_form: URLSearchParams): boolean {
    return true;
  }

  /** The address of a webhook, or of the media socket, for one call. */
  protected callUrl(token: string, what: string, more?: string): string {
    const path = `${this.path}/${[what, token, ...(more === undefined ? [] : [more])].join('/')}`;
    return what === 'media' ? `${this.#mediaUrl}${path}`.replace(/^http/, 'ws') : `${this.#publicUrl}${path}`;
  }

  /** The document for an inbound call, once it is decided. Carriers repeat the request. */
  protected incoming({ id, from, to, headers }: OfferedFacts): Promise<string> {
    const known = this.calls.byId(id);
    if (known !== undefined) return known.call.direction === 'inbound' ? known.voice() : Promise.resolve(HANG_UP_XML);
    if (!this.callId.test(id) || !this.takes(to)) return Promise.resolve(this.rejection);
    const control = this.open({ direction: 'inbound', id, from, to, headers });
    const document = control.voice();
    control.call.ring();
    this.offer(control);
    return document;
  }
}

export function xmlReply(body: string): WebhookReply {
  return { status: 200, contentType: 'text/xml', body };
}
