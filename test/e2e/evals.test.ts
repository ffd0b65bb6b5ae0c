import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, TalkingBrowser } from './browser.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const CASES = `name: Hours
cases:
  - name: asks for the hours
    caller: { script: [{ say: When are you open? }, { wait_for: five }, { hang_up: true }] }
    expect:
      - said: five
      - not_said: zebra
  - name: asks for a song
    caller: { script: [{ say: When are you open? }, { wait_for: five }, { hang_up: true }] }
    expect:
      - not_said: five
`;

describe.skipIf(!hasChromium)('the evals of the console, in a real browser', { timeout: 240_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;
  let key: string;

  beforeAll(async () => {
    daemon = await ServedDaemon.start();
    key = /sk_[\w-]+/.exec(daemon.log)?.[0] ?? '';
    browser = await TalkingBrowser.launch();
    page = await browser.visit(`${daemon.address}/console#/evals`, (each) =>
      each.addInitScript({ content: `sessionStorage.setItem('parley.key', '${key}')` }),
    );
  }, 180_000);

  afterAll(async () => {
    await page.close();
    await browser.close();
    expect(await daemon.stop()).toBe(0);
  }, 30_000);

  afterEach(() => {
    // A suite with a fault is refused, which the browser's console shows.
    expect(browser.errors.splice(0).filter((error) => !error.includes('422'))).toEqual([]);
  });

  it('makes a suite, whose faults are at their lines', async () => {
    await page.waitForSelector('text=No test suites yet', PATIENCE);
    await page.getByLabel('Name').fill('Hours');
    await page.getByRole('button', { name: 'Make' }).click();
    await page.waitForSelector('text=This suite has not run yet', PATIENCE);
    const text = page.getByLabel('The suite as YAML or JSON');
    await text.fill(CASES.replace('expect:', 'expects:'));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Line 5' }).waitFor(PATIENCE);
    expect(await page.locator('.editor-numbers .wrong').allTextContents()).toEqual(['3\n', '5\n']);
    await text.fill(CASES);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForSelector('text=Version 2, saved', PATIENCE);
    expect(await page.locator('.editor-faults li').count()).toBe(0);
  });

  it('runs it, and shows cases by versions', async () => {
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForSelector('.matrix', { timeout: 120_000 });
    expect(await page.locator('.matrix tbody tr').allInnerTexts()).toEqual([
      expect.stringMatching(/^asks for the hours\s+✓ pass/),
      expect.stringMatching(/^asks for a song\s+✗ fail/),
    ]);
    expect(await page.locator('.eval-runs li').innerText()).toMatch(/did not pass[^]*1 of 2 cases/);
  });

  it('opens a failed case with the failing line marked, and the call on its timeline', async () => {
    await page.locator('.matrix .failed a').click();
    await page.waitForSelector('.eval-case[open]', PATIENCE);
    expect(await page.locator('.eval-case[open] > summary').innerText()).toMatch(/did not pass\s+asks for a song/);
    const wrong = page.locator('.eval-line.wrong');
    expect(await wrong.innerText()).toMatch(/five[^]*Failed: [^]*five/);
    await page.getByRole('link', { name: 'Open the call with its timeline' }).click();
    await page.waitForSelector('text=Everything that happened', PATIENCE);
    expect(await page.locator('h1').innerText()).toContain('test call');
    expect(await page.getByRole('button', { name: 'Make a test case' }).count()).toBe(0);
    await page.getByRole('link', { name: '← Run, asks for a song' }).click();
    await page.waitForSelector('.eval-case[open]', PATIENCE);
  });

  it('edits one case and runs it alone', async () => {
    await page.getByRole('button', { name: 'Edit this case: asks for a song' }).click();
    const text = page.getByLabel('The case as YAML');
    await text.fill((await text.inputValue()).replace('not_said: five', 'not_said: la la la'));
    await page.getByRole('button', { name: 'Save and run this case' }).click();
    await page.waitForSelector('text=1 of 1 cases passed', { timeout: 120_000 });
    await page.getByRole('link', { name: '← Hours' }).click();
    await page.waitForSelector('.matrix', PATIENCE);
    expect(await page.locator('.matrix .passed').count()).toBe(2);
    expect(await page.getByLabel('The suite as YAML or JSON').inputValue()).toContain('not_said: la la la');
  });

  it('downloads reports', async () => {
    await page.locator('.eval-runs li a').last().click();
    for (const [name, file] of [
      ['JUnit', 'report.xml'],
      ['HTML', 'report.html'],
    ] as const) {
      const download = page.waitForEvent('download', PATIENCE);
      await page.getByRole('button', { name: `Download the report as ${name}` }).click();
      expect((await download).suggestedFilename()).toBe(file);
    }
  });
});
