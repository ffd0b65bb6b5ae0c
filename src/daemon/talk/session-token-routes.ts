import * as z from 'zod';
import type { AdmissionControl } from '../admission-control.js';
import type { Access } from '../http/access.js';
import type { Api } from '../http/api.js';
import type { SessionTokens } from '../http/session-tokens.js';

const iceServer = z
  .strictObject({ urls: z.string(), username: z.string().exactOptional(), credential: z.string().exactOptional() })
  .meta({ id: 'IceServer', description: 'An entry of `iceServers` of RTCPeerConnection.' });
const answer = z
  .strictObject({
    token: z.string(),
    expires_at: z.int().describe('Unix seconds'),
    ice_servers: z.array(iceServer).describe("The operator's STUN and TURN servers, for `POST /webrtc/offer`."),
  })
  .meta({ id: 'SessionToken', description: 'Opens one session.' });

export interface SessionTokenRoutesOptions {
  access: Access;
  tokens: SessionTokens;
  admission: Pick<AdmissionControl, 'enter'>;
  iceServers: readonly z.output<typeof iceServer>[];
}

/**
 * `POST /sessions/token`: exchanges a public key in `authorization`, from an allowed origin, for a token for one session
 * and the ICE servers for WebRTC. Clients without access do not get the credentials of the operator's relays.
 */
export function sessionTokenRoutes(
  api: Api,
  { access, tokens, admission, iceServers }: SessionTokenRoutesOptions,
): void {
  api.add({
    id: 'createSessionToken',
    method: 'POST',
    path: '/sessions/token',
    tag: 'sessions',
    summary: 'A token for one session',
    answer,
    description:
      'The header `authorization` holds a public key. The token is valid once, for 60 s, with the rights of the key.',
    gate: (request) => void access.publicKey(request.raw),
    errors: ['DAEMON_DRAINING'],
    examples: () => ({
      answer: {
        token: 'st_example_QvYNgktjDfdWPEsAyms6',
        expires_at: 1_795_448_150,
        ice_servers: [{ urls: 'turn:turn.example.com:3478', username: 'parley', credential: 'example' }],
      },
    }),
    handle: ({ request }) => {
      admission.enter();
      const { token, expiresAt } = tokens.mint(access.publicKey(request.raw));
      return { token, expires_at: expiresAt, ice_servers: [...iceServers] };
    },
  });
}
