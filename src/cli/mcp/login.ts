import { setTimeout as pause } from 'node:timers/promises';
import { ParleyError } from '../../base/errors.js';
import { encodeUrlText } from '../../base/url-text.js';
import type { CommandIo } from '../shared/command.js';
import type { DaemonClient } from '../shared/daemon-client.js';

/** A server, from `GET /mcp/servers`. */
interface Server {
  server: string;
  url: string;
  state: 'open' | 'authorized' | 'needed';
  scopes: readonly string[];
  wanted: readonly string[] | null;
}

const LOOK_MS = 1_000;
/** The daemon forgets an authorization that was begun ten minutes ago. */
const WAIT_MS = 600_000;

/** Has an operator authorize parley at an MCP server, and waits until that is done. Returns the exit code. */
export async function login(server: string, client: DaemonClient, io: CommandIo): Promise<number> {
  const { url } = (await client.ask('POST', `/mcp/servers/${encodeUrlText(server)}/authorize`)) as { url: string };
  io.stdout.write(`${url}\n`);
  io.stderr.write('Open this address in a browser and agree there.\n');
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += LOOK_MS) {
    const found = (await listed(client)).find((one) => one.server === server);
    if (found?.state === 'authorized') {
      io.stderr.write(`parley is authorized at ${server}${scopeText(found.scopes)}\n`);
      return 0;
    }
    await pause(LOOK_MS, undefined, { signal: io.signal }).catch(() => undefined);
    if (io.signal.aborted) throw io.signal.reason as Error;
  }
  throw new ParleyError('MCP_AUTHORIZATION', { server, reason: 'nobody has agreed within ten minutes' });
}

/** Forgets the tokens of an MCP server. Returns the exit code. */
export async function logout(server: string, client: DaemonClient, io: CommandIo): Promise<number> {
  const path = `/mcp/servers/${encodeUrlText(server)}/authorization`;
  const { success } = (await client.ask('DELETE', path)) as { success: boolean };
  io.stderr.write(
    success ? `the authorization at ${server} is forgotten\n` : `parley was not authorized at ${server}\n`,
  );
  return 0;
}

/** Lists the MCP servers that the daemon reaches over HTTP. Returns the exit code. */
export async function listServers(client: DaemonClient, io: CommandIo, isJson: boolean): Promise<number> {
  const servers = await listed(client);
  if (isJson) io.stdout.write(`${JSON.stringify(servers)}\n`);
  else if (servers.length === 0)
    io.stderr.write('no MCP servers over HTTP; those over stdio need no authorization and are not listed\n');
  else for (const one of servers) io.stdout.write(`${lineOf(one)}\n`);
  return 0;
}

async function listed(client: DaemonClient): Promise<readonly Server[]> {
  return (await client.ask('GET', '/mcp/servers')) as readonly Server[];
}

function lineOf({ server, url, state, scopes, wanted }: Server): string {
  const what = wanted === null ? scopeText(scopes) : scopeText(wanted);
  return `${server}  ${url}  ${state === 'needed' ? 'needs authorization' : state}${what}`;
}

function scopeText(scopes: readonly string[]): string {
  return scopes.length === 0 ? '' : ` for ${scopes.join(', ')}`;
}
