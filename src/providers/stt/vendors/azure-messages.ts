import { unixNow } from '../../../clock/real.js';
import { type JsonObject, parseObject } from '../../wire/json.js';

/** The messages of Azure's speech sockets: headers like HTTP's, an empty line, a body. */
export interface AzureMessage {
  /** What it is about, in lower case. */
  path: string;
  requestId: string;
  body: JsonObject;
}

export function textMessage(path: string, requestId: string, body: object): string {
  return `${headersOf(path, requestId, 'application/json')}\r\n${JSON.stringify(body)}`;
}

/** The length of the headers in two bytes, the headers, and the audio. No audio = there is no more. */
export function audioMessage(requestId: string, audio: Buffer): Buffer {
  const headers = Buffer.from(headersOf('audio', requestId, audio.length === 0 ? null : 'audio/x-wav'), 'ascii');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(headers.length);
  return Buffer.concat([length, headers, audio]);
}

/** Null = it is no message. */
export function readMessage(text: string): AzureMessage | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const headers = new Map<string, string>();
  for (const line of text.slice(0, end).split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const path = headers.get('path');
  const rest = text.slice(end + 4).trim();
  const body = rest === '' ? {} : parseObject(rest);
  if (path === undefined || body === null) return null;
  return { path: path.toLowerCase(), requestId: headers.get('x-requestid') ?? '', body };
}

function headersOf(path: string, requestId: string, contentType: string | null): string {
  return (
    `Path: ${path}\r\nX-RequestId: ${requestId}\r\nX-Timestamp: ${new Date(unixNow()).toISOString()}\r\n` +
    (contentType === null ? '' : `Content-Type: ${contentType}\r\n`)
  );
}
