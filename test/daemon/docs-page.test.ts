import { afterAll, beforeAll, expect, it } from 'vitest';
import { House } from './house.js';

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

it.each(['/docs', '/console'])('%s is there without a key, with what it needs', async (address) => {
  const page = await house.request(address);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toContain('text/html');
  const files = [...(await page.text()).matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
  expect(files.length).toBeGreaterThan(2);
  for (const path of files) expect((await house.request(`/${path}`)).status, path).toBe(200);
});
