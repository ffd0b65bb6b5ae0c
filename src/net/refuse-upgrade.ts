import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ParleyError } from '../base/errors.js';

/**
 * Answers a request for a WebSocket with an error and closes the connection.
 * @param error with the daemon's form of errors, or a status and a body of its own
 */
export function refuseUpgrade(socket: Duplex, error: ParleyError | { status: number; body: unknown }): void {
  const isOurs = error instanceof ParleyError;
  const status = isOurs ? error.httpStatus : error.status;
  const body = JSON.stringify(isOurs ? { detail: error.message, code: error.code } : error.body);
  socket.end(
    `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\nconnection: close\r\n` +
      `content-type: application/json\r\ncontent-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
  );
}
