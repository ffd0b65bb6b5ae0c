import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ParleyError } from '../base/errors.js';
import { refuseUpgrade } from '../net/refuse-upgrade.js';
import { Daemon, type DaemonOptions } from './daemon.js';

/** For `app.register(parley, …)`. The setting `basePath` is Fastify's prefix, and `warmUp` false by default. */
export interface ParleyPluginOptions extends DaemonOptions {
  /** Where the daemon's paths begin, such as `/parley`. Default: everything that no route of the application has. */
  prefix?: string;
  /** Called with the daemon once it is open. */
  onOpen?: (daemon: Daemon) => void;
}

/** What the plug-in uses of a Fastify instance, of any version 5 and with any types of its own. */
export interface FastifyScope {
  readonly server: object;
  readonly prefix: string;
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: never, payload: never, done: (error: Error | null) => void) => void,
  ): unknown;
  addHook(name: 'preClose', hook: () => Promise<void>): unknown;
  readonly supportedMethods: readonly string[];
  route(options: { method: string | string[]; url: string; handler: (request: never, reply: never) => void }): unknown;
}

/**
 * A daemon as a plug-in of Fastify 5, in a scope of its own: hooks of the application run for its requests, parsers of
 * bodies do not. Other WebSockets of the application, such as those of @fastify/websocket, go on. The daemon closes with
 * the application.
 * @throws as `Daemon.open`; ParleyError CONFIG_INVALID if the settings have another `basePath` than the prefix
 */
export async function parley(
  app: FastifyScope,
  { prefix: _prefix, onOpen, ...options }: ParleyPluginOptions,
): Promise<void> {
  const basePath = app.prefix.replace(/\/$/, '') || '/';
  const { basePath: given = basePath } = options.settings ?? {};
  if (given !== basePath) {
    const reason = `basePath is ${given}, but the prefix of the plug-in is ${basePath}: leave basePath out`;
    throw new ParleyError('CONFIG_INVALID', { reason });
  }
  // Fastify gives a plug-in ten seconds; engines may need longer.
  const daemon = await Daemon.open({ warmUp: false, ...options, settings: { ...options.settings, basePath } });
  takeUpgrades(app.server as Server, daemon);
  app.addHook('preClose', () => daemon.close());
  // The daemon reads bodies itself.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  for (const url of ['/', '/*']) {
    app.route({
      method: [...app.supportedMethods],
      url,
      handler: ({ raw }: { raw: IncomingMessage }, reply: { raw: ServerResponse; hijack(): unknown }) => {
        reply.hijack();
        daemon.handler(raw, reply.raw);
      },
    });
  }
  onOpen?.(daemon);
}

/**
 * Gives the daemon its sockets before any listener sees them: @fastify/websocket would also give them to the routes, and
 * `ws` would refuse them.
 */
function takeUpgrades(server: Server, daemon: Daemon): void {
  const emit = server.emit.bind(server) as (...event: unknown[]) => boolean;
  server.emit = (name: string, ...values: unknown[]): boolean => {
    const [request, socket, head] = values as [IncomingMessage, Duplex, Buffer];
    return (name === 'upgrade' && daemon.upgrade(request, socket, head)) || emit(name, ...values);
  };
  // Node emits the event only if it has a listener.
  server.on('upgrade', (request, socket) => {
    if (server.listenerCount('upgrade') > 1) return;
    socket.on('error', () => socket.destroy());
    const path = request.url?.split('?')[0] ?? '';
    refuseUpgrade(socket, new ParleyError('ROUTE_UNKNOWN', { method: 'WebSocket', path }));
  });
}
