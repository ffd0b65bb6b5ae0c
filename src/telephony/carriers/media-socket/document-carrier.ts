import type { NumberDesk } from './account-numbers.js';
import type { DocumentControl } from './document-control.js';
import { HANG_UP_XML } from './response-xml.js';
import {
  type SocketCallFacts,
  SocketCarrier,
  type SocketCarrierOptions,
  type SocketControl,
} from './socket-carrier.js';
import type { WebhookReply } from './webhook-endpoint.js';

export interface DocumentCarrierOptions extends SocketCarrierOptions {
  /** parley's public https address, with an optional path, without a trailing slash. */
  publicUrl: string;
}

export interface IncomingCall extends Pick<SocketCallFacts, 'from' | 'to' | 'headers'> {
  id: string;
}

/** The common part of carriers that ask for instructions as XML documents. */
export abstract class DocumentCarrier<C extends DocumentControl<C> & SocketControl> extends SocketCarrier<C> {
  /** Ids of calls. */
  protected abstract readonly callId: RegExp;
  /** The document that rejects a call to a number that takes none. */
  protected abstract readonly rejection: string;
  readonly #publicUrl: string;

  constructor(options: DocumentCarrierOptions, desk: NumberDesk) {
    super(options, desk);
    this.#publicUrl = options.publicUrl;
  }

  /** The address of a webhook, or of the media socket, for one call. */
  protected callUrl(token: string, what: string, more?: string): string {
    const url = `${this.#publicUrl}${this.path}/${[what, token, ...(more === undefined ? [] : [more])].join('/')}`;
    return what === 'media' ? url.replace(/^http/, 'ws') : url;
  }

  /** The document for an inbound call, once it is decided. Carriers repeat the request. */
  protected incoming({ id, from, to, headers }: IncomingCall): Promise<string> {
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
