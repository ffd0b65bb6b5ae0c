import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TalkClientMessage } from '../../src/transports/talk-protocol.js';
import { hasChromium, TalkingBrowser } from './browser.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };

describe.skipIf(!hasChromium)('forms of the agent, in a real browser', { timeout: 120_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;

  beforeAll(async () => {
    daemon = await ServedDaemon.start('0', fileURLToPath(new URL('forms-agent.json', import.meta.url)));
    browser = await TalkingBrowser.launch();
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    expect(await daemon.stop()).toBe(0);
    expect(daemon.log).not.toContain('fault:');
  }, 30_000);
  beforeEach(async () => {
    page = await browser.open(daemon.address);
  }, 60_000);
  afterEach(async () => {
    await page.close();
    expect(browser.errors.splice(0)).toEqual([]);
  });

  const type = async (text: string): Promise<void> => {
    await page.fill('#text', text);
    await page.press('#text', 'Enter');
  };
  const says = (text: string): Promise<void> => page.locator('.bubble.agent', { hasText: text }).waitFor(PATIENCE);

  it('are filled in by the keyboard alone, checked by the browser and by the server', async () => {
    await type('I want a receipt');
    const field = page.getByLabel('Where shall the receipt go?');
    await field.waitFor(PATIENCE);
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('email');
    await page.keyboard.type('ann');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.validity.typeMismatch')).toBe(true);
    // The browser takes what the server does not: a domain without a dot.
    await page.keyboard.type('@till');
    await page.keyboard.press('Enter');
    const problem = page.locator('.form-problem');
    await problem.waitFor(PATIENCE);
    expect(await problem.innerText()).toContain('email should be an email address');
    expect(await field.inputValue()).toBe('ann@till');
    await page.keyboard.press('End');
    await page.keyboard.type('.example');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Send');
    await page.keyboard.press('Space');
    await says('It goes to ann@till.example.');
    expect(await page.locator('.form-card').count()).toBe(0);
    expect(await page.evaluate('document.activeElement.id')).toBe('text');
  });

  it('may be skipped, answered with yes or no, and go with the call', async () => {
    const results: unknown[] = [];
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => {
        const message = typeof payload === 'string' ? (JSON.parse(payload) as TalkClientMessage) : null;
        if (message?.method === 'form_result') results.push(message.payload.value);
      });
    });
    await type('I want a receipt');
    await page.locator('.form-card').waitFor(PATIENCE);
    await page.keyboard.press('Escape');
    await says('Then without a receipt.');
    await type('please wrap it');
    const choice = page.getByLabel('Is gift');
    await choice.waitFor(PATIENCE);
    await choice.selectOption('Yes');
    await page.click('.form-send');
    await says('The answer was');
    expect(results).toEqual([null, true]);
    await type('I want a receipt');
    await page.locator('.form-card').waitFor(PATIENCE);
    await page.click('#talk');
    await expect.poll(() => page.locator('.form-card').count()).toBe(0);
  });

  it('fit a small window', async () => {
    await page.setViewportSize({ width: 320, height: 568 });
    await type('I want a receipt');
    await page.locator('.form-card').waitFor(PATIENCE);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    for (const part of ['.form-card input', '.form-send', '.form-skip', '#text']) {
      expect(await page.locator(part).isVisible(), part).toBe(true);
    }
  });

  it('that are for another client are declined by this page', async () => {
    await type('open the drawer');
    await says('It stays shut.');
  });
});
