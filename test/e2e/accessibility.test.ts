import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityFaults, hasChromium, TalkingBrowser } from './browser.js';
import { HostSite } from './host-site.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const KEY = 'sk_accessibility_test';
const AGENT = 'the-crooked-fork';
/** Uma of the simulated network. */
const CALLER = '+12025550152';

/**
 * Presses Tab until nothing new gets the focus. `missed` are those that can be used and are not reached, `unseen` those
 * whose focus is not seen. A date field is left out of `unseen`: the focus goes through its parts.
 */
const WALK = `globalThis.walk = (() => {
  const reached = new Set(), unseen = new Set();
  const name = (element) => element.outerHTML.slice(0, 120);
  const active = () => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element;
  };
  const all = (root) => [...root.querySelectorAll('*')].flatMap((element) => [
    ...(element.matches('a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex="0"]') &&
    element.checkVisibility({ visibilityProperty: true }) ? [element] : []),
    ...(element.shadowRoot ? all(element.shadowRoot) : []),
  ]);
  return {
    /** Whether what has the focus has it for the first time. */
    step() {
      const element = active();
      if (element === null || element === document.body || reached.has(element)) return false;
      reached.add(element);
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      if ((outlineStyle === 'none' || parseFloat(outlineWidth) < 1) && element.type !== 'date') unseen.add(element);
      return true;
    },
    result: () => ({
      missed: all(document).filter((element) => !reached.has(element)).map(name),
      unseen: [...unseen].map(name),
      reached: reached.size,
    }),
  };
})()`;
/** The parts of three date fields, and whatever the browser has beside the page. */
const FRUITLESS_STEPS = 14;

