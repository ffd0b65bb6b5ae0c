import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { hasTool } from '../../scripts/system-tools.mjs';
import { TalkingBrowser } from './browser.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const UMA = '+12025550152';

describe.skipIf(!hasTool('chromium'))('the console, in a real browser', { timeout: 240_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;
  let key: string;
  /** A call of Uma's, recorded. */
  let sessionId: string;

  beforeAll(async () => {
    daemon = await ServedDaemon.start();
    key = /sk_[\w-]+/.exec(daemon.log)?.[0] ?? '';
    browser = await TalkingBrowser.launch();
    const { config } = await ask('GET', '/agents/the-crooked-fork');
    const recording = { ...(config as object), call_settings: { enable_recording: true } };
    await ask('PUT', '/agents/the-crooked-fork', { config: recording });
    const { id: phone } = await ask('POST', '/phones/purchase', { country: 'US', area_code: '415' });
    await ask('POST', `/phones/${String(phone)}/set_agent`, { agent_id: 'the-crooked-fork' });
    await ask('POST', `/phones/${String(phone)}/simulate_call`, { caller: UMA });
    const [call] = await vi.waitFor(
      async () => {
        const calls = await ended();
        if (calls.length === 0) throw new Error('the call goes on');
        return calls;
      },
      { ...PATIENCE, interval: 250 },
    );
    sessionId = String(call?.['session_id']);
  }, 180_000);

  afterAll(async () => {
    await browser.close();
    expect(await daemon.stop()).toBe(0);
  }, 30_000);

  beforeEach(async () => {
    page = await opened('#/calls');
  }, 60_000);

  afterEach(async () => {
    await page.close();
    expect(browser.errors.splice(0)).toEqual([]);
  });

  async function ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const headers = { authorization: key, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const response = await fetch(daemon.address + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(response.status, `${method} ${path}`).toBe(200);
    return (await response.json()) as Record<string, unknown>;
  }

  async function ended(): Promise<Record<string, unknown>[]> {
    const { histories } = (await ask('GET', '/call-logs?call_status=COMPLETED')) as {
      histories: Record<string, unknown>[];
    };
    return histories;
  }

  /** The console with the key in its tab. */
  function opened(hash: string): Promise<Page> {
    return browser.visit(`${daemon.address}/console${hash}`, (fresh) =>
      fresh.addInitScript({ content: `sessionStorage.setItem('parley.key', '${key}')` }),
    );
  }

  it('asks for the key, says when it is wrong and keeps the right one in the tab', async () => {
    const fresh = await browser.visit(`${daemon.address}/console`);
    await fresh.fill('#key-field', 'sk_wrong');
    await fresh.press('#key-field', 'Enter');
    await fresh.getByText('does not know this key').waitFor(PATIENCE);
    expect(browser.errors.splice(0).every((error) => error.includes('401'))).toBe(true);
    await fresh.fill('#key-field', key);
    await fresh.press('#key-field', 'Enter');
    await fresh.locator('.call-row').first().waitFor(PATIENCE);
    await fresh.reload();
    await fresh.locator('.call-row').first().waitFor(PATIENCE);
    await fresh.click('#forget');
    await fresh.locator('#key-field').waitFor(PATIENCE);
    await fresh.close();
  });

  it('lists calls, filters them, and says where there is none', async () => {
    await page.locator(`[data-id="${sessionId}"]`).waitFor(PATIENCE);
    expect(await page.locator('.figures').innerText()).toMatch(/p50 .*\d.* · p95 .*\d/);
    await page.selectOption('select[name=Status]', 'FAILED');
    await page.getByText('No call is like that.').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.locator(`[data-id="${sessionId}"]`).waitFor(PATIENCE);
  });

  it('shows a call on one timeline, and a click plays that moment', async () => {
    await page.locator(`[data-id="${sessionId}"]`).click();
    await page.locator('.tl-lane.words .tl-span').first().waitFor(PATIENCE);
    for (const lane of ['speech', 'words', 'turns', 'model', 'voice', 'playout']) {
      expect(await page.locator(`.tl-lane.${lane} .tl-span`).count(), lane).toBeGreaterThan(0);
    }
    await expect.poll(() => page.evaluate(drawnPixels), PATIENCE).toBeGreaterThan(500);
    expect(await page.locator('.fall').count()).toBeGreaterThan(0);
    expect(await page.locator('.fall-row.pause').count()).toBeGreaterThan(0);
    expect((await page.locator('.bubble.agent .text').allInnerTexts()).join()).toContain('Crooked Fork');
    expect(await page.locator('.costs tr').count()).toBeGreaterThan(2);
    await page.locator('.fall-head').first().click();
    await page.getByRole('button', { name: 'Pause' }).waitFor(PATIENCE);
    const slider = page.getByRole('slider', { name: 'Moment of the call' });
    const now = async (): Promise<number> => Number(await slider.getAttribute('aria-valuenow'));
    const begun = await now();
    await expect.poll(now, PATIENCE).toBeGreaterThan(begun);
    await slider.press(' ');
    await page.getByRole('button', { name: 'Play' }).waitFor(PATIENCE);
    await slider.press('Home');
    await expect.poll(now, PATIENCE).toBeLessThan(2);
    await page.locator('.events summary').click();
    expect(await page.locator('.events tbody tr').count()).toBeGreaterThan(20);
  });

  it('replays a call with other settings, and says which turns change by how much', async () => {
    await page.locator('.replay > summary').click();
    await page.getByText('the same to the bit').waitFor(PATIENCE);
    await page.getByText('Change a setting').waitFor(PATIENCE);
    const delay = page.getByLabel('Response delay');
    await delay.fill('2500');
    const later = page.locator('.replay-turn[data-change=later] .change-later').first();
    await later.waitFor(PATIENCE);
    expect(await later.innerText()).toMatch(/^\+\d/);
    expect(await page.locator('.replay-facts').innerText()).toMatch(/Response time, median\s+.+ → .+/);
    expect(await page.locator('.replay pre').textContent()).toContain('"responseDelayMs": 2500');
    await page.getByRole('button', { name: 'As it was' }).click();
    await page.getByText('Change a setting').waitFor(PATIENCE);
    expect(await delay.inputValue()).toBe('');
  });

  it('talks to an agent, shows what it does, and another page watches', async () => {
    await page.goto(`${daemon.address}/console#/live`);
    await page.getByRole('button', { name: 'Talk' }).click();
    await page.locator('.live-state[data-state=speaking]').waitFor(PATIENCE);
    // What the browser's microphone speaks would interrupt.
    await page.getByRole('button', { name: 'Mute' }).click();
    const watching = await opened('#/calls');
    await watching.locator('.pill.running').first().click();
    await page.fill('.typing input', 'When are you open?');
    await page.press('.typing input', 'Enter');
    await page.locator('.bubble.agent', { hasText: 'eleven' }).waitFor(PATIENCE);
    await watching.locator('.bubble.user', { hasText: 'When are you open?' }).waitFor(PATIENCE);
    await page.locator('.live-time b').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Hang up' }).click();
    // What was watched becomes the page of a call that is over.
    await watching.locator('.timeline').waitFor(PATIENCE);
    await watching.close();
    await page.getByRole('link', { name: 'All that is known' }).waitFor(PATIENCE);
  });

  it('changes an agent in the form, shows faults at their fields, and goes back', async () => {
    await page.goto(`${daemon.address}/console#/agents/the-crooked-fork`);
    await page.locator('#config-first_message').fill('Hello from the console.');
    expect(await page.locator('.config-json').inputValue()).toContain('Hello from the console.');
    await page.locator('details:has(> summary > code:text-is("llm")) > summary').click();
    await page.locator('[id="config-llm.model"]').fill('no-such-model');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[id="config-llm.model"][aria-invalid]').waitFor(PATIENCE);
    expect(browser.errors.splice(0).every((error) => error.includes('422'))).toBe(true);
    await page.locator('[id="config-llm.model"]').fill('scripted');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Sessions that begin now have it.').waitFor(PATIENCE);
    await page.locator('.versions summary').first().click();
    await page.locator('.diff .added', { hasText: 'Hello from the console.' }).waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Restore version 2' }).click();
    await expect.poll(() => page.locator('.config-json').inputValue(), PATIENCE).toContain('Good evening');
  });

  it.each([
    [360, 740],
    [1280, 800],
  ])('fits a window of %i by %i', async (width, height) => {
    await page.setViewportSize({ width, height });
    for (const hash of ['#/calls', `#/calls/${sessionId}`, '#/live', '#/agents', '#/agents/the-crooked-fork']) {
      await page.goto(`${daemon.address}/console${hash}`);
      await page.locator('#view h1').waitFor(PATIENCE);
      await page.locator('#view .state').waitFor({ ...PATIENCE, state: 'detached' });
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), hash).toBe(0);
    }
  });
});

/** How much of the waveforms is not background. */
const drawnPixels = `(() => {
  const canvas = document.querySelector('.tl-waves');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let drawn = 0;
  for (let at = 3; at < data.length; at += 4) if (data[at] > 0) drawn++;
  return drawn;
})()`;
