import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/daemon-process.mjs';
import { hasChromium, TalkingBrowser } from './browser.js';
import { FarPhones } from './far-phones.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const KEY = 'sk_numbers_test_123';
const [PARIS, VIENNA] = ['+33142685001', '+4312345001'];

describe.skipIf(!hasChromium)('the numbers of the console, beside SIP trunks', { timeout: 120_000 }, () => {
  let folder: string;
  let far: FarPhones;
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-numbers-'));
    const config = join(folder, 'sip.json');
    const [ours, theirs] = [await freePort('udp'), await freePort('udp')];
    far = await FarPhones.open(theirs, ours, []);
    const servers = [`sip:127.0.0.1:${String(theirs)}`];
    const trunks = {
      paris: { servers, numbers: [PARIS] },
      // The far side is no registrar: it refuses.
      vienna: { servers, user: 'parley', password: 'wrong', register: true, numbers: [VIENNA] },
    };
    writeFileSync(
      config,
      JSON.stringify({ sip: { listen: [`udp:127.0.0.1:${String(ours)}`], keepAliveS: 5, trunks } }),
    );
    daemon = await ServedDaemon.start('0', undefined, { PARLEY_CONFIG: config, PARLEY_API_KEY: KEY });
    browser = await TalkingBrowser.launch();
    page = await browser.visit(`${daemon.address}/console#/numbers`, (fresh) =>
      fresh.addInitScript({ content: `sessionStorage.setItem('parley.key', '${KEY}')` }),
    );
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await daemon.stop();
    await far.close();
    rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  const trunk = (name: string): Locator => page.locator('.item', { hasText: `SIP trunk ${name}` });

  it('says which trunks answer, and why one is not registered', async () => {
    await trunk('paris').locator('.pill', { hasText: 'answers' }).waitFor(PATIENCE);
    expect(await trunk('paris').innerText()).toMatch(
      /UDP 127\.0\.0\.1:\d+: answers, last 200 at .+\s+no imported number · 0 calls in progress$/,
    );
    await trunk('vienna').locator('.pill.failed', { hasText: 'not registered' }).waitFor(PATIENCE);
    expect(await trunk('vienna').locator('.fault').innerText()).toMatch(/^\d{3} /);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  });

  it('imports a number of a trunk, and says of which there is no trunk', async () => {
    const field = page.getByLabel('Number', { exact: true });
    await field.fill('+33 1 42 68 50 01');
    await field.press('Enter');
    await page.getByText(`${PARIS} is imported. Choose above who answers it.`).waitFor(PATIENCE);
    await page.getByLabel(`Who answers ${PARIS}`).waitFor(PATIENCE);
    await trunk('paris').getByText(`${PARIS} · 0 calls in progress`).waitFor(PATIENCE);
    await field.fill('+12025550199');
    await field.press('Enter');
    await page.getByText('+12025550199 is a number of the simulated phone network').waitFor(PATIENCE);
    expect(browser.errors).toEqual([]);
  });
});
