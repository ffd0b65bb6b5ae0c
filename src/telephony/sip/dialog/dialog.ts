import { parseAddress } from '../address.js';
import { Headers } from '../headers.js';
import type { Hop } from '../hop.js';
import {
  callIdOf,
  contactOf,
  cseqOf,
  NO_BODY,
  type SipMessage,
  type SipRequest,
  type SipResponse,
  tagOf,
} from '../message.js';
import { addRoutes, firstOf, routed } from '../routes.js';
import type { SipUri } from '../uri.js';

/** The id of a dialog, seen locally. */
export interface DialogId {
  callId: string;
  localTag: string;
  remoteTag: string;
}

export function dialogKey({ callId, localTag }: Pick<DialogId, 'callId' | 'localTag'>): string {
  return `${callId} ${localTag}`;
}

/** The shared state of two user agents about a call (RFC 3261, 12). */
export class Dialog implements DialogId {
  readonly callId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  /** Whether parley is the caller: it decides when both sides send at the same time (14.1). */
  readonly isCaller: boolean;
  /** The source of its messages. */
  hop: Hop;
  readonly #local: string;
  readonly #remote: string;
  #localSequence: number;
  #remoteSequence: number | null;
  #target: string;
  #routes: readonly string[];

  private constructor(parts: {
    message: SipMessage;
    isCaller: boolean;
    localTag: string;
    local: string;
    remote: string;
    remoteTag: string;
    routes: readonly string[];
    hop: Hop;
  }) {
    const { message, isCaller, localTag, local, remote, remoteTag, routes, hop } = parts;
    this.callId = callIdOf(message);
    this.isCaller = isCaller;
    this.localTag = localTag;
    this.remoteTag = remoteTag;
    this.hop = hop;
    this.#local = local;
    this.#remote = remote;
    this.#routes = routes;
    const sequence = cseqOf(message)?.sequence ?? 0;
    this.#localSequence = isCaller ? sequence : 0;
    this.#remoteSequence = isCaller ? null : sequence;
    this.#target = contactOf(message)?.uri ?? parseAddress(remote)?.uri ?? '';
  }

  /** For a received INVITE (12.1.1). */
  static ofRequest(request: SipRequest, localTag: string, hop: Hop): Dialog {
    return new Dialog({
      message: request,
      isCaller: false,
      localTag,
      hop,
      local: `${request.headers.get('to') ?? ''};tag=${localTag}`,
      remote: request.headers.get('from') ?? '',
      remoteTag: tagOf(request, 'from') ?? '',
      routes: request.headers.values('record-route') ?? [],
    });
  }

  /** For a response to a sent INVITE (12.1.2). */
  static ofResponse(response: SipResponse, hop: Hop): Dialog {
    return new Dialog({
      message: response,
      isCaller: true,
      hop,
      localTag: tagOf(response, 'from') ?? '',
      local: response.headers.get('from') ?? '',
      remote: response.headers.get('to') ?? '',
      remoteTag: tagOf(response, 'to') ?? '',
      routes: (response.headers.values('record-route') ?? []).toReversed(),
    });
  }

  /** The value of `Replaces` for this dialog (RFC 3891). */
  get replaces(): string {
    return `${this.callId};to-tag=${this.remoteTag};from-tag=${this.localTag}`;
  }

  /** The far end's own address, for `Refer-To`. */
  get target(): string {
    return this.#target;
  }

  get localUri(): string {
    return parseAddress(this.#local)?.uri ?? '';
  }

  /** Destination of the next request: the first proxy, or the far end. Null if it is not a SIP address. */
  get next(): SipUri | null {
    return firstOf({ uri: this.#target, routes: this.#routes });
  }

  /** A request within the dialog, with its own CSeq (12.2.1.1). */
  request(method: string, contact: string): SipRequest {
    this.#localSequence++;
    return this.#build(method, this.#localSequence, contact);
  }

  /** The ACK of a 2xx (13.2.2.4). */
  ack(sequence: number): SipRequest {
    return this.#build('ACK', sequence, null);
  }

  /** PRACK and others have their own CSeq; requests to a fork start after the INVITE's. */
  get localSequence(): number {
    return this.#localSequence;
  }

  /** Whether a request is in order (12.2.2); older ones are refused. */
  takes(request: SipRequest): boolean {
    const sequence = cseqOf(request)?.sequence ?? 0;
    if (tagOf(request, 'from') !== this.remoteTag) return false;
    if (this.#remoteSequence !== null && sequence <= this.#remoteSequence) return false;
    this.#remoteSequence = sequence;
    return true;
  }

  /** The far end's new address from an INVITE or UPDATE. */
  refresh(message: SipMessage): void {
    const contact = contactOf(message);
    if (contact?.sip != null) this.#target = contact.uri;
  }

  /** The answer to the INVITE determines the route, which early responses may lack (13.2.2.4). */
  settle(response: SipResponse): void {
    this.#routes = (response.headers.values('record-route') ?? []).toReversed();
    this.refresh(response);
  }

  #build(method: string, sequence: number, contact: string | null): SipRequest {
    const { uri, routes } = routed(this.#target, this.#routes);
    const headers = new Headers([['max-forwards', '70']]);
    addRoutes(headers, routes);
    headers.add('from', this.#local).add('to', this.#remote);
    headers.add('call-id', this.callId).add('cseq', `${String(sequence)} ${method}`);
    if (contact !== null) headers.add('contact', contact);
    return { kind: 'request', method, uri, headers, body: NO_BODY };
  }
}
