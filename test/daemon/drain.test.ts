import { afterEach, describe, expect, it } from 'vitest';
import { Served } from './served.js';

/** Longer than anything takes on a machine that others use. */
const PATIENT = { timeout: 15_000 };

const served: Served[] = [];

afterEach(async () => {
  await Promise.all(served.splice(0).map((each) => each.close()));
});

async function ready(env: Readonly<Record<string, string>> = {}): Promise<Served> {
  const started = await Served.start(env);
  served.push(started);
  await started.until('/readyz');
  return started;
}

describe('SIGTERM', () => {
  it('refuses new calls, leaves those that run alone, and ends the process when the last is over', async () => {
    const daemon = await ready();
    const client = await daemon.talk();
    daemon.process.kill('SIGTERM');
    await expect
      .poll(async () => (await fetch(`${daemon.address}/readyz`)).json())
      .toEqual({ status: 'shutting down' });
    expect((await fetch(`${daemon.address}/healthz`)).status).toBe(200);
    expect(await daemon.connect().refused).toBe(503);
    await client.send({ method: 'text', data: 'When are you open?' });
    await client.inbox.find(({ method, data }) => method === 'onresponsetext' && /five/.test(String(data)));
    client.socket.close();
    expect(await daemon.exit).toBe(0);
    expect(daemon.err).toContain('1 conversation continues for at most 30 s');
    expect(daemon.err).toContain('user-ended');
  });

  it('ends those that still run at the deadline', async () => {
    const daemon = await ready({ PARLEY_DRAIN_S: '0.2' });
    const client = await daemon.talk();
    daemon.process.kill('SIGTERM');
    expect(await client.inbox.find(({ method }) => method === 'onsessionended')).toBeDefined();
    expect(await daemon.exit).toBe(0);
    expect(daemon.err).toContain('api-ended');
  });

  it('a second time ends them at once', async () => {
    const daemon = await ready();
    const client = await daemon.talk();
    daemon.process.kill('SIGTERM');
    await expect.poll(() => daemon.err, PATIENT).toContain('shutting down');
    daemon.process.kill('SIGTERM');
    expect(await client.inbox.find(({ method }) => method === 'onsessionended')).toBeDefined();
    expect(await daemon.exit).toBe(0);
  });
});

describe('a data folder', () => {
  it('serves one daemon at a time, and is free again when that was killed', async () => {
    const first = await Served.start();
    served.push(first);
    await first.until('/healthz');
    const second = await Served.start({}, first.dataDir);
    served.push(second);
    expect(await second.exit).toBe(1);
    expect(second.err).toContain(`Another daemon is using the data folder ${first.dataDir}`);
    first.process.kill('SIGKILL');
    await first.exit;
    const third = await Served.start({}, first.dataDir);
    served.push(third);
    await third.until('/healthz');
  });
});
