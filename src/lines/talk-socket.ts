import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import * as z from 'zod';
import { continuationSchema, type SessionContinuation } from '../agent/continuation.js';
import type { Clock } from '../base/clock.js';
import { errorOf, type ParleyError } from '../base/errors.js';
import { refuseUpgrade } from '../net/refuse-upgrade.js';
import { parseWith } from '../schema/issues.js';
import type { CallAgent } from '../telephony/calls/call-agent.js';
import { headersOf } from '../telephony/carriers/media-socket/webhook-endpoint.js';
import { type TalkClient, TalkClients } from '../transports/talk-clients.js';
import type { TalkSocketTransport } from '../transports/talk-socket.js';
import { DirectCall, DirectCalls } from './direct-call.js';
import { SwitchedLine, type IncomingCall, type Line, type LineOptions } from './line.js';

export interface TalkSocketLineOptions extends LineOptions {
  /** Path of the socket. Default `/talk`. */
  path?: string | undefined;
  /** How far ahead of real time audio is sent, in milliseconds, 0 to 2000. Default 0. */
  leadMs?: number | undefined;
}

/** What a client has sent as its first message. Nothing of it is proven. */
export interface TalkInvitation {
  /** The client's request for the socket, with its URL, cookies and address. */
  readonly request: IncomingMessage;
  /** The agent that it asks for; null = none. */
  readonly agentId: string | null;
  /** Its key or token; empty = none. */
  readonly key: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly includeMetadataInPrompt: boolean;
  /** The session that it wants to continue. */
  readonly continuation: SessionContinuation | null;
}

/** `from` is the client's address, `to` the id of the agent that it asks for. */
export type TalkCall = IncomingCall & TalkInvitation;

/** Calls of browsers and apps over WebSockets: the protocol of docs/talk-socket.md. */
export interface TalkSocketLine extends Line<TalkCall> {
  /** Takes a request for a WebSocket, if it is for this path. Returns whether it is. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
}

const initiateSchema = z.strictObject({
  method: z.literal('initiate'),
  data: z.strictObject({
    public_key: z.string().max(500).nullish(),
    agent: z.strictObject({ agent_id: z.string().max(200).nullish() }).nullish(),
    metadata: z.record(z.string(), z.unknown()).nullish(),
    include_metadata_in_prompt: z.boolean().nullish(),
    session_continuation: continuationSchema.omit({ identifier_variable: true }).nullish(),
    background_in_pauses: z.boolean().nullish(),
  }),
});

const optionsSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\/[^?#]*$/, 'Input should be a path such as /talk')
    .optional(),
  leadMs: z.number().min(0).max(2000).optional(),
});

/** @throws ParleyError CONFIG_INVALID, ARGUMENT_INVALID without an engine */
export async function talkSocketLine(options: TalkSocketLineOptions): Promise<TalkSocketLine> {
  const { engine, mayTransfer, onError } = options;
  const { path = '/talk', leadMs = 0 } = parseWith(optionsSchema, { path: options.path, leadMs: options.leadMs });
  const inbox = new DirectCalls();
  const line: SwitchedLine<TalkCall> = new SwitchedLine({
    engine,
    mayTransfer,
    onError,
    carrier: inbox,
    hasNumbers: false,
    describe: (call) => (call as TalkDirectCall).invitation,
    beforeAnswer: (agent) => takeOver(line, agent),
    closing: () => Promise.resolve(clients.close()),
  });
  const clients = new TalkClients({ clock: engine.clock, leadMs, onError: (error) => onError?.(error) });
  const upgrade: TalkSocketLine['upgrade'] = (request, socket, head) => {
    if (request.url?.split('?')[0] !== path) return false;
    socket.on('error', () => socket.destroy());
    try {
      clients.checkRoom();
    } catch (error) {
      refuseUpgrade(socket, error as ParleyError);
      return true;
    }
    // Afterwards a closed socket has no address.
    const from = (request.socket.remoteAddress ?? '').replace(/^::ffff:/i, '');
    clients.open(request, socket, head, async (client) => {
      const call = new TalkDirectCall(client, request, { from, clock: engine.clock, onError });
      inbox.offer(call);
      await call.decided;
    });
    return true;
  };
  return Promise.resolve(Object.assign(line, { upgrade }));
}

/** A call over a talk socket, with what its client has said of itself. */
class TalkDirectCall extends DirectCall {
  declare readonly transport: TalkSocketTransport;
  readonly invitation: TalkInvitation;

  /** @throws ParleyError CONFIG_INVALID for another first message than `initiate` */
  constructor(
    { transport, initiate, signal, begun }: TalkClient,
    request: IncomingMessage,
    { from, clock, onError }: { from: string; clock: Clock; onError: LineOptions['onError'] },
  ) {
    const { data } = parseWith(initiateSchema, initiate, ['initiate']);
    const agentId = data.agent?.agent_id ?? null;
    let isBegun = false;
    super({
      clock,
      transport,
      carrier: 'talk',
      codec: 'L16',
      direction: 'inbound',
      caller: { from, to: agentId ?? '', headers: headersOf(request.headers), signal },
      connect: async () => {
        isBegun = true;
        begun();
        return Promise.resolve();
      },
      // A refused client is told why before its socket is closed.
      close: () => (isBegun ? transport.close() : Promise.resolve()),
      onError: (error) => onError?.(errorOf(error)),
    });
    transport.playsThroughPauses = data.background_in_pauses === true;
    this.invitation = {
      request,
      agentId,
      key: data.public_key ?? '',
      metadata: data.metadata ?? {},
      includeMetadataInPrompt: data.include_metadata_in_prompt === true,
      continuation: data.session_continuation ?? null,
    };
  }
}

/** A client whose connection broke continues its session: the old line ends now, so that its messages are there. */
async function takeOver(line: SwitchedLine<TalkCall>, { continuation }: CallAgent): Promise<void> {
  const lost = Array.from(line.calls).find(({ sessionId }) => sessionId === continuation?.session_id);
  if (lost === undefined) return;
  (lost.call as TalkDirectCall).transport.abandon();
  await lost.finished;
}
