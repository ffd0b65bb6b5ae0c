import * as z from 'zod';
import { errorOf } from '../base/errors.js';
import { parseWith } from '../schema/issues.js';
import { checkOffer } from '../transports/webrtc/offer.js';
import { openWebRtc } from '../transports/webrtc/open-webrtc.js';
import type { PeerSettings } from '../transports/webrtc/peer.js';
import { answerTo, type CallerInfo, changeOf, DirectCall, DirectCalls, leftEnd } from './direct-call.js';
import { SwitchedLine, type Line, type LineOptions, withoutUnset } from './line.js';

/** The addresses and ports of connections. Default: any port of all interfaces, without STUN and TURN. */
export interface WebRtcLineOptions extends LineOptions, PeerSettings {}

/** Calls of browsers and other WebRTC clients. Your own HTTP server carries offers and answers. */
export interface WebRtcLine extends Line {
  /**
   * Takes an offer (SDP with all candidates, Opus both ways) to the handler of calls. Resolves to the answer when an
   * agent takes the call; the agent speaks once the connection is open. A data channel carries the messages of the talk
   * socket.
   * @param caller its `signal` is aborted when the caller hangs up, before the answer or later
   * @throws ParleyError OFFER_INVALID, CALL_REFUSED, RTP_PORTS_FULL; the signal's reason
   */
  accept(offer: string, caller?: CallerInfo): Promise<string>;
  /**
   * Answers another offer of a running call, whose client has changed its network.
   * @param sessionId the call's, from the message `onready`
   * @throws ParleyError NOT_FOUND, OFFER_INVALID; the call continues unchanged
   */
  change(sessionId: string, offer: string): Promise<string>;
}

const port = z.int().min(1).max(65_535);
const peerSchema = z.strictObject({
  iceServers: z
    .array(
      z.strictObject({
        urls: z.string(),
        username: z.string().exactOptional(),
        credential: z.string().exactOptional(),
      }),
    )
    .optional(),
  portRange: z.tuple([port, port]).nullable().optional(),
  addresses: z.array(z.ipv4().or(z.ipv6())).optional(),
  ipv6: z.boolean().optional(),
});

/** @throws ParleyError CONFIG_INVALID, ARGUMENT_INVALID without an engine */
export async function webRtcLine(options: WebRtcLineOptions): Promise<WebRtcLine> {
  const { engine, mayTransfer, onError, ...peers } = options;
  const { iceServers = [], portRange = null, addresses = [], ipv6 = true } = parseWith(peerSchema, withoutUnset(peers));
  const inbox = new DirectCalls();
  const line = new SwitchedLine({
    engine,
    mayTransfer,
    onError,
    carrier: inbox,
    hasNumbers: false,
    closing: () => Promise.resolve(),
  });
  const accept: WebRtcLine['accept'] = async (offer, caller) => {
    checkOffer(offer);
    caller?.signal?.throwIfAborted();
    const transport = await openWebRtc({ iceServers, portRange, addresses, ipv6 }, engine.clock);
    const answering = transport.answer(offer);
    const call = new DirectCall({
      clock: engine.clock,
      carrier: 'webrtc',
      codec: 'opus',
      direction: 'inbound',
      caller,
      transport,
      connect: () => transport.connected,
      change: (again) => transport.answer(again),
      close: async () => {
        await answering.catch(() => undefined); // closing a connection while it opens its sockets would leak them
        await transport.close();
      },
      onError: (error) => onError?.(errorOf(error)),
    });
    transport.connected.catch((error: unknown) => call.finish(leftEnd(errorOf(error))));
    return answerTo(call, inbox, answering, caller?.signal);
  };
  return Promise.resolve(Object.assign(line, { accept, change: changeOf(line) }));
}
