import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { type MediaSocket, mediaSocketOf } from '../../../src/telephony/carriers/media-socket/media-socket.js';
import type { Rest } from '../../../src/telephony/carriers/media-socket/rest.js';
import type { Clock } from '../../../src/base/clock.js';
import type { Doorway } from './doorway.js';

/** A double's API over HTTP, on a port of loopback. Requests without the right credentials are refused (401). */
export async function serveRest(
  rest: Rest,
  authorization: string,
): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, reply) => {
    void (async () => {
      const body = await textOf(request);
      if (request.headers.authorization !== authorization) {
        reply.writeHead(401, { 'content-type': 'application/json' }).end('{"code":20003,"message":"Authenticate"}');
        return;
      }
      const isForm = request.headers['content-type'] === 'application/x-www-form-urlencoded';
      const answer = await rest(
        {
          method: request.method as 'GET' | 'POST' | 'DELETE',
          path: request.url ?? '',
          ...(isForm && { form: [...new URLSearchParams(body)] }),
          ...(!isForm && body !== '' && { json: JSON.parse(body) as object }),
        },
        new AbortController().signal,
      );
      reply.writeHead(answer.status, { 'content-type': 'application/json' });
      reply.end(answer.status === 204 ? undefined : JSON.stringify(answer.body));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * The way from a carrier to a daemon behind a proxy: what is asked of `publicUrl` over TLS comes to `address` without.
 */
export function proxiedDoorway(clock: Clock, publicUrl: string, address: () => string): Doorway {
  const inside = (url: string): string => {
    const [, rest] = new RegExp(`^(?:https|wss)${publicUrl.slice('https'.length)}(/.*)$`).exec(url) ?? [];
    if (rest === undefined) throw new Error(`${url} is not below ${publicUrl}`);
    return address() + rest;
  };
  return {
    post: async (url, body, headers) => {
      const reply = await fetch(inside(url), { method: 'POST', headers, body });
      if (!reply.ok) throw new Error(`${url}: ${String(reply.status)} ${await reply.text()}`);
      return reply.text();
    },
    open: async (url, headers): Promise<MediaSocket | null> => {
      const socket = new WebSocket(inside(url).replace(/^http/, 'ws'), { headers, perMessageDeflate: false });
      const isOpen = await new Promise<boolean>((resolve) => {
        socket.once('open', () => {
          socket.pause();
          resolve(true);
        });
        socket.once('error', () => resolve(false));
      });
      return isOpen ? mediaSocketOf(socket, clock) : null;
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
