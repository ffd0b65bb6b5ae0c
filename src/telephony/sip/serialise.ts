import { writtenName } from './headers.js';
import type { SipMessage } from './message.js';

/** A message as bytes; `Content-Length` is that of its body, whatever the headers say. */
export function messageBytes(message: SipMessage): Uint8Array {
  const start =
    message.kind === 'request'
      ? `${message.method} ${message.uri} SIP/2.0`
      : `SIP/2.0 ${String(message.status)} ${message.reason}`;
  let head = `${start}\r\n`;
  for (const [name, value] of message.headers) {
    if (name !== 'content-length') head += `${writtenName(name)}: ${value}\r\n`;
  }
  head += `Content-Length: ${String(message.body.length)}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + message.body.length);
  bytes.write(head, 0, 'latin1');
  bytes.set(message.body, head.length);
  return bytes;
}
