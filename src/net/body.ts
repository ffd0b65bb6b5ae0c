import { ParleyError } from '../base/errors.js';

/**
 * The whole of a reply's body. Leaves at `maxBytes`, which destroys the body and with it the connection.
 * @throws ParleyError NET_TOO_LARGE.
 */
export async function readBody(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new ParleyError('NET_TOO_LARGE', { maxBytes });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
