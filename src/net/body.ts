import { ParleyError } from '../base/errors.js';

/**
 * Reads a whole response body. Stops at `maxBytes`, which destroys the body and its connection.
 * @throws ParleyError NET_TOO_LARGE
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
