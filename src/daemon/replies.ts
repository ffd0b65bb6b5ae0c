import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { InvalidConfigError } from '../config/issues.js';
import { ParleyError } from '../errors.js';

/**
 * Answers every error as the interface words it: `{detail: string}`, or for validation `{detail: [{loc, msg, type}]}`.
 * @param onFault told of what is parley's own fault; the client learns no more than that it is
 */
export function errorReplies(
  onFault: (error: Error) => void,
): (error: FastifyError | ParleyError | Error, request: FastifyRequest, reply: FastifyReply) => void {
  return (error, _request, reply) => {
    if (error instanceof InvalidConfigError) {
      void reply.code(422).send({ detail: error.issues });
      return;
    }
    if (error instanceof ParleyError) {
      if (error.httpStatus === 429) {
        void reply.header('retry-after', String(error.details['retryAfterS'] ?? error.details['seconds'] ?? 1));
      }
      void reply.code(error.httpStatus).send({ detail: error.message });
      return;
    }
    const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500;
    if (status === 413) {
      void reply.code(413).send({ detail: error.message });
    } else if (status >= 400 && status < 500) {
      const isType = 'code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE';
      const type = isType ? 'content_type_invalid' : 'request_invalid';
      void reply.code(422).send({ detail: [{ loc: ['body'], msg: error.message, type }] });
    } else {
      onFault(error);
      void reply.code(500).send({ detail: 'Something went wrong inside parley; its log says what.' });
    }
  };
}
