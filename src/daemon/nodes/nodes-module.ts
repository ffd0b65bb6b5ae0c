import { packageVersion } from '../../package-files.js';
import { ParleyError } from '../../base/errors.js';
import { NodeStore, type NodeReport } from '../../store/nodes.js';
import { signingKeyId } from '../../store/secret-keys.js';
import type { Settings } from '../../settings/settings.js';
import type { DaemonContext } from '../context.js';
import { prefixOf } from '../http/mount.js';
import type { DaemonModule } from '../module.js';
import { NodeGroup, type NodeGroupOptions, type Nodes, SoleNode } from './node-group.js';
import { nodeRoutes } from './node-routes.js';

/** The nodes that share a database. */
export interface NodesModule extends DaemonModule {
  readonly nodes: Nodes;
  /** Tells the others the address at which the server listens, unless the settings name another one. */
  listens: (address: string) => void;
}

/** Addresses that mean all interfaces. */
const ANY = new Set(['0.0.0.0', '::', '[::]']);

export function nodesModule(
  context: DaemonContext,
  ends: Pick<NodeGroupOptions, 'takeOver' | 'onDisowned'>,
): NodesModule {
  const { settings, database, leases, node, clock, nowUnixMs, engine, stores, admission, log, faults } = context;
  node.address = nodeAddress(settings);
  const figures = (): Omit<NodeReport, 'id' | 'address'> => ({
    version: packageVersion(),
    capacity: settings.limits.sessions,
    sessions: engine.sessions.size,
    draining: !admission.isOpen,
  });
  const nodes: Nodes =
    database.dialect === 'sqlite'
      ? new SoleNode({ node, figures, nowUnixMs })
      : new NodeGroup({
          ...ends,
          store: new NodeStore(database),
          leases,
          node,
          keys: { secret: stores.box.keyId, signing: signingKeyId(stores.signingKeys[0]) },
          clock,
          figures,
          deadAfterMs: settings.nodeTimeoutS * 1000,
          log: (message) => log.write('warn', message),
          onError: faults.report,
        });
  return {
    name: 'nodes',
    nodes,
    listens: (address) => {
      if (settings.nodeUrl === null) node.address = address;
      nodes.report();
    },
    routes: (api) => nodeRoutes(api, nodes, node),
    recover: () => nodes.join(),
    drain: () => {
      nodes.report();
      // What one node does for all, such as registrations, another one does from now on.
      if (database.dialect !== 'sqlite') void leases.close();
    },
    close: async () => {
      await nodes.leave();
      await leases.close();
    },
  };
}

/**
 * Where other nodes reach this one, as far as the settings say it; '' = where it will listen.
 * @throws ParleyError CONFIG_INVALID if they cannot know it
 */
export function nodeAddress(settings: Settings): string {
  const { nodeUrl, host, port, tlsCertPath, databaseUrl } = settings;
  const prefix = prefixOf(settings);
  if (nodeUrl !== null) {
    const { pathname, origin } = new URL(nodeUrl);
    if (pathname === '/' || pathname === prefix) return origin + prefix;
    const other = prefix === '' ? 'no path' : `the path ${prefix}, as basePath`;
    const reason = `nodeUrl (PARLEY_NODE_URL) should have ${other}, not ${pathname}: other nodes ask the daemon itself`;
    throw new ParleyError('CONFIG_INVALID', { reason });
  }
  if (databaseUrl !== null && ANY.has(host)) {
    const reason = `nodeUrl (PARLEY_NODE_URL) is needed: the address at which other nodes reach this one, such as http://10.0.0.1:${String(port)}; ${host} is none`;
    throw new ParleyError('CONFIG_INVALID', { reason });
  }
  if (port === 0) return '';
  return `http${tlsCertPath === null ? '' : 's'}://${host.includes(':') ? `[${host}]` : host}:${String(port)}${prefix}`;
}