describe.skipIf(!hasChromium)('for screen readers, keyboards and low vision', { timeout: 240_000 }, () => {
  let site: HostSite;
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;

  beforeAll(async () => {
    site = await HostSite.open();
    const env = { PARLEY_ALLOWED_ORIGINS: site.origin, PARLEY_API_KEY: KEY };
    daemon = await ServedDaemon.start('0', undefined, env);
    browser = await TalkingBrowser.launch();
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await site.close();
    expect(await daemon.stop()).toBe(0);
  }, 30_000);

  afterEach(async () => {
    await page.close();
    browser.errors.length = 0;
  });

  async function ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const isForm = body instanceof FormData;
    const headers = {
      authorization: KEY,
      ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
    };
    const init = { method, headers, ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }) };
    const response = await fetch(daemon.address + path, init);
    expect(response.status, `${method} ${path}`).toBe(200);
    return (await response.json()) as Record<string, unknown>;
  }

  const visit = async (address: string): Promise<void> => {
    page = await browser.visit(address, async (fresh) => {
      await fresh.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await fresh.addInitScript({ content: `sessionStorage.setItem('parley.key', '${KEY}')` });
    });
  };
  const widget = (text: string): Promise<void> =>
    page.locator('parley-widget').getByText(text).first().waitFor(PATIENCE);
  const snippet = (more = ''): string =>
    `<main><h1>A shop</h1></main><script src="${daemon.address}/widget.js" data-agent-id="${AGENT}" ${more}></script>`;
  const KNOWN = 'data-public-key="pk_served"';

  /** Opens a view of the console, with all that can be unfolded. */
  const consoleView = async (hash: string, ready: string): Promise<void> => {
    await page.goto(`${daemon.address}/console#/${hash}`);
    await page.locator(ready).first().waitFor(PATIENCE);
    await page.locator('#view .state[role=status]').waitFor({ ...PATIENCE, state: 'detached' });
    await page.evaluate(`document.querySelectorAll('details').forEach((each) => (each.open = true))`);
  };

  /** Looks for faults in what is shown, in light and dark. */
  async function expectNoFaults(what: string): Promise<void> {
    expect(await accessibilityFaults(page), what).toEqual([]);
  }

  /** Everything that can be used is reached with Tab, and seen when it has the focus. */
  async function expectReachable(what: string): Promise<void> {
    await page.evaluate(WALK);
    for (let fruitless = 0; fruitless < FRUITLESS_STEPS;) {
      await page.keyboard.press('Tab');
      fruitless = (await page.evaluate<boolean>('walk.step()')) ? 0 : fruitless + 1;
    }
    const walked = await page.evaluate<Record<'missed' | 'unseen', string[]>>('walk.result()');
    expect(walked, what).toMatchObject({ missed: [], unseen: [] });
  }

  it('finds no fault in the console of a daemon on which nothing has happened', async () => {
    await visit(`${daemon.address}/console`);
    for (const [hash, words] of [
      ['calls', 'No calls yet'],
      ['campaigns', 'No campaigns yet'],
      ['numbers', 'No numbers yet'],
      ['knowledge', 'No files yet'],
      ['evals', 'No test suites yet'],
    ] as const) {
      await consoleView(hash, `#view p:has-text("${words}")`);
      await expectNoFaults(hash);
    }
    await consoleView('numbers', '#view p:has-text("No SIP trunk and no carrier account")');
    await page.click('#forget');
    await page.locator('#key-field').waitFor(PATIENCE);
    await expectNoFaults('the question for the key');
    await expectReachable('the question for the key');
  });

  it('finds no fault in the console with agents, calls, campaigns, numbers, files and keys', async () => {
    const { config } = await ask('GET', `/agents/${AGENT}`);
    await ask('PUT', `/agents/${AGENT}`, {
      config: { ...(config as object), call_settings: { enable_recording: true } },
    });
    const { id: phone } = await ask('POST', '/phones/purchase', { country: 'US', area_code: '415' });
    await ask('POST', `/phones/${String(phone)}/set_agent`, { agent_id: AGENT });
    await ask('POST', `/phones/${String(phone)}/simulate_call`, { caller: CALLER });
    const { id: campaign } = await ask('POST', '/campaigns', { name: 'Tonight' });
    await ask('POST', `/campaigns/${String(campaign)}/set_caller`, { phone });
    await ask('POST', `/campaigns/${String(campaign)}/records`, [
      { phone: '+12025550107', metadata: { Name: 'Dora' } },
      { phone: '555-0103', metadata: { Name: 'Ned' } },
    ]);
    const file = new FormData();
    file.append('file', new Blob(['The house red is a Zweigelt.\n']), 'wine.md');
    await ask('POST', '/knowledge/create_file', await ask('POST', '/knowledge/upload', file));
    const cases = [
      { name: 'opens', caller: { script: [{ hang_up: true }] }, expect: [{ turns: { max: 0 } }] },
      { name: 'sings', caller: { script: [{ say: 'Hello.' }, { hang_up: true }] }, expect: [{ said: 'la la la' }] },
    ];
    const { id: suite } = await ask('POST', '/evals/suites', { suite: { name: 'Night', cases }, agent_id: AGENT });
    const { id: run } = await ask('POST', '/evals/runs', { suite_id: suite, mode: 'text' });
    await expect.poll(async () => (await ask('GET', `/evals/runs/${String(run)}`))['status'], PATIENCE).toBe('done');
    // The live view has a row for each running call: calls of other pages would come and go under the walk.
    const running = async (): Promise<unknown> => (await ask('GET', '/calls/live'))['calls'];
    await expect.poll(running, { ...PATIENCE, interval: 500 }).toEqual([]);
    await visit(`${daemon.address}/console`);
    for (const [hash, ready] of [
      ['evals', '.item'],
      [`evals/${String(suite)}`, '.matrix'],
      [`evals/run/${String(run)}`, '.eval-case'],
      ['agents', '.agents li'],
      [`agents/${AGENT}`, '#config-prompt'],
      ['campaigns', '.item'],
      [`campaigns/${String(campaign)}`, '.item'],
      ['numbers', '.item'],
      ['knowledge', '.item'],
      ['keys', '.item'],
      ['live', '.live-talk'],
    ] as const) {
      await consoleView(hash, ready);
      await expectNoFaults(hash);
      await expectReachable(hash);
    }
    await consoleView('keys', '.item');
    const revoke = page.getByRole('button', { name: /Revoke/ }).first();
    await revoke.press('Enter');
    expect(await revoke.innerText()).toBe('Really revoke?');
    await page.keyboard.press('Escape');
    expect(await revoke.innerText()).toBe('Revoke');
    await consoleView('live', '.live-talk');
    await page.getByLabel('Message to the agent').fill('When are you open?', PATIENCE);
    await page.keyboard.press('Enter');
    await page.locator('.bubble.agent', { hasText: 'eleven' }).waitFor(PATIENCE);
    await expectNoFaults('live, in a call');
    const ended = async (): Promise<{ session_id: string }[]> =>
      (await ask('GET', `/call-logs?call_status=COMPLETED&phone_number=${encodeURIComponent(CALLER)}`))[
        'histories'
      ] as { session_id: string }[];
    await expect.poll(async () => (await ended()).length, { timeout: 120_000, interval: 250 }).toBe(1);
    await consoleView('calls', '.call-row');
    await expectNoFaults('calls');
    await expectReachable('calls');
    await page.locator('.call-row').first().press('Enter');
    // The row that had the focus is gone; the next Tab begins at the top of the call.
    await expect.poll(() => page.evaluate('document.activeElement.id'), PATIENCE).toBe('view');
    await consoleView(`calls/${(await ended())[0]?.session_id ?? ''}`, '.tl-waves');
    await page.getByLabel('Response delay').fill('1200', PATIENCE);
    await page.locator('.replay-turn').first().waitFor(PATIENCE);
    await expectNoFaults('a call');
    await expectReachable('a call');
  });

  it('finds no fault in the page, ready, in a call and without a microphone, nor in that of the API', async () => {
    await visit(daemon.address);
    await page.locator('#talk:enabled').waitFor(PATIENCE);
    await expectNoFaults('the page');
    await expectReachable('the page');
    await page.fill('#text', 'When are you open?');
    await page.press('#text', 'Enter');
    await page.locator('.bubble.agent', { hasText: 'eleven' }).waitFor(PATIENCE);
    await page.click('#keypad-toggle');
    await expectNoFaults('the page in a call');
    await expectReachable('the page in a call');
    await page.click('#talk');
    await page.locator('#see-call').waitFor(PATIENCE);
    await page.evaluate(
      `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotFoundError'))`,
    );
    await page.click('#talk');
    await page.locator('#notice').waitFor(PATIENCE);
    await expectNoFaults('the page without a microphone');
    await page.goto(`${daemon.address}/docs#startOutboundCall`);
    await page.locator('#startOutboundCall .inside').waitFor(PATIENCE);
    await expectNoFaults('the API');
  });

  it('finds no fault in the widget, closed, open, in a call, asking, complaining and in a frame', async () => {
    await visit(site.page(snippet(KNOWN)));
    await widget('Talk to us');
    await expectNoFaults('the button');
    await page.locator('.launcher').click();
    await page.locator('.bubble.agent').first().waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Keypad' }).click();
    await expectNoFaults('the widget in a call');
    await expectReachable('the widget in a call');
    await page.goto(site.page(snippet(`${KNOWN} data-consent="It is kept." data-consent-url="https://shop.example/"`)));
    await page.locator('.launcher').click();
    await widget('Agree and start');
    await expectNoFaults('the widget that asks');
    await expectReachable('the widget that asks');
    await page.goto(site.page(snippet('data-public-key="pk_other"')));
    await page.locator('.launcher').click();
    await widget('its key is not known');
    await expectNoFaults('the widget that complains');
    const frame = `${daemon.address}/widget?agent_id=${AGENT}&public_key=pk_served`;
    await page.goto(
      site.page(`<main><h1>A shop</h1><iframe src="${frame}" title="Voice agent" height="500"></iframe></main>`),
    );
    await page.frameLocator('iframe').locator('.launcher').waitFor(PATIENCE);
    await expectNoFaults('the frame');
  });

  it('closes what is open in the widget with Escape, one after the other, and keeps the place of the keyboard', async () => {
    await visit(site.page(snippet(`${KNOWN} data-consent="It is kept."`)));
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.shadowRoot?.activeElement.className');
    await page.locator('.launcher').press('Enter');
    await widget('Agree and start');
    await page.keyboard.press('Escape');
    await page.locator('.consent').waitFor({ state: 'hidden' });
    expect(await focused()).toBe('launcher');
    expect(await page.locator('.panel').isVisible()).toBe(true);
    await page.keyboard.press('Enter');
    await widget('Agree and start');
    await page.keyboard.press('Enter');
    await page.locator('.bubble.agent').first().waitFor(PATIENCE);
    await page.locator('.tool[aria-label="Mute"]').press('Space');
    await expect.poll(() => page.locator('.phase').innerText(), PATIENCE).toBe('Muted');
    await page.locator('.tool[aria-label="Keypad"]').press('Enter');
    await page.keyboard.press('Escape');
    expect(await page.locator('.keypad').isHidden()).toBe(true);
    expect(await page.locator('.panel').isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await page.locator('.panel').isHidden()).toBe(true);
    expect(await focused()).toBe('chat');
    expect(await page.locator('.widget').getAttribute('data-display')).toBe('running');
    await page.keyboard.press('Enter');
    await page.locator('.panel').waitFor();
    await page.locator('.launcher').press('Enter');
    await page.locator('.widget[data-display=idle]').waitFor(PATIENCE);
  });
});
