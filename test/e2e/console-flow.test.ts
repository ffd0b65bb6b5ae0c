import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accessibilityFaults, hasChromium, TalkingBrowser } from './browser.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const KEY = 'sk_flow_test_123';

describe.skipIf(!hasChromium)('the steps of an agent in the console', { timeout: 120_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;
  let agentId: string;

  beforeAll(async () => {
    daemon = await ServedDaemon.start('0', undefined, { PARLEY_API_KEY: KEY });
    browser = await TalkingBrowser.launch();
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    expect(await daemon.stop()).toBe(0);
  }, 30_000);

  beforeEach(async () => {
    ({ id: agentId } = await ask<{ id: string }>('POST', '/agents', { name: 'Table', config: { prompt: 'Be kind.' } }));
    page = await browser.visit(`${daemon.address}/console#/agents/${agentId}`, async (fresh) => {
      await fresh.emulateMedia({ reducedMotion: 'reduce' });
      await fresh.addInitScript({ content: `sessionStorage.setItem('parley.key', '${KEY}')` });
    });
    await page.getByRole('button', { name: 'Booking' }).click(PATIENCE);
    await state('No faults').waitFor(PATIENCE);
  }, 60_000);

  afterEach(async () => {
    await page.close();
    // A flow with faults is refused (422), and the browser says so.
    expect(browser.errors.splice(0).filter((error) => !error.includes('/agents/check'))).toEqual([]);
  });

  async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { authorization: KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(daemon.address + path, init);
    expect(response.status, `${method} ${path}`).toBe(200);
    return (await response.json()) as T;
  }

  const state = (words: string): Locator => page.locator('.flow-editor [role=status]', { hasText: words }).first();
  const step = (id: string): Locator => page.locator(`[data-step="${id}"]`);
  const steps = (): Promise<unknown> =>
    page.evaluate(`[...document.querySelectorAll('[data-step]')].map((each) => each.dataset.step)`);
  const json = async (): Promise<{ steps: { id: string }[] }> =>
    JSON.parse(await page.getByLabel('Steps as JSON').inputValue()) as { steps: { id: string }[] };
  const save = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved').first().waitFor(PATIENCE);
  };
  const flow = async (): Promise<unknown> =>
    (await ask<{ extensions: { flow: unknown } | null }>('GET', `/agents/${agentId}`)).extensions?.flow;

  it('begin with a template, are drawn, saved and there again', async () => {
    expect(await steps()).toEqual(['details', 'contact', 'check', 'booked', 'large', 'again', 'stop']);
    expect(await page.locator('.flow-lines > path').count()).toBe(5);
    await expect.poll(() => page.locator('.flow-label').allInnerTexts()).toContain('people is 9 or more');
    await save();
    expect(await flow()).toEqual(await json());
    await page.reload();
    await step('details').waitFor(PATIENCE);
    await state('No faults').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Remove all steps' }).click();
    await page.getByRole('button', { name: 'Really? The prompt alone leads then' }).click();
    await page.getByRole('button', { name: 'Survey' }).waitFor(PATIENCE);
    await save();
    expect(await flow()).toBeNull();
  });

  it('are added, connected, renamed, deleted and undone with the pointer', async () => {
    await step('booked').click();
    const handle = step('booked').locator('.flow-handle');
    await handle.click();
    await expect.poll(steps).toContain('step');
    expect(await page.locator('#step-id').inputValue()).toBe('step');
    await page.getByRole('button', { name: 'Fit the whole flow' }).click();
    await step('step').click();
    const [from, to] = [await step('step').locator('.flow-handle').boundingBox(), await step('contact').boundingBox()];
    if (from === null || to === null) throw new Error('the steps are not seen');
    await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 4 });
    await page.mouse.up();
    await page.getByRole('button', { name: 'Remove the way to contact' }).waitFor(PATIENCE);
    await page.locator('#step-id').fill('thanks');
    await page.locator('#step-id').press('Enter');
    await expect.poll(steps).toContain('thanks');
    expect(JSON.stringify(await json())).not.toContain('"step"');
    await page.locator('#step-id').fill('contact');
    await page.locator('#step-id').press('Enter');
    await page.getByText('Another step has the id contact.').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(steps).toContain('step');
    await page.getByRole('button', { name: 'Redo' }).click();
    await expect.poll(steps).toContain('thanks');
    await step('contact').click();
    await page.getByText('Only this step leads to check, booked, thanks.').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Delete the step Who books' }).click();
    await page.getByRole('button', { name: /Really delete\? Nothing leads to check, booked, thanks then/ }).click();
    await expect.poll(steps).not.toContain('contact');
    await state('3 faults').or(state('4 faults')).first().waitFor(PATIENCE);
    await page.getByRole('button', { name: /No step leads to check/ }).waitFor(PATIENCE);
    for (let left = 4; left > 0; left--) await page.getByRole('button', { name: 'Undo' }).click();
    expect(await steps()).toEqual(['details', 'contact', 'check', 'booked', 'large', 'again', 'stop']);
  });

  it('are changed by keyboard alone, with faults at their fields', async () => {
    const list = page.getByRole('listbox', { name: /^Steps/ });
    const active = async (): Promise<string | null> => {
      const id = await list.getAttribute('aria-activedescendant');
      return id === null ? null : page.locator(`#${id}`).getAttribute('data-step');
    };
    await list.focus();
    await list.press('Home');
    expect(await active()).toBe('details');
    await list.press('ArrowDown');
    expect(await active()).toBe('large');
    await list.press('ArrowUp');
    expect(await active()).toBe('details');
    await list.press('ArrowRight');
    expect(await active()).toBe('contact');
    const words = 'Who books Ask name, phone → Read it back';
    await page.getByRole('option', { name: words, exact: true }).waitFor(PATIENCE);
    await list.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('step-id');
    await page.locator('#step-connect').selectOption('large');
    await page.getByRole('button', { name: 'Remove the way to large' }).press('Enter');
    await page.locator('#step-collect-branch > summary').press('Enter');
    await page.locator('#step-collect\\.0-branch > summary').press('Enter');
    await page.locator('#step-collect\\.0\\.name').fill('Not a name');
    await page.locator('#step-collect\\.0\\.name[aria-invalid]').waitFor(PATIENCE);
    const fault = page.getByRole('button', { name: /^Who books: Input should be a small letter/ });
    await fault.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('step-collect.0.name');
    await page.getByRole('option', { name: /^Who books.*One fault$/ }).waitFor(PATIENCE);
    await page.locator('#step-collect\\.0\\.name').fill('name');
    await state('No faults').waitFor(PATIENCE);
    await list.focus();
    // What was typed, and the way that was removed.
    await list.press('Control+z');
    await list.press('Control+z');
    await page.getByRole('button', { name: 'Remove the way to large' }).waitFor(PATIENCE);
  });

  it('follow their JSON, and are not left unsaved without a question', async () => {
    await page.locator('.flow-editor details', { hasText: 'As JSON' }).locator('summary').first().click();
    const text = page.getByLabel('Steps as JSON');
    await text.fill('{ "steps": [{ "id": "only", "title": "Only one", "say": { "entry": "Hi." } }] }');
    await expect.poll(steps).toEqual(['only']);
    await page.getByRole('button', { name: /Only one: only is a dead end/ }).waitFor(PATIENCE);
    await text.fill('{ "steps": ');
    await state('The JSON cannot be drawn').waitFor(PATIENCE);
    expect(await steps()).toEqual(['only']);
    const asked = page.waitForEvent('dialog');
    await page.evaluate(`location.hash = '#/agents'`);
    const dialog = await asked;
    expect(dialog.message()).toContain('not saved');
    await dialog.dismiss();
    expect(await steps()).toEqual(['only']);
  });

  it('are followed in a call, stand on its timeline when it is over, and show where the caller dropped out', async () => {
    const yes = { name: 'wants', type: 'yes_no', ask: ['Would you like a table?'] };
    const { id } = await ask<{ id: string }>('POST', '/agents', {
      name: 'Followed',
      config: { llm: { model: 'scripted' } },
      extensions: {
        flow: {
          steps: [
            { id: 'wants', title: 'A table?', say: { entry: 'Hello.' }, collect: [yes], transitions: [{ to: 'day' }] },
            {
              id: 'day',
              title: 'Which day?',
              collect: [{ name: 'day', type: 'date', ask: ['Which day, please?'] }],
              transitions: [{ to: 'bye' }],
            },
            { id: 'bye', say: { entry: 'Goodbye!' }, end: { action: 'hang_up' } },
          ],
        },
      },
    });
    const marked = (of: Page, title: string): Promise<void> =>
      of.locator('.flow-step.now[aria-current=step]', { hasText: title }).waitFor(PATIENCE);
    // The template is not saved: leaving it asks.
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(`${daemon.address}/console#/live/${id}`);
    await page.getByLabel('Message to the agent').fill('Hello there', PATIENCE);
    await page.keyboard.press('Enter');
    await marked(page, 'A table?');
    const { calls } = await ask<{ calls: { session_id: string }[] }>('GET', '/calls/live');
    const session = calls[0]?.session_id ?? '';
    const watching = await browser.visit(`${daemon.address}/console#/active/${session}`, (fresh) =>
      fresh.addInitScript({ content: `sessionStorage.setItem('parley.key', '${KEY}')` }),
    );
    await marked(watching, 'A table?');
    await watching.locator('.active-facts', { hasText: 'wants' }).waitFor(PATIENCE);
    await page.locator('.bubble.agent', { hasText: 'Would you like a table?' }).waitFor(PATIENCE);
    await page.getByLabel('Message to the agent').fill('Yes', PATIENCE);
    await page.keyboard.press('Enter');
    await marked(page, 'Which day?');
    await marked(watching, 'Which day?');
    await watching.close();
    await page.getByRole('button', { name: 'Hang up' }).click();
    await page.getByRole('link', { name: /All that is known/ }).click(PATIENCE);
    await expect
      .poll(() => page.locator('.tl-lane.steps .tl-span').allInnerTexts(), PATIENCE)
      .toEqual(['wants', 'day']);
    const slider = page.getByRole('slider', { name: 'Moment of the call' });
    const last = page.locator('.card', { hasText: 'Steps' }).getByRole('listitem').last();
    expect(await last.innerText()).toContain('the call ended here');
    await last.getByRole('button').click();
    const { steps: passed = [] } = await ask<{ steps?: { from: number }[] }>('GET', `/call-logs/${session}`);
    const at = async (): Promise<number> => Number(await slider.getAttribute('aria-valuenow'));
    await expect.poll(at, PATIENCE).toBeCloseTo(passed[1]?.from ?? NaN, 0);
    await page.goto(`${daemon.address}/console#/agents/${id}`);
    await page.getByLabel('Where callers drop out').selectOption('the last 7 days', PATIENCE);
    await page.getByText('1 call. Dropped out in: Which day? 1 (100 %).').waitFor(PATIENCE);
    expect(await step('day').innerText()).toContain('1 in, 1 dropped out (100 %)');
    await expect.poll(() => page.locator('.flow-label').first().innerText()).toContain('1 (100 %)');
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('have no fault for screen readers, as a graph and as a list, in light and dark and on a narrow screen', async () => {
    await step('details').click();
    await page.evaluate(`document.querySelectorAll('.flow-panel details').forEach((each) => (each.open = true))`);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Graph' }).waitFor(PATIENCE);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await page.locator('.flow-way').first().innerText()).toBe('→ To be called back: people is 9 or more');
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});
