import { afterEach, describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/settings/settings.js';
import { House, PRIVATE_KEY } from '../house.js';

const SHARED = {
  databaseUrl: 'postgres://nobody@127.0.0.1:9/none',
  secretKey: Buffer.alloc(32, 1).toString('base64'),
  signingKey: Buffer.alloc(32, 2).toString('base64'),
};

let house: House | null = null;

afterEach(async () => {
  await house?.close();
  house = null;
});

async function nodes(settings: Partial<Settings>): Promise<unknown> {
  house = await House.open(settings);
  return (await house.ask('/nodes', { headers: { authorization: PRIVATE_KEY } })).body;
}

describe('the address of a node', () => {
  it('is where it listens, or what the setting says', async () => {
    expect(await nodes({})).toMatchObject([{ address: house?.address, state: 'live', this_node: true }]);
    await house?.close();
    expect(await nodes({ nodeUrl: 'http://10.0.0.1:8080' })).toMatchObject([{ address: 'http://10.0.0.1:8080' }]);
  });

  it('has no path', async () => {
    await expect(nodes({ nodeUrl: 'http://10.0.0.1:8080/parley' })).rejects.toThrow('should have no path, not /parley');
  });

  it('must be set where the daemon listens on all interfaces of a machine', async () => {
    await expect(nodes({ ...SHARED, host: '0.0.0.0' })).rejects.toThrow(/PARLEY_NODE_URL/);
  });
});

it('needs a private key to list nodes', async () => {
  house = await House.open();
  expect((await house.ask('/nodes')).status).toBe(401);
});
