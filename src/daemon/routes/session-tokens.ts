import type { FastifyInstance } from 'fastify';
import type { Access } from '../access.js';
import type { SessionTokens } from '../session-tokens.js';

/** `POST /sessions/token`: a public key in `authorization`, from an allowed origin, gets a token for one session. */
export function sessionTokenRoutes(app: FastifyInstance, access: Access, tokens: SessionTokens): void {
  app.post('/sessions/token', (request) => {
    access.publicKey((request.headers.authorization ?? '').replace(/^Bearer +/i, '').trim());
    access.origin(request.headers.origin, request.headers.host);
    const { token, expiresAt } = tokens.mint();
    return { token, expires_at: expiresAt };
  });
}
