import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { Agent } from 'undici';
import type { Probe } from '../config/detect.js';
import { readBody } from './body.js';

/** Largest answer that a look may bring, in bytes. */
const MAX_BYTES = 1_048_576;

/** Looks at the machine and at addresses that the operator configured, which may be private ones. */
export const systemProbe: Probe = {
  async json(url, signal) {
    const { origin, pathname, search } = new URL(url);
    const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
    try {
      const reply = await agent.request({ origin, path: pathname + search, method: 'GET', signal });
      const body = await readBody(reply.body, MAX_BYTES);
      if (reply.statusCode !== 200) throw new Error(`status ${String(reply.statusCode)}`);
      return JSON.parse(body.toString('utf8')) as unknown;
    } finally {
      await agent.destroy();
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
