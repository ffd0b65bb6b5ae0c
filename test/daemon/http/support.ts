import Fastify from 'fastify';
import type * as z from 'zod';
import { RealClock } from '../../../src/base/real-clock.js';
import { Access } from '../../../src/daemon/http/access.js';
import { Api } from '../../../src/daemon/http/api.js';
import type { Endpoint, Shape } from '../../../src/daemon/http/endpoint.js';
import { Forwarder } from '../../../src/daemon/http/forwarder.js';
import { NodePasses } from '../../../src/daemon/http/node-pass.js';
import { errorReplies } from '../../../src/daemon/http/replies.js';
import { Clients } from '../../../src/daemon/http/clients.js';
import { SessionTokens } from '../../../src/daemon/http/session-tokens.js';
import { ThisNode } from '../../../src/daemon/nodes/this-node.js';
import { KEY_SCOPES, type StoredKey } from '../../../src/store/keys.js';
import { MemoryTokenUses } from '../../../src/store/token-uses.js';

const KEY: StoredKey = {
  id: '1',
  kind: 'private',
  name: 'test',
  hint: 'test',
  createdAt: 0,
  agents: [],
  origins: [],
  scopes: KEY_SCOPES,
  ofEnvironment: false,
};

/** An app with one endpoint; the key is `sk`. Asked without a network. */
export function appWith<P extends Shape, Q extends Shape, B extends z.ZodType, R extends z.ZodType>(
  endpoint: Endpoint<P, Q, B, R>,
) {
  const app = Fastify();
  app.setErrorHandler(errorReplies(() => undefined));
  const clients = new Clients({ trustedProxies: [], forwardedHeader: 'x-forwarded-for' });
  const access = new Access({
    keys: { find: (key) => (key === 'sk' ? KEY : null), get: () => KEY, latest: async () => KEY, list: () => [KEY] },
    tokens: new SessionTokens({ keys: [Buffer.alloc(32)], uses: new MemoryTokenUses(() => 0), nowUnixMs: () => 0 }),
    clients,
    publicUrl: null,
    allowedOrigins: [],
    allowMissingOrigin: null,
    ownPublicKeys: new Set(),
    loopback: true,
  });
  const node = new ThisNode();
  const clock = new RealClock();
  const passes = new NodePasses({ node, keys: [Buffer.alloc(32)], nowUnixMs: () => 0, access, clients });
  const nodes = { addressOf: () => Promise.resolve(null) };
  const api = new Api(app, { access, passes, forwarder: new Forwarder({ node, nodes, passes, clock }) });
  api.add(endpoint);
  return { app, api };
}
