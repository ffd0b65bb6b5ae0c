import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';
import { expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { errorReplies } from '../../../src/daemon/http/replies.js';
import { openServer } from '../../../src/daemon/http/server.js';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';

it('answers requests on open connections during the shutdown as other refusals', async () => {
  const app = openServer(DEFAULT_SETTINGS, new RealClock(), null, (one, reply) => app.routing(one, reply));
  app.setErrorHandler(errorReplies(() => undefined));
  app.get('/', () => 'hello');
  let isClosing: () => void = () => undefined;
  let goOn: () => void = () => undefined;
  const closing = new Promise<void>((resolve) => (isClosing = resolve));
  app.addHook('preClose', () => {
    isClosing();
    return new Promise<void>((resolve) => (goOn = resolve));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${String((app.server.address() as AddressInfo).port)}/`;
  const dispatcher = new Agent({ connections: 1 });
  expect(await (await request(url, { dispatcher })).body.text()).toBe('hello');
  const closed = app.close();
  await closing;
  const { statusCode, headers, body } = await request(url, { dispatcher });
  expect([statusCode, headers['connection'], await body.json()]).toEqual([
    503,
    'close',
    {
      detail: expect.stringContaining('shutting down') as string,
      code: 'DAEMON_DRAINING',
      request_id: headers['x-request-id'],
    },
  ]);
  goOn();
  await closed;
  await dispatcher.close();
});
