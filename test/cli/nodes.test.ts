import { afterAll, beforeAll, expect, it } from 'vitest';
import { House, PRIVATE_KEY } from '../daemon/house.js';
import { parley } from './support.js';

let house: House;
let env: Record<string, string>;

beforeAll(async () => {
  house = await House.open();
  env = { PARLEY_URL: house.address, PARLEY_API_KEY: PRIVATE_KEY };
});
afterAll(() => house.close());

it('lists the daemons that share a database', async () => {
  const { code, out } = await parley(['nodes'], { env });
  expect(code).toBe(0);
  expect(out).toMatch(
    new RegExp(String.raw`^\*  live  0/100  \d+\.\d+\.\d+  0\.0 s  ${house.address}  [0-9a-f-]{36}\n$`),
  );
  const { out: json } = await parley(['nodes', '--json'], { env });
  expect(JSON.parse(json)).toMatchObject([{ address: house.address, state: 'live', this_node: true, capacity: 100 }]);
  expect(await parley(['nodes'], { env: { PARLEY_URL: house.address } })).toMatchObject({ code: 2 });
});
