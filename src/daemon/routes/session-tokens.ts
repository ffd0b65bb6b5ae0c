import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { parseWith } from '../../config/issues.js';
import type { SessionTokenReply } from '../../transports/talk-protocol.js';
import type { Access } from '../access.js';
import type { SessionTokens } from '../session-tokens.js';

/** There is nothing to say in it yet; no body at all is the usual one. */
const bodySchema = z.strictObject({});

/** `POST /sessions/token`: a public key in `authorization`, from an allowed origin, gets a token for one session. */
export function sessionTokenRoutes(app: FastifyInstance, access: Access, tokens: SessionTokens): void {
  app.post('/sessions/token', {
    // Before the body is read: who may not ask is not told what is wrong with the question.
    onRequest: (request, _reply, done) => {
      access.publicKey((request.headers.authorization ?? '').replace(/^Bearer +/i, '').trim());
      access.origin(request.headers.origin, request.headers.host);
      done();
    },
    handler: (request): SessionTokenReply => {
      parseWith(bodySchema, request.body ?? {}, ['body']);
      const { token, expiresAt } = tokens.mint();
      return { token, expires_at: expiresAt };
    },
  });
}
