import { access, constants } from 'node:fs/promises';
import { get as getHttp, type IncomingMessage } from 'node:http';
import { get as getHttps } from 'node:https';
import { delimiter, join } from 'node:path';
import type { Probe } from '../settings/detect.js';
import { readBody } from './guarded-client.js';
import { parseJson } from '../base/json.js';

/** Maximum size of a probe's reply, in bytes. */
const MAX_BYTES = 1_048_576;

/** Probes the machine and operator-configured addresses, which may be private. */
export const systemProbe: Probe = {
  async json(url, signal) {
    try {
      const reply = await get(url, signal);
      const body = await readBody(reply, MAX_BYTES);
      if (reply.statusCode !== 200) throw new Error(`status ${String(reply.statusCode)}`);
      return parseJson(body.toString('utf8'));
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  },

  async hasCommand(name) {
    const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
    const found = await Promise.all(
      folders.map((folder) =>
        access(join(folder, name), constants.X_OK).then(
          () => true,
          () => false,
        ),
      ),
    );
    return found.includes(true);
  },
};

/** Uses Node's own client on a separate connection: this runs before the server answers, and undici is slow to load. */
function get(url: string, signal: AbortSignal): Promise<IncomingMessage> {
  const start = url.startsWith('https:') ? getHttps : getHttp;
  return new Promise((resolve, reject) => {
    start(url, { agent: false, signal }, resolve).on('error', reject);
  });
}
