import type { WebhookEndpoint } from '../../../src/telephony/carriers/media-socket/webhook-endpoint.js';
import type { MediaSocket } from '../../../src/telephony/carriers/media-socket/media-socket.js';
import { ParleyError } from '../../../src/base/errors.js';

/** How a double reaches the daemon: in the process, or over HTTP. */
export interface Doorway {
  /** Rejects where anything but 200 is answered. */
  post(url: string, body: string, headers: Record<string, string>): Promise<string>;
  /** Null = the upgrade was refused. */
  open(url: string, headers: Record<string, string>): Promise<MediaSocket | null>;
}

/** The door of a carrier in this process. */
export function doorwayTo(
  door: () => WebhookEndpoint,
  publicUrl: string,
  open: () => [MediaSocket, MediaSocket],
): Doorway {
  const pathOf = (url: string): string => url.replace(/^ws/, 'http').slice(publicUrl.length);
  return {
    post: async (url, body, headers) => {
      const path = pathOf(url);
      const reply = await door().request({ method: 'POST', path, headers, body: Buffer.from(body) });
      if (reply.status !== 200) throw new ParleyError('CONFIG_INVALID', { reason: `${url}: ${String(reply.status)}` });
      return reply.body;
    },
    open: (url, headers) => {
      const take = door().admit({ path: pathOf(url), headers });
      if (take === null) return Promise.resolve(null);
      const [near, far] = open();
      take(near);
      return Promise.resolve(far);
    },
  };
}
