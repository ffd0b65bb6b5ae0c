import { createHmac } from 'node:crypto';

const HEADER_BYTES = 20;
const SIGNATURE_BYTES = 20;

/**
 * A check (RFC 8489, 5 and 14.3).
 * @param id its transaction's last bytes
 * @param password it is signed with
 * @param unsigned put behind the signature, or in its place
 */
export function bindingRequest(username: string, id: number, password: string | null, unsigned?: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(0x0001, 0);
  header.writeUInt32BE(0x2112a442, 4);
  header.writeUInt32BE(id, 16);
  // What werift needs to learn a way from a check.
  const priority = attribute(0x0024, Buffer.from([0, 0, 0, 1]));
  let request = Buffer.concat([header, attribute(0x0006, Buffer.from(username)), priority]);
  if (password !== null) {
    const length = request.length - HEADER_BYTES + 4 + SIGNATURE_BYTES;
    request.writeUInt16BE(length, 2);
    const signature = createHmac('sha1', password).update(request).digest();
    request = Buffer.concat([request, attribute(0x0008, signature)]);
  }
  if (unsigned !== undefined) request = Buffer.concat([request, unsigned]);
  request.writeUInt16BE(request.length - HEADER_BYTES, 2);
  return request;
}

/** Makes who is controlled control (RFC 8445, 7.3.1.1): its sender has the lowest of all tie-breakers. */
export const ICE_CONTROLLED = attribute(0x8029, Buffer.alloc(8));

function attribute(type: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc(4 + Math.ceil(value.length / 4) * 4);
  bytes.writeUInt16BE(type, 0);
  bytes.writeUInt16BE(value.length, 2);
  value.copy(bytes, 4);
  return bytes;
}
