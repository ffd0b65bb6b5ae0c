import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import { refuseUpgrade } from '../../net/refuse-upgrade.js';
import { type OpenedTransport, type TransportHost, transportsOf } from '../../plugins/plugin.js';
import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import type { WebSessions } from './web-sessions.js';

/** Lines that plug-ins bring. Their sessions are in the call log, and count like those of the talk socket. */
export function pluginTransports(
  { engine, admission, settings, faults }: DaemonContext,
  { app, upgrades }: Pick<HttpModule, 'app' | 'upgrades'>,
  webSessions: WebSessions,
): DaemonModule {
  const makers = transportsOf(engine.options.plugins ?? []);
  const opened = new Map<string, OpenedTransport>();
  const onError = (error: unknown): void => faults.report(errorOf(error));

  const begin: TransportHost['begin'] = async (line, { agentId, agentConfig, metadata }) => {
    admission.enter();
    webSessions.checkRoom();
    const agent = { id: agentId, config: agentConfig, place: ['agentConfig'] };
    const session = await webSessions.begin(await webSessions.requested(null, agent, { metadata }), line, 'talk');
    session.run().catch(onError);
    return session;
  };

  return {
    name: 'plug-in transports',
    routes: () => {
      for (const [name] of makers) {
        const path = `/transports/${name}/`;
        app.route({
          method: ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'],
          url: `${path}*`,
          // Before the server reads the body: the transport does so.
          onRequest: ({ raw }, reply, done) => {
            const transport = opened.get(name);
            if (transport?.handler === undefined) {
              done(new ParleyError('ROUTE_UNKNOWN', { method: raw.method ?? '', path }));
              return;
            }
            reply.hijack();
            transport.handler(raw, reply.raw);
          },
          handler: (_request, reply) => reply,
        });
        upgrades.at(
          (asked) => asked.startsWith(path),
          ({ request, socket, head }) => {
            const transport = opened.get(name);
            if (transport?.upgrade !== undefined) transport.upgrade(request, socket, head);
            else refuseUpgrade(socket, new ParleyError('ROUTE_UNKNOWN', { method: 'WebSocket', path }));
          },
        );
      }
    },
    warmUp: async () => {
      const { clock, ticker } = engine;
      for (const [name, make] of makers) {
        try {
          opened.set(name, await make({ clock, ticker, publicUrl: settings.publicUrl, begin, onError }));
        } catch (error) {
          const reason = `it cannot be opened: ${reasonOf(error)}`;
          throw new ParleyError('PLUGIN_INVALID', { file: `with the transport ${name}`, reason }, { cause: error });
        }
      }
    },
    close: async () => {
      const open = [...opened.values()];
      opened.clear();
      for (const transport of open) await transport.close();
    },
  };
}
