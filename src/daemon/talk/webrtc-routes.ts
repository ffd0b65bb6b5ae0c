import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import type { AdmissionControl } from '../admission-control.js';
import { type Access, bearer, type PublicKey } from '../http/access.js';
import type { Api } from '../http/api.js';
import { ParleyError } from '../../base/errors.js';
import { faultAt } from '../http/replies.js';
import { type WebSessions, sessionFieldsShape } from './web-sessions.js';
import type { WebRtcCalls } from './webrtc-calls.js';

export interface WebRtcRoutesOptions {
  calls: WebRtcCalls;
  webSessions: WebSessions;
  access: Access;
  admission: Pick<AdmissionControl, 'enter'>;
}

const description = z.strictObject({ sdp: z.string(), type: z.string() });
const body = z
  .strictObject({
    offer: z.strictObject({
      sdp: z.string().describe('Opus audio in both directions, with all candidates; at most 64 kB and 32 sections.'),
      type: z.literal('offer'),
    }),
    agent_id: z.string().min(1).max(200),
    session_id: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .describe('A session over WebRTC that goes on: the offer is another one of its connection (ICE restart).'),
    ...sessionFieldsShape,
  })
  .refine(({ session_id: id, ...beginning }) => id == null || isBare(beginning), {
    path: ['session_id'],
    error: 'Input should be null where a session is to begin, with all the rest',
  })
  .meta({ id: 'WebRtcOffer' });
const answer = z.strictObject({ answer: description.meta({ id: 'SessionDescription' }) });

function isBare(beginning: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(sessionFieldsShape).every((field) => beginning[field] == null);
}

/**
 * `POST /webrtc/offer`: a browser's offer is answered, and its session begins when the connection is there.
 * docs/webrtc.md tells the rest.
 */
export function webRtcRoutes(api: Api, { calls, webSessions, access, admission }: WebRtcRoutesOptions): void {
  const tokenKeys = new WeakMap<IncomingMessage, PublicKey>();

  api.add({
    id: 'offerWebRtc',
    method: 'POST',
    path: '/webrtc/offer',
    tag: 'sessions',
    chapter: 'webrtc',
    body,
    answer,
    summary: 'Talk over WebRTC',
    description:
      'The header `authorization` holds a private key, or a session token. The answer has all candidates in it. ' +
      'A data channel of the client carries the messages of the talk socket. With `session_id` nothing begins, ' +
      'and the members that say how it is to begin are refused.',
    errors: ['NOT_FOUND', 'AGENT_DISABLED', 'SESSIONS_FULL', 'DAEMON_DRAINING', 'OFFER_INVALID', 'RTP_PORTS_FULL'],
    gate: (request: FastifyRequest) => {
      if (access.keyOf(request)?.kind === 'private') return;
      const caller = access.callerOf(request.raw);
      tokenKeys.set(request.raw, access.tokenHolder(bearer(request.headers.authorization), caller));
    },
    handle: async ({ request, body: { offer, agent_id: id, session_id: sessionId, ...fields } }) => {
      const key = tokenKeys.get(request.raw) ?? null;
      if (sessionId == null) admission.enter();
      try {
        const sdp = await (sessionId == null
          ? calls.begin(key, webSessions.requested(key, { id }, fields), offer.sdp)
          : calls.change(key, id, sessionId, offer.sdp));
        return { answer: { type: 'answer', sdp } };
      } catch (error) {
        const isOffer = error instanceof ParleyError && error.code === 'OFFER_INVALID';
        throw faultAt(isOffer ? ['body', 'offer', 'sdp'] : ['body', 'agent_id'], error);
      }
    },
  });
}
