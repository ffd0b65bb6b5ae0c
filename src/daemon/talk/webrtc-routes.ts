import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { AdmissionControl } from '../admission-control.js';
import type { Access } from '../http/access.js';
import type { Api } from '../http/api.js';
import type { CallOwners } from '../nodes/call-owners.js';
import { ParleyError } from '../../base/errors.js';
import { versionPinSchema } from '../agents/requested-agent.js';
import { faultAt } from '../http/replies.js';
import { type WebSessions, sessionFieldsShape } from './web-sessions.js';
import type { WebRtcCalls } from './webrtc-calls.js';

export interface WebRtcRoutesOptions {
  calls: WebRtcCalls;
  webSessions: WebSessions;
  access: Access;
  admission: Pick<AdmissionControl, 'enter'>;
  owners: Pick<CallOwners, 'ofRunning'>;
}

const description = z.strictObject({ sdp: z.string(), type: z.string() });
const body = z
  .strictObject({
    offer: z.strictObject({
      sdp: z.string().describe('Opus audio in both directions, with all candidates; at most 64 kB and 32 sections.'),
      type: z.literal('offer'),
    }),
    agent_id: z.string().min(1).max(200),
    agent_version: versionPinSchema.nullish(),
    session_id: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .describe('A running session over WebRTC whose connection this offer changes (ICE restart).'),
    ...sessionFieldsShape,
  })
  .refine(
    ({ session_id: id, agent_version: version, ...beginning }) => id == null || (version == null && isBare(beginning)),
    {
      path: ['session_id'],
      error: 'Input should be null for a new session; the other members are for new sessions only',
    },
  )
  .meta({ id: 'WebRtcOffer' });
const answer = z.strictObject({ answer: description.meta({ id: 'SessionDescription' }) });

/** A session description such as browsers make. @param setup the DTLS role, RFC 8842 section 4 */
function exampleSdp(setup: 'actpass' | 'active'): string {
  const lines = [
    'v=0',
    'o=- 4611731400430051336 2 IN IP4 127.0.0.1',
    's=-',
    't=0 0',
    'a=group:BUNDLE 0',
    'm=audio 9 UDP/TLS/RTP/SAVPF 111',
    'c=IN IP4 0.0.0.0',
    'a=candidate:1 1 udp 2116026367 192.0.2.2 50811 typ host',
    'a=end-of-candidates',
    'a=ice-ufrag:4cae',
    'a=ice-pwd:8138d8cf011b666bbb7bea12',
    'a=fingerprint:sha-256 FF:20:85:E6:B7:DC:28:B9:AA:34:8A:A6:59:C1:45:72:85:25:97:16:45:60:03:33:F4:54:0B:31:4A:2B:A7:6E',
    `a=setup:${setup}`,
    'a=mid:0',
    'a=sendrecv',
    'a=rtcp-mux',
    'a=rtpmap:111 opus/48000/2',
    'a=fmtp:111 minptime=10;useinbandfec=1',
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

function isBare(beginning: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(sessionFieldsShape).every((field) => beginning[field] == null);
}

/**
 * `POST /webrtc/offer`: answers a browser's offer. The session starts when the connection is open. docs/webrtc.md
 * describes the details.
 */
export function webRtcRoutes(api: Api, { calls, webSessions, access, admission, owners }: WebRtcRoutesOptions): void {
  api.add({
    id: 'offerWebRtc',
    method: 'POST',
    scope: 'calls',
    path: '/webrtc/offer',
    tag: 'sessions',
    chapter: 'webrtc',
    body,
    answer,
    summary: 'Talk over WebRTC',
    description:
      'The header `authorization` holds a private key or a session token. The answer has all candidates. A data ' +
      'channel of the client carries the messages of the talk socket. With `session_id` no session starts, and the ' +
      'members for new sessions are refused.',
    errors: [
      ...(['NOT_FOUND', 'AGENT_DISABLED', 'SESSIONS_FULL', 'DAEMON_DRAINING', 'NODE_UNREACHABLE'] as const),
      ...(['OFFER_INVALID', 'RTP_PORTS_FULL'] as const),
    ],
    gate: async (request: FastifyRequest) => {
      if (access.keyOf(request)?.kind === 'private') access.privateKey(request, 'calls');
      else await access.tokenHolder(request.raw);
    },
    examples: () => ({
      body: { agent_id: 'the-crooked-fork', offer: { type: 'offer', sdp: exampleSdp('actpass') } },
      answer: { answer: { type: 'answer', sdp: exampleSdp('active') } },
    }),
    owner: ({ body: { session_id: id } }) => (id == null ? null : owners.ofRunning(id)),
    handle: async ({ request, body: { offer, agent_id: id, agent_version, session_id: sessionId, ...fields } }) => {
      const key = access.identityOf(request.raw).holder;
      if (sessionId == null) admission.enter();
      try {
        const sdp = await (sessionId == null
          ? calls.begin(
              key,
              await webSessions.requested(key, { id, version: agent_version ?? null }, fields),
              offer.sdp,
            )
          : calls.change(key, id, sessionId, offer.sdp));
        return { answer: { type: 'answer', sdp } };
      } catch (error) {
        const isOffer = error instanceof ParleyError && error.code === 'OFFER_INVALID';
        throw faultAt(isOffer ? ['body', 'offer', 'sdp'] : ['body', 'agent_id'], error);
      }
    },
  });
}
