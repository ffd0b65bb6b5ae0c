import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { Hop } from '../../../../src/telephony/sip/hop.js';
import type { SipMessage, SipRequest } from '../../../../src/telephony/sip/message.js';
import { parseMessage } from '../../../../src/telephony/sip/parse.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import type { ServerTransaction } from '../../../../src/telephony/sip/transactions/transaction.js';
import { Transactions } from '../../../../src/telephony/sip/transactions/transactions.js';

export const UDP: Hop = { protocol: 'UDP', address: '192.0.2.7', port: 5060 };
export const TCP: Hop = { ...UDP, protocol: 'TCP' };

export function messageOf(text: string | Uint8Array): SipMessage {
  const bytes = typeof text === 'string' ? Buffer.from(text.replaceAll('\n', '\r\n')) : text;
  const parsed = parseMessage(bytes);
  if (!parsed.ok) throw new Error(parsed.fault);
  return parsed.message;
}

export function requestOf(method: string, { branch = 'z9hG4bKone', sequence = 7, toTag = '' } = {}): SipRequest {
  const lines = [
    `${method} sip:agent@198.51.100.1 SIP/2.0`,
    ...(branch === '' ? [] : [`Via: SIP/2.0/UDP 192.0.2.7:5060;branch=${branch}`]),
    'Max-Forwards: 70',
    'From: <sip:ann@example.com>;tag=a1',
    `To: <sip:agent@example.com>${toTag === '' ? '' : `;tag=${toTag}`}`,
    'Call-ID: call-1',
    `CSeq: ${String(sequence)} ${method}`,
    'Contact: <sip:ann@192.0.2.7>',
    '\n',
  ];
  return messageOf(lines.join('\n')) as SipRequest;
}

/** Transactions in virtual time, and what they send, when, in ms. */
export class Bench {
  readonly clock = new VirtualClock();
  readonly sent: { atMs: number; message: SipMessage }[] = [];
  readonly requests: { request: SipRequest; server: ServerTransaction }[] = [];
  readonly acks: SipRequest[] = [];
  readonly dropped: string[] = [];
  readonly transactions: Transactions;
  #tokens = 0;

  constructor(most?: number) {
    this.transactions = new Transactions({
      clock: this.clock,
      token: () => `t${String(++this.#tokens)}`,
      send: (bytes) => this.sent.push({ atMs: this.clock.nowMs(), message: messageOf(bytes) }),
      sentBy: () => ({ host: '198.51.100.1', port: 5060 }),
      onRequest: (request, _from, server) => this.requests.push({ request, server }),
      onAck: (request) => this.acks.push(request),
      onDropped: (why) => this.dropped.push(why),
      ...(most !== undefined && { most }),
    });
  }

  /** When each message was sent, those of one method or status alone. */
  times(of: string | number): number[] {
    return this.sent
      .filter(({ message }) => (message.kind === 'request' ? message.method : message.status) === of)
      .map(({ atMs }) => atMs);
  }

  /** A client transaction, and what its user got. */
  ask(method: string, hop: Hop = UDP) {
    const reported: (number | string)[] = [];
    const transaction = this.transactions.request(requestOf(method, { branch: '' }), hop, {
      onResponse: ({ status }) => reported.push(status),
      onFailure: (failure) => reported.push(failure),
    });
    const receive = (status: number): void =>
      this.transactions.receiveResponse(responseTo(transaction.request, status, { toTag: 'b2' }));
    return { reported, transaction, receive };
  }

  /** A server transaction. */
  asked(method: string, hop: Hop = UDP) {
    this.transactions.receiveRequest(requestOf(method), hop);
    const { server, request } = this.requests.at(-1) as { server: ServerTransaction; request: SipRequest };
    const respond = (status: number): void => server.respond(responseTo(request, status, { toTag: 'b2' }));
    return { server, respond, again: () => this.transactions.receiveRequest(requestOf(method), hop) };
  }
}
