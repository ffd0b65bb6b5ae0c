import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { expect } from 'vitest';
import { type SipMessage, tagOf } from '../../src/telephony/sip/message.js';
import { messageOf } from '../telephony/sip/support.js';
import { PATIENCE } from './trunk-house.js';

/** What makes one INVITE differ from another. */
export interface RawInvite {
  callId: string;
  fromTag: string;
  sequence: number;
  /** User part of the Request-URI. */
  to: string;
  /** Payload types of the offer, such as `0`; none = port 0. */
  payloads: string;
}

let branches = 0;

/** A caller that sends what a test has it send: UDP, from a port of its own. */
export class RawCaller {
  readonly got: SipMessage[] = [];
  readonly #socket: Socket;
  readonly #toPort: number;

  private constructor(socket: Socket, toPort: number) {
    this.#socket = socket;
    this.#toPort = toPort;
    socket.on('message', (bytes) => this.got.push(messageOf(bytes)));
  }

  static async open(toPort: number): Promise<RawCaller> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new RawCaller(socket, toPort);
  }

  /** Sends an INVITE, with its ACK for whatever comes of it. Returns the final response, and what cancels or ends it. */
  invite(call: RawInvite): { final: Promise<SipMessage>; cancel: () => void; bye: () => void } {
    const branch = `z9hG4bKraw${String(++branches)}`;
    const sdp = [
      'v=0',
      'o=- 1 1 IN IP4 127.0.0.1',
      's=-',
      'c=IN IP4 127.0.0.1',
      't=0 0',
      `m=audio 40000 RTP/AVP ${call.payloads}`,
      '',
    ].join('\r\n');
    this.#send('INVITE', call, branch, { body: sdp });
    const isMine = (message: SipMessage): boolean =>
      message.kind === 'response' &&
      message.headers.get('via')?.includes(`branch=${branch};`) === true &&
      message.headers.get('cseq') === `${String(call.sequence)} INVITE`;
    const final = expect
      .poll(
        () => this.got.find((message) => isMine(message) && message.kind === 'response' && message.status >= 200),
        PATIENCE,
      )
      .toBeDefined()
      .then(() => {
        const found = this.got.findLast(isMine) as SipMessage & { status: number };
        const toTag = tagOf(found, 'to') ?? '';
        this.#send('ACK', call, found.status < 300 ? `${branch}ack` : branch, { toTag });
        return found;
      });
    return {
      final,
      cancel: () => this.#send('CANCEL', call, branch, {}),
      bye: () => {
        const toTag = tagOf(this.got.findLast(isMine) as SipMessage, 'to') ?? '';
        this.#send('BYE', { ...call, sequence: call.sequence + 1 }, `${branch}bye`, { toTag });
      },
    };
  }

  /** Resolves when a status has come for an INVITE of this Call-ID and tag. */
  async hears(status: number, { callId, fromTag }: Pick<RawInvite, 'callId' | 'fromTag'>): Promise<void> {
    const isIt = (message: SipMessage): boolean =>
      message.kind === 'response' &&
      message.status === status &&
      message.headers.get('call-id') === callId &&
      tagOf(message, 'from') === fromTag;
    await expect.poll(() => this.got.some(isIt), PATIENCE).toBe(true);
  }

  close(): void {
    this.#socket.close();
  }

  #send(
    method: string,
    { callId, fromTag, sequence, to }: RawInvite,
    branch: string,
    { toTag, body = '' }: { toTag?: string; body?: string },
  ): void {
    const { port } = this.#socket.address();
    const text = [
      `${method} sip:${to}@127.0.0.1:${String(this.#toPort)} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${String(port)};branch=${branch};rport`,
      'Max-Forwards: 70',
      `From: <sip:+12025550177@127.0.0.1>;tag=${fromTag}`,
      `To: <sip:${to}@127.0.0.1>${toTag === undefined ? '' : `;tag=${toTag}`}`,
      `Call-ID: ${callId}`,
      `CSeq: ${String(sequence)} ${method}`,
      `Contact: <sip:raw@127.0.0.1:${String(port)}>`,
      ...(body === '' ? [] : ['Content-Type: application/sdp']),
      `Content-Length: ${String(body.length)}`,
      '',
      body,
    ].join('\r\n');
    this.#socket.send(text, this.#toPort, '127.0.0.1');
  }
}
