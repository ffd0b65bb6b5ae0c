import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { loadOpus } from '../../audio/opus.js';
import type { Clock } from '../../clock/clock.js';
import { reasonOf } from '../../errors.js';
import { checkOffer } from '../../transports/webrtc/offer.js';
import type { PeerSettings, WebRtcPeer } from '../../transports/webrtc/peer.js';
import { type Access, bearer, type PublicKey } from '../access.js';
import type { Api } from '../api/api.js';
import type { Doors } from '../doors.js';
import { type Visitors, wishShape } from '../visitors.js';

export interface WebRtcRoutesOptions {
  visitors: Visitors;
  access: Access;
  doors: Doors;
  clock: Clock;
  peers: PeerSettings;
  onError: (error: Error) => void;
}

const description = z.strictObject({ sdp: z.string(), type: z.string() });
const body = z
  .strictObject({
    offer: z.strictObject({
      sdp: z.string().describe('Opus audio in both directions, with all candidates; at most 64 kB and 32 sections.'),
      type: z.literal('offer'),
    }),
    agent_id: z.string().min(1).max(200),
    ...wishShape,
  })
  .meta({ id: 'WebRtcOffer' });
const answer = z.strictObject({ answer: description.meta({ id: 'SessionDescription' }) });

/** `POST /webrtc/offer`: a browser's offer is answered, and its session begins when the connection is there. */
export function webRtcRoutes(api: Api, options: WebRtcRoutesOptions): void {
  const { visitors, access, doors, clock, peers, onError } = options;
  const visitorsKeys = new WeakMap<IncomingMessage, PublicKey>();

  api.add({
    ...{ method: 'POST', path: '/webrtc/offer', tag: 'sessions', header: 'required', body, answer },
    summary: 'Talk over WebRTC',
    description:
      'The header `authorization` holds a private key, or a session token. The answer has all candidates in it. ' +
      'A data channel of the client carries the messages of the talk socket.',
    errors: ['NOT_FOUND', 'AGENT_DISABLED', 'SESSIONS_FULL', 'DAEMON_DRAINING', 'OFFER_INVALID'],
    gate: (request: FastifyRequest) => {
      if (access.keyOf(request)?.kind === 'private') return;
      const { headers } = request;
      const caller = { origin: headers.origin, host: headers.host };
      visitorsKeys.set(request.raw, visitors.enter(bearer(headers.authorization), caller));
    },
    handle: async ({ request, body: { offer, agent_id: id, ...wishes } }) => {
      doors.enter();
      checkOffer(offer.sdp);
      visitors.room();
      const wanted = visitors.wanted(visitorsKeys.get(request.raw) ?? null, { id }, wishes);
      // Loaded late: most daemons' first call is no WebRTC call.
      const [{ WeriftPeer }, { WebRtcTransport }, opus] = await Promise.all([
        import('../../transports/webrtc/werift-peer.js'),
        import('../../transports/webrtc/webrtc-transport.js'),
        loadOpus(),
      ]);
      const peer: WebRtcPeer = new WeriftPeer(peers, clock);
      const transport = new WebRtcTransport({ peer, opus, clock });
      try {
        const answering = peer.answer(offer.sdp);
        answering.catch(() => undefined); // is waited for below
        const session = await visitors.begin(wanted, transport, 'webrtc');
        const sdp = await answering.catch(async (error: unknown) => {
          await visitors.abandon(session, reasonOf(error));
          throw error;
        });
        // Nobody would hear its first words before.
        void transport.connected
          .then(
            () => session.run(),
            (error: unknown) => visitors.abandon(session, reasonOf(error)),
          )
          .catch(onError);
        return { answer: { type: 'answer', sdp } };
      } catch (error) {
        await transport.close();
        throw error;
      }
    },
  });
}
