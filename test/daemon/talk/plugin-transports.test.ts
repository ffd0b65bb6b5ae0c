import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { packageFile } from '../../../src/package-files.js';
import { loadPlugins } from '../../../src/plugins/load-plugins.js';
import { definePlugin, type TransportMaker } from '../../../src/plugins/plugin.js';
import { Client, House, PRIVATE_KEY } from '../house.js';

let house: House | null = null;

afterEach(async () => {
  await house?.close();
  house = null;
  vi.unstubAllEnvs();
});

/** A daemon with one transport. */
async function served(name: string, make: TransportMaker): Promise<House> {
  const plugin = definePlugin({ name: 'lines', transports: { [name]: make } });
  house = await House.open({}, undefined, undefined, { plugins: [plugin] });
  return house;
}

describe('a transport of a plug-in', () => {
  it('lets an agent talk over the example, in the call log', async () => {
    vi.stubEnv('RAW_AUDIO_KEY', 'let-me-in');
    const plugins = await loadPlugins([packageFile('examples/plugin/raw-audio.mjs').pathname]);
    house = await House.open({}, undefined, undefined, { plugins });
    await house.daemon.warmUp();
    const at = `${house.address.replace('http', 'ws')}/transports/raw-audio/talk`;
    expect(await new Client(new WebSocket(`${at}?key=wrong&agent=baker`)).refused).toBe(401);
    const client = new Client(new WebSocket(`${at}?key=let-me-in&agent=baker`));
    await client.inbox.heard(60);
    const loudest = Math.max(
      ...client.inbox.audio.flatMap((data) =>
        Array.from({ length: data.length / 2 }, (_, i) => data.readInt16LE(2 * i)),
      ),
    );
    expect(loudest).toBeGreaterThan(1_000);
    expect(house.engine.sessions.size).toBe(1);
    client.socket.close();
    const { sessionId, status } = await house.ended;
    expect(status).toBe('user-ended');
    await expect
      .poll(
        async () => (await house?.ask(`/call-logs/${sessionId}`, { headers: { authorization: PRIVATE_KEY } }))?.body,
      )
      .toMatchObject({ agent_id: 'baker', metadata: { from: 'a socket of our own' }, call_status: 'user-ended' });
    const unknown = new Client(new WebSocket(`${at}?key=let-me-in&agent=nobody`));
    expect(await unknown.inbox.closed).toMatchObject({
      code: 1011,
      reason: expect.stringContaining('nobody') as string,
    });
  });

  it('gets requests below its address with their bodies, and is closed with the daemon', async () => {
    let closed = 0;
    const { daemon } = await served('acme', () => ({
      handler: (request, response) => {
        let body = '';
        request.on('data', (piece: Buffer) => (body += piece.toString()));
        request.on('end', () => response.end(`${request.method ?? ''} ${request.url ?? ''} ${body}`));
      },
      close: () => void closed++,
    }));
    await daemon.warmUp();
    const answer = await house?.request('/transports/acme/hook?a=1', { method: 'POST', body: '{"x":' });
    expect(await answer?.text()).toBe('POST /transports/acme/hook?a=1 {"x":');
    expect((await house?.request('/transports/other/hook'))?.status).toBe(404);
    await house?.close();
    house = null;
    expect(closed).toBe(1);
  });

  it('that cannot be opened stops the start, by name', async () => {
    const { daemon } = await served('acme', () => {
      throw new Error('no port');
    });
    await expect(daemon.warmUp()).rejects.toThrow(/transport acme.*no port/);
  });

  it('has a name that an address can have', () => {
    expect(() => definePlugin({ name: 'lines', transports: { 'a/b': () => ({ close: () => undefined }) } })).toThrow(
      /transports: "a\/b" cannot be a name/,
    );
  });
});
