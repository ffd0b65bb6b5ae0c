import type { FastifyRequest } from 'fastify';
import { InvalidConfigError, type ValidationIssue } from '../../config/issues.js';

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;

/**
 * The value of a request's JSON body, undefined where there is none. Nothing is guessed: another content type, another
 * encoding than UTF-8 and text that is no JSON are faults of the body.
 * @throws InvalidConfigError with one issue
 */
export function jsonBody({ body, headers }: FastifyRequest): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim());
  if (!JSON_TYPE.test(type.toLowerCase())) {
    throw fault(`The content type should be application/json${type === '' ? '' : `, not ${type.slice(0, 100)}`}`);
  }
  const charset = parameters.map((parameter) => /^charset="?([^"]*)"?$/i.exec(parameter)?.[1]).find(Boolean);
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw fault('JSON should be encoded in UTF-8');
  return parse(textOf(body));
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw fault('The body is not UTF-8', 'json_invalid');
  }
}

/** With the place of the fault where the parser tells it, as FastAPI does. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const place = /at position (\d+)/.exec(reason)?.[1];
    const loc = place === undefined ? ['body'] : ['body', Number(place)];
    throw new InvalidConfigError([{ loc, msg: `JSON decode error: ${reason}`, type: 'json_invalid' }]);
  }
}

function fault(msg: string, type = 'content_type_invalid'): InvalidConfigError {
  const issue: ValidationIssue = { loc: ['body'], msg, type };
  return new InvalidConfigError([issue]);
}
