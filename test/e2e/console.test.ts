import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { accessibilityFaults, hasChromium, TalkingBrowser } from './browser.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const UMA = '+12025550152';

describe.skipIf(!hasChromium)('the console, in a real browser', { timeout: 240_000 }, () => {
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
    await page.getByText('No calls match these filters.').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.locator(`[data-id="${sessionId}"]`).waitFor(PATIENCE);
  });

  it('shows a call on one timeline, and a click plays that moment', async () => {
    let send = (): void => undefined;
    const wanted = new Promise<void>((resolve) => (send = resolve));
    await page.route('**/recording', async (route) => {
      await wanted;
      await route.continue();
    });
    await page.locator(`[data-id="${sessionId}"]`).click();
    await page.locator('.tl-lane.words .tl-span').first().waitFor(PATIENCE);
    send();
    for (const lane of ['speech', 'words', 'turns', 'model', 'voice', 'playout']) {
      expect(await page.locator(`.tl-lane.${lane} .tl-span`).count(), lane).toBeGreaterThan(0);
    }
    await expect.poll(() => page.evaluate(drawnPixels), PATIENCE).toBeGreaterThan(500);
    // The whole call is in view, also where the recording is longer than what the trace tells.
    const hidden =
      '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector(".tl-scroller"))';
    expect(await page.evaluate(hidden)).toBe(0);
    await page.getByRole('button', { name: 'Fit the whole call' }).waitFor(PATIENCE);
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
    await expect.poll(() => page.locator('.events tbody tr').count(), PATIENCE).toBeGreaterThan(20);
  });

  it('replays a call with other settings, and says which turns change by how much', async () => {
    await page.goto(`${daemon.address}/console#/calls/${sessionId}`);
    await page.locator('.replay > summary').click(PATIENCE);
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
    // Who watches steers, too.
    await watching.getByRole('button', { name: 'Tell the agent' }).click();
    await watching.getByRole('textbox', { name: 'Tell the agent' }).fill('A colleague says hello.');
    await watching.getByRole('button', { name: 'Tell', exact: true }).click();
    await page.locator('.bubble.agent', { hasText: 'A colleague says hello.' }).waitFor(PATIENCE);
    await watching.getByRole('button', { name: 'Hold', exact: true }).click();
    await watching.getByText('The caller is on hold').waitFor(PATIENCE);
    await watching.getByRole('button', { name: 'Stop the agent' }).click();
    await watching.getByRole('button', { name: 'Take off hold' }).click();
    await watching.getByText('The caller is off hold').waitFor(PATIENCE);
    await watching.getByRole('button', { name: 'Transfer …' }).click();
    await watching.getByLabel('Connect the caller to').fill('+12025550101');
    await watching.getByRole('button', { name: 'Transfer', exact: true }).click();
    await watching.locator('.call-controls .fault', { hasText: 'refuses the command transfer' }).waitFor(PATIENCE);
    expect(browser.errors.splice(0)).toEqual([expect.stringContaining('409')]);
    await watching.getByRole('button', { name: 'Listen' }).click();
    await watching.getByRole('button', { name: 'Stop listening' }).waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Hang up' }).click();
    // What was watched becomes the page of a call that is over.
    await watching.locator('.timeline').waitFor(PATIENCE);
    await watching.close();
    await page.getByRole('link', { name: 'All that is known' }).waitFor(PATIENCE);
  });

  it('shows all active calls, and steers the chosen one by the keyboard', async () => {
    const caller = await opened('#/live');
    await caller.getByRole('button', { name: 'Talk' }).click();
    await caller.locator('.live-state[data-state=speaking]').waitFor(PATIENCE);
    // What the browser's microphone speaks would interrupt.
    await caller.getByRole('button', { name: 'Mute' }).click();
    await page.goto(`${daemon.address}/console#/active`);
    await page.locator('.active-row').waitFor(PATIENCE);
    await page.getByText('1 call', { exact: true }).waitFor(PATIENCE);
    await page.keyboard.press('j');
    await page.locator('.active-detail .bubble.agent', { hasText: 'Crooked Fork' }).waitFor(PATIENCE);
    expect(await page.locator('.active-row[aria-selected=true]').innerText()).toContain('The Crooked Fork');
    await caller.fill('.typing input', 'I want to speak to a real person.');
    await caller.press('.typing input', 'Enter');
    await page.locator('.active-row .warning', { hasText: 'asks for a person' }).waitFor(PATIENCE);
    await page.locator('.active-detail .bubble.user', { hasText: 'real person' }).waitFor(PATIENCE);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('h');
    await page.locator('.active-state[data-state=held]').waitFor(PATIENCE);
    await page.keyboard.press('h');
    await page.locator('.active-state[data-state=held]').waitFor({ ...PATIENCE, state: 'detached' });
    await page.keyboard.press('s');
    await page.keyboard.type('One moment, a colleague takes over.');
    await page.keyboard.press('Enter');
    await caller.locator('.bubble.agent', { hasText: 'a colleague takes over' }).waitFor(PATIENCE);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'All calls' }).waitFor({ ...PATIENCE, state: 'hidden' });
    await page.locator('.active-row').click();
    await page.getByRole('button', { name: 'All calls' }).waitFor(PATIENCE);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 1200, height: 760 });
    await page.keyboard.press('e');
    await page.getByRole('button', { name: 'Really end the call?' }).waitFor(PATIENCE);
    await page.keyboard.press('e');
    await page.getByText('This call has ended.').waitFor(PATIENCE);
    await page.getByText('No calls at the moment.').waitFor(PATIENCE);
    await caller.close();
  });

  it('draws hundreds of active calls in parts, and keeps their order while somebody points at them', async () => {
    const many = Array.from({ length: 200 }, (_, at) => simulatedCall(at, []));
    await page.addInitScript({ content: `(${feedCalls})(${JSON.stringify(many)})` });
    await page.goto(`${daemon.address}/console#/active`);
    await page.reload();
    const rows = page.locator('.active-row');
    await page.getByText('200 calls', { exact: true }).waitFor(PATIENCE);
    expect(await rows.count()).toBe(100);
    await page.getByRole('button', { name: 'Show 100 more of 100' }).click();
    await expect.poll(() => rows.count(), PATIENCE).toBe(200);
    const tell = (at: number): Promise<unknown> =>
      page.evaluate(`tell('call', ${JSON.stringify(simulatedCall(at, ['shouting']))})`);
    await rows.first().hover();
    const first = await rows.first().getAttribute('data-id');
    await tell(150);
    await page.getByRole('button', { name: 'Sort' }).waitFor(PATIENCE);
    expect(await rows.first().getAttribute('data-id')).toBe(first);
    await page.evaluate(`tell('ended', { session_id: '${String(first)}' })`);
    await rows.first().getByText('ended').waitFor(PATIENCE);
    await page.mouse.move(2, 2);
    await expect.poll(() => rows.first().getAttribute('data-id'), PATIENCE).toBe('simulated-150');
    await expect.poll(() => rows.count(), PATIENCE).toBe(199);
    await page.selectOption('select[name=Warning]', 'any');
    await expect.poll(() => rows.count(), PATIENCE).toBe(1);
    expect(page.url()).toContain('#/active?warning=any');
  });

  it('says that there is no microphone, and goes on in writing, by the keyboard', async () => {
    await page.addInitScript({
      content: `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotFoundError'));`,
    });
    await page.goto(`${daemon.address}/console#/live`);
    await page.reload();
    const talk = page.getByRole('button', { name: 'Talk' });
    // A key press does not wait for the button to be enabled.
    await expect.poll(() => talk.isEnabled(), PATIENCE).toBe(true);
    await talk.press('Enter');
    await page.getByText('No microphone was found.').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Type instead' }).press('Enter');
    await page.locator('.bubble.agent').first().waitFor(PATIENCE);
    expect(await page.getByRole('button', { name: 'Mute' }).isDisabled()).toBe(true);
    await page.keyboard.type('When are you open?');
    await page.keyboard.press('Enter');
    await page.locator('.bubble.agent', { hasText: 'eleven' }).waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Hang up' }).press('Enter');
  });

  it('changes an agent in the form, shows faults at their fields, and goes back', async () => {
    await page.goto(`${daemon.address}/console#/agents/the-crooked-fork`);
    await page.locator('#config-first_message').fill('Hello from the console.');
    const shown = await page.locator('.config-json').inputValue();
    expect(shown).toContain('Hello from the console.');
    expect(shown).not.toMatch(/null|\[\]/);
    await page.locator('details:has(> summary > code:text-is("llm")) > summary').click();
    await page.locator('[id="config-llm.model"]').fill('no-such-model');
    await page.locator('details:has(> summary > code:text-is("speech_to_text")) > summary').click();
    await page.locator('[id="config-speech_to_text.model"]').fill('no-such-model');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[id="config-llm.model"][aria-invalid]').waitFor(PATIENCE);
    await page.locator('[id="config-speech_to_text.model"][aria-invalid]').waitFor(PATIENCE);
    expect(browser.errors.splice(0).every((error) => error.includes('422'))).toBe(true);
    await page.locator('[id="config-llm.model"]').fill('scripted');
    await page.locator('[id="config-speech_to_text.model"]').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Sessions that begin now have it.').waitFor(PATIENCE);
    await page.locator('.versions summary').first().click();
    await page.locator('.diff .added', { hasText: 'Hello from the console.' }).waitFor(PATIENCE);
    expect(await page.locator('.diff').first().innerText()).not.toMatch(/null|\[\]/);
    await page.getByRole('button', { name: 'Restore version 2' }).click();
    await expect.poll(() => page.locator('.config-json').inputValue(), PATIENCE).toContain('Good evening');
  });

  it('publishes a draft through a gate, talks to the next one, splits callers and goes back', async () => {
    const own = { config: { llm: { model: 'scripted' }, first_message: 'Ferry one.' } };
    const script = { rules: [{ when: 'go', say: 'It goes at five.' }] };
    const { id } = await ask('POST', '/agents', { name: 'Ferry', script, ...own });
    const caller = { script: [{ say: 'When does it go?' }, { wait_for: 'five' }, { hang_up: true }] };
    const cases = [{ name: 'asks when', modes: ['text'], caller, expect: [{ said: 'five' }] }];
    await ask('POST', '/evals/suites', { suite: { name: 'Times', cases }, agent_id: id });
    await page.goto(`${daemon.address}/console#/agents/${String(id)}`);
    const panel = page.getByRole('region', { name: 'Publishing' });
    await panel.locator('summary').press('Enter');
    await panel.getByLabel('Changes become a draft').press(' ');
    await panel.getByLabel('Test suite that a version must pass').selectOption('Times');
    await panel.getByRole('button', { name: 'Set', exact: true }).press('Enter');
    await panel.getByText('What you save becomes a draft.').waitFor(PATIENCE);
    await page.locator('#config-first_message').fill('Ferry two.');
    await page.getByRole('button', { name: 'Save' }).click();
    await panel.getByLabel('Note').fill('A new greeting');
    await panel.getByRole('button', { name: 'Publish draft 2' }).press('Enter');
    await panel.getByText('Callers have version 2.').waitFor(PATIENCE);
    await page.locator('.deeds', { hasText: 'published version 2 in place of 1.' }).waitFor(PATIENCE);
    const [entry] = (await ask('GET', `/agents/${String(id)}/publications`)) as unknown as Record<string, unknown>[];
    expect(entry).toMatchObject({ status: 'done', note: 'A new greeting', run_id: expect.any(String) as string });

    await page.locator('#config-first_message').fill('Ferry three.');
    await page.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('You edit draft 3.').waitFor(PATIENCE);
    await page.locator('.versions li', { hasText: 'draft' }).locator('summary').click();
    await page.locator('.diff .added', { hasText: 'Ferry three.' }).waitFor(PATIENCE);
    await page.getByLabel('Share of callers, %').fill('20');
    await page.locator('select[name=version]').selectOption('1');
    await page.getByRole('button', { name: 'Split', exact: true }).click();
    await page.getByText('version 2: 80 %, version 1: 20 %').waitFor(PATIENCE);
    await page.locator('.compare').waitFor(PATIENCE);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await panel.getByRole('button', { name: 'End the split' }).click();
    await panel.getByRole('button', { name: 'Really give all callers one version?' }).click();
    await panel.getByRole('button', { name: 'Roll back' }).click();
    await panel.getByRole('button', { name: 'Really go back to the version before?' }).click();
    await panel.getByText('Callers have version 1.').waitFor(PATIENCE);

    await panel.getByRole('link', { name: 'Talk to the draft' }).click();
    await page.getByText('You talk to the draft.').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Talk', exact: true }).click();
    await page.locator('.bubble.agent', { hasText: 'Ferry three.' }).waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Hang up' }).click();
  });

  it('adds a word to the dictionary of an agent, and lets it be heard', async () => {
    await page.goto(`${daemon.address}/console#/agents/the-crooked-fork`);
    await page.getByRole('button', { name: 'Add a word' }).click();
    await page.getByLabel('Word 1', { exact: true }).fill('Siobhan');
    await page.getByLabel('IPA 1').fill('ʃɪˈvɔːn');
    await page.getByRole('button', { name: 'Hear word 1' }).click();
    await page.getByText('Said: shi-vawn').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Store words' }).click();
    await page.getByText('Stored: version').waitFor(PATIENCE);
    const { extensions } = await ask('GET', '/agents/the-crooked-fork');
    expect(extensions).toMatchObject({ pronunciation: { words: [{ word: 'Siobhan', ipa: 'ʃɪˈvɔːn' }] } });
  });

  it('stores words without other edits, and does not undo what others have changed', async () => {
    const made = await ask('POST', '/agents', { name: 'Ferry', config: { first_message: 'Ferry one.' } });
    const path = `/agents/${String(made['id'])}`;
    await page.goto(`${daemon.address}/console#${path}`);
    await page.locator('#config-first_message').fill('Ferry two.');
    await ask('PUT', path, { extensions: { queue: { limit: 3 } } });
    await page.getByRole('button', { name: 'Add a word' }).click();
    await page.getByLabel('Word 1', { exact: true }).fill('Ada');
    await page.getByLabel('Alias 1').fill('Ayda');
    await page.getByRole('button', { name: 'Store words' }).click();
    await page.getByText('Stored: version 3').waitFor(PATIENCE);
    expect(await ask('GET', path)).toMatchObject({
      config: { first_message: 'Ferry one.' },
      extensions: { queue: { limit: 3 }, pronunciation: { words: [{ word: 'Ada', alias: 'Ayda' }] } },
    });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Somebody has changed the agent').waitFor(PATIENCE);
    expect(await ask('GET', path)).toMatchObject({ version: 3 });
    await page.getByRole('button', { name: 'Save over it' }).click();
    await page.getByRole('button', { name: 'Really undo what others have changed?' }).click();
    await page.getByText('Saved: version 4.').waitFor(PATIENCE);
    expect(await ask('GET', path)).toMatchObject({
      config: { first_message: 'Ferry two.' },
      extensions: { pronunciation: { words: [{ word: 'Ada' }] } },
    });
    browser.errors.splice(0); // the refused save
  });

  it('says what an agent without a model lacks, asks before edits are lost, and deletes it', async () => {
    const { id } = await ask('POST', '/agents', { name: 'Nothing to say', config: { first_message: 'Hello.' } });
    await page.goto(`${daemon.address}/console#/agents`);
    const item = page.locator('.agents li', { hasText: 'Nothing to say' });
    await item.locator('.agent-warnings', { hasText: 'language model' }).waitFor(PATIENCE);
    await item.getByRole('link', { name: 'Nothing to say' }).click();
    await page.locator('h1', { hasText: 'Nothing to say' }).waitFor(PATIENCE); // the list has warnings, too
    await page.locator('.agent-warnings', { hasText: 'language model' }).waitFor(PATIENCE);
    await page.locator('#config-first_message').fill('Hello again.');
    const questions: string[] = [];
    page.once('dialog', (dialog) => {
      questions.push(dialog.message());
      void dialog.dismiss();
    });
    await page.getByRole('link', { name: '← Agents' }).click();
    await expect.poll(() => questions, PATIENCE).toEqual(['Your changes are not saved. Leave and lose them?']);
    await expect.poll(() => page.url(), PATIENCE).toContain(String(id));
    expect(await page.locator('#config-first_message').inputValue()).toBe('Hello again.');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Really delete, with its versions?' }).click();
    await page.locator('h1', { hasText: 'Agents' }).waitFor(PATIENCE);
    const { status } = await fetch(`${daemon.address}/agents/${String(id)}`, { headers: { authorization: key } });
    expect(status).toBe(404);
  });

  it('makes an agent, and a copy of it', async () => {
    await page.goto(`${daemon.address}/console#/agents`);
    await page.getByLabel('Name').fill('The Night Shift');
    await page.getByRole('button', { name: 'Make' }).click();
    await page.locator('h1', { hasText: 'The Night Shift' }).waitFor(PATIENCE);
    await page.getByRole('link', { name: '← Agents' }).click();
    await page.getByRole('button', { name: 'Duplicate The Night Shift' }).click();
    await page.locator('h1', { hasText: 'The Night Shift (copy)' }).waitFor(PATIENCE);
  });

  it('buys a number, and says who answers it', async () => {
    await page.goto(`${daemon.address}/console#/numbers`);
    await page.locator('.item').first().waitFor(PATIENCE);
    await page.getByLabel('Area code').fill('212');
    await page.getByRole('button', { name: 'Buy' }).click();
    const bought = page.locator('.item', { hasText: '+1212' });
    await bought.getByLabel(/Who answers/).selectOption('the-crooked-fork', PATIENCE);
    await expect
      .poll(async () => ((await ask('GET', '/phones')) as unknown as { agent_id: string }[])[1]?.agent_id, PATIENCE)
      .toBe('the-crooked-fork');
    await bought.getByRole('button', { name: /Switch off/ }).press('Enter');
    await bought.getByRole('button', { name: /Switch on/ }).waitFor(PATIENCE);
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.getAttribute("aria-label")');
    await expect.poll(focused, PATIENCE).toMatch(/^Switch on \+1212/);
    await bought.getByRole('button', { name: /Give back/ }).click();
    await bought.getByRole('button', { name: /Really/ }).click();
    await bought.waitFor({ ...PATIENCE, state: 'detached' });
  });

  it('calls people from a file, and shows how far that is', async () => {
    await page.goto(`${daemon.address}/console#/campaigns`);
    await page.getByText('No campaigns yet').waitFor(PATIENCE);
    await page.getByLabel('Name').fill('Tonight');
    await page.getByRole('button', { name: 'Make' }).click();
    await page.getByLabel(/One of our numbers/).selectOption({ index: 1 }, PATIENCE);
    await page.getByText('How it calls').click();
    await page.locator('summary', { hasText: 'calling_hours' }).click(PATIENCE);
    await page.locator('[id="config-calling_hours.start"]').fill('00:00');
    await page.locator('[id="config-calling_hours.end"]').fill('24:00');
    const days = page.locator('details', { has: page.locator('> summary > code:text-is("days")') });
    await days.last().locator('summary').click();
    await days.last().getByRole('button', { name: 'Add one' }).click();
    await page.locator('[id="config-calling_hours.days.6"]').selectOption({ label: 'sun' });
    await page.locator('.schedule').getByRole('button', { name: 'Save' }).click();
    const buffer = Buffer.from('phone;Name\n+12025550107;"Bob; who is busy"\n555-0103;Nobody\n');
    await page.getByLabel('CSV or JSON').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
    await page.getByText('+12025550107 Bob; who is busy').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('1 refused at the upload').waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('.item', { hasText: 'The line was busy' }).waitFor(PATIENCE);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('.call-top .pill', { hasText: 'paused' }).waitFor(PATIENCE);
    await page.getByLabel('Status').selectOption('rejected');
    await page.locator('.item', { hasText: '555-0103' }).waitFor(PATIENCE);
    await page.getByRole('link', { name: 'Its calls' }).click();
    await page.locator('.call-row', { hasText: 'busy' }).waitFor(PATIENCE);
  });

  it('takes a file of knowledge, and gives it to an agent', async () => {
    await page.goto(`${daemon.address}/console#/knowledge`);
    const buffer = Buffer.from('The blue kettle has a warranty of three years.');
    await page
      .getByLabel('Files', { exact: true })
      .first()
      .setInputFiles({ name: 'kettle.txt', mimeType: 'text/plain', buffer });
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('kettle.txt can be searched.').waitFor(PATIENCE);
    await page.getByRole('checkbox', { name: 'kettle.txt' }).check();
    await page.getByRole('button', { name: 'Give' }).click();
    await page.getByText('Given: one file').waitFor(PATIENCE);
    await page.reload();
    await expect.poll(() => page.getByRole('checkbox', { name: 'kettle.txt' }).isChecked(), PATIENCE).toBe(true);
    await page.getByRole('button', { name: 'Delete kettle.txt' }).click();
    await page.getByRole('button', { name: 'Really delete? Delete kettle.txt' }).click();
    await page.getByText('No files yet').waitFor(PATIENCE);
  });

  it('makes a key, shows it once, and revokes it', async () => {
    await page.goto(`${daemon.address}/console#/keys`);
    await page.getByLabel('Kind').selectOption('private', PATIENCE);
    await page.getByLabel('Name').fill('The shop');
    await page.getByLabel('Manage keys').uncheck();
    await page.getByRole('button', { name: 'Make' }).click();
    const made = await page.getByLabel('The key The shop').inputValue(PATIENCE);
    expect((await fetch(`${daemon.address}/agents`, { headers: { authorization: made } })).status).toBe(200);
    expect((await fetch(`${daemon.address}/keys`, { headers: { authorization: made } })).status).toBe(403);
    const item = page.locator('.item', { hasText: 'The shop' });
    expect(await item.innerText()).toContain('read, write, publish, calls, evals ·');
    await item.getByRole('button', { name: /Revoke/ }).click();
    await item.getByRole('button', { name: /Really/ }).click();
    await item.waitFor({ ...PATIENCE, state: 'detached' });
    expect((await fetch(`${daemon.address}/agents`, { headers: { authorization: made } })).status).toBe(401);
  });

  it.each([
    [320, 640],
    [1280, 800],
  ])('fits a window of %i by %i', async (width, height) => {
    await page.setViewportSize({ width, height });
    const places = ['calls', `calls/${sessionId}`, 'active', 'live', 'agents', 'agents/the-crooked-fork', 'campaigns'];
    const [campaign] = (await ask('GET', '/campaigns')) as unknown as { id: string }[];
    for (const place of [...places, `campaigns/${campaign?.id ?? ''}`, 'numbers', 'knowledge', 'keys']) {
      const hash = `#/${place}`;
      await page.goto(`${daemon.address}/console${hash}`);
      await page.locator('#view h1').waitFor(PATIENCE);
      await expect.poll(() => page.locator('#view .state[role=status]').count(), PATIENCE).toBe(0);
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

/** A running call of the list, as the daemon tells of it. */
function simulatedCall(at: number, kinds: readonly string[]): unknown {
  const id = `simulated-${String(at)}`;
  const parties = { from: '+12025550101', to: '+12025550100', channel: 'phone', direction: 'inbound' };
  const live = {
    state: 'listening',
    state_since: 1,
    user_muted: false,
    agent_muted: false,
    participants: [],
    tool: null,
    topic: { tool: null, words: ['table'] },
    user_said: 'A table, please.',
    agent_said: 'For how many?',
    sentiment: null,
    turns: 1,
    response_ms: 500,
    median_response_ms: 500,
    warnings: kinds.map((kind) => ({ kind, since: 1, detail: null })),
  };
  return {
    session_id: id,
    call_id: null,
    call_status: 'in-progress',
    agent_id: null,
    campaign_id: null,
    ts: at,
    ...parties,
    live,
  };
}

/** In the page: these calls are the running ones, and `tell` sends more events of them. */
const feedCalls = `(calls) => {
  const real = fetch;
  globalThis.fetch = (url, options) => {
    if (!String(url).endsWith('/calls/live/events')) return real(url, options);
    const start = (stream) => {
      const encoder = new TextEncoder();
      globalThis.tell = (event, data) =>
        stream.enqueue(encoder.encode('event: ' + event + '\\ndata: ' + JSON.stringify(data) + '\\n\\n'));
      tell('calls', { calls });
    };
    return Promise.resolve(new Response(new ReadableStream({ start })));
  };
}`;
