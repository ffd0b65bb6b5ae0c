import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TalkClientMessage } from '../../src/transports/talk-protocol.js';
import { hasChromium, TalkingBrowser, unexpectedErrors } from './browser.js';
import { HostSite } from './host-site.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const AGENT_FILE = fileURLToPath(new URL('forms-agent.json', import.meta.url));

describe.skipIf(!hasChromium)('calls of the widget', { timeout: 240_000 }, () => {
  let site: HostSite;
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;
  /** What the page has sent beside audio. */
  const sent: TalkClientMessage[] = [];

  beforeAll(async () => {
    site = await HostSite.open();
    daemon = await serve();
    browser = await TalkingBrowser.launch();
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await site.close();
    expect(await daemon.stop()).toBe(0);
    expect(daemon.log).not.toContain('fault:');
  }, 30_000);

  beforeEach(async () => {
    sent.length = 0;
    const key = 'data-agent-id="the-till" data-public-key="pk_served"';
    const address = site.page(
      `<script src="${daemon.address}/widget.js" ${key} data-metadata='{"guest":"Ann"}'></script>`,
    );
    page = await browser.visit(address, async (fresh) => {
      fresh.on('websocket', (socket) => {
        socket.on('framesent', ({ payload }) => {
          if (typeof payload === 'string') sent.push(JSON.parse(payload) as TalkClientMessage);
        });
      });
    });
  });

  afterEach(async () => {
    await page.close();
    expect(browser.errors.splice(0)).toEqual([]);
  });

  const serve = (port = '0'): Promise<ServedDaemon> =>
    ServedDaemon.start(port, AGENT_FILE, { PARLEY_ALLOWED_ORIGINS: site.origin });
  const says = (text: string): Promise<void> =>
    page.locator('.bubble.agent', { hasText: text }).first().waitFor(PATIENCE);
  const type = async (text: string): Promise<void> => {
    if (!(await page.locator('.panel').isVisible())) await page.locator('.chat').click();
    await page.locator('.typing input').fill(text);
    await page.locator('.typing input').press('Enter');
  };
  const notice = (text: string): Promise<void> => page.locator('.notice p', { hasText: text }).waitFor(PATIENCE);

  it('have forms, filled in by the keyboard, checked by the server, skipped, and gone with the call', async () => {
    await type('I want a receipt');
    const field = page.getByLabel('Where shall the receipt go?');
    await field.waitFor(PATIENCE);
    await expect.poll(() => page.evaluate('document.activeElement.shadowRoot.activeElement.type')).toBe('email');
    await page.keyboard.type('ann@till');
    await page.keyboard.press('Enter');
    await page.locator('.form-problem').waitFor(PATIENCE);
    await page.keyboard.press('End');
    await page.keyboard.type('.example');
    await page.keyboard.press('Enter');
    await says('It goes to ann@till.example.');
    await type('please wrap it');
    await page.getByLabel('Is gift').selectOption('Yes');
    await page.locator('.form-send').click();
    await says('The answer was');
    await type('I want a receipt');
    await page.locator('.form-card').waitFor(PATIENCE);
    await page.keyboard.press('Escape');
    await says('Then without a receipt.');
    await type('open the drawer'); // is for another client
    await says('It stays shut.');
    await type('I want a receipt');
    await page.locator('.form-card').waitFor(PATIENCE);
    await page.locator('.launcher').click();
    await expect.poll(() => page.locator('.form-card').count()).toBe(0);
  });

  it('tell the agent of the user, and send keys', async () => {
    await page.locator('.launcher').click();
    await says('Hello.');
    await page.getByRole('button', { name: 'Keypad' }).click();
    await page.getByRole('button', { name: 'star' }).click();
    await page.keyboard.type('7');
    const [initiate, ...keys] = sent.filter(({ method }) => method !== 'ping') as unknown[];
    expect(initiate).toMatchObject({ method: 'initiate', data: { metadata: { guest: 'Ann' } } });
    expect(keys).toEqual([
      { method: 'dtmf', data: '*' },
      { method: 'dtmf', data: '7' },
    ]);
    expect(await page.locator('.bubble.user .text').allInnerTexts()).toContain('*7');
  });

  it('can be muted: then the agent gets silence', async () => {
    await page.locator('.launcher').click();
    await says('Hello.');
    const mute = page.getByRole('button', { name: 'Mute' });
    await mute.click();
    expect(await mute.getAttribute('aria-pressed')).toBe('true');
    const level = 'document.querySelector("parley-widget").stats.microphoneLevel';
    await expect.poll(() => page.evaluate(level), PATIENCE).toBeLessThan(1e-6);
    await page.locator('.launcher').click();
    expect([await mute.getAttribute('aria-pressed'), await mute.isDisabled()]).toEqual(['false', true]);
  });

  it('go to the gateway of the embed configuration', async () => {
    const gateway = daemon.address.replace('127.0.0.1', 'localhost');
    const nothing = { idle: null, connecting: null, running: null };
    const looks = {
      titles: nothing,
      icons: nothing,
      background: null,
      buttonCss: null,
      transcript: null,
      size: null,
    };
    const headers = { 'access-control-allow-origin': site.origin };
    await page.route('**/embed', (route) =>
      route.fulfill({ headers, json: { ...looks, region: 'eu', base_url: `${gateway}/` } }),
    );
    await page.reload();
    const line = page.waitForEvent('websocket', PATIENCE);
    await page.locator('.launcher').click();
    expect((await line).url()).toBe(`${gateway.replace('http', 'ws')}/talk`);
    await says('Hello.');
  });

  it('say when the microphone is gone', async () => {
    await page.locator('.launcher').waitFor();
    await page.evaluate(`const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = async (wish) => (globalThis.stream = await ask(wish));`);
    await page.locator('.launcher').click();
    await says('Hello.');
    await page.evaluate('stream.getAudioTracks()[0].dispatchEvent(new Event("ended"))');
    await notice('The microphone is gone. You can type instead.');
    await page.getByRole('button', { name: 'Dismiss' }).press('Enter');
    expect(await page.evaluate('document.activeElement.shadowRoot.activeElement.className')).toBe('launcher');
    await type('open the drawer');
    await says('It stays shut.');
  });

  it('say that the line is lost, and go on by themselves when the daemon is back', async () => {
    await type('open the drawer');
    await says('It stays shut.');
    await daemon.kill();
    await notice('The connection was lost. Trying to get it back …');
    daemon = await serve(new URL(daemon.address).port);
    // The session is lost with the data folder: the new one learns what was said.
    await page.locator('.note', { hasText: 'The call goes on' }).waitFor(PATIENCE);
    await type('please wrap it');
    await page.getByLabel('Is gift').waitFor(PATIENCE);
    expect(await page.locator('.notice').isHidden()).toBe(true);
    expect(unexpectedErrors(browser.errors.splice(0))).toEqual([]);
  });

  it('end when another one of the page begins', async () => {
    await page.evaluate(`document.body.append(Object.assign(document.createElement('div'), { id: 'second' }))`);
    await page.evaluate(`{
      const second = document.querySelector('parley-widget').cloneNode();
      second.setAttribute('position', 'inline');
      document.querySelector('#second').append(second);
    }`);
    await page.locator('parley-widget').first().locator('.launcher').click();
    await page.locator('parley-widget').first().locator('.widget[data-display="running"]').waitFor(PATIENCE);
    await page.locator('#second .launcher').click();
    await page.locator('#second .widget[data-display="running"]').waitFor(PATIENCE);
    const other = page.locator('body > parley-widget');
    await other.locator('.widget[data-display="idle"]').waitFor(PATIENCE);
    expect(await other.locator('.note').last().textContent()).toBe('Another conversation has begun on this page');
  });

  it('have the name of the agent', async () => {
    await type('open the drawer');
    await says('It stays shut.');
    expect(await page.locator('.bubble.agent .name').first().innerText()).toMatch(/till/i);
  });

  it('go on where the line was cut and the server still knows what was said', async () => {
    let cut = (): void => undefined;
    const initiated: string[] = [];
    await page.routeWebSocket('**/talk', (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => {
        if (typeof message === 'string' && message.includes('initiate')) initiated.push(message);
        server.send(message);
      });
      cut = () => {
        void socket.close({ code: 4000 });
        void server.close();
      };
    });
    await type('open the drawer');
    await says('It stays shut.');
    cut();
    await page.locator('.note', { hasText: 'The call goes on' }).waitFor(PATIENCE);
    await type('please wrap it');
    await page.getByLabel('Is gift').waitFor(PATIENCE);
    expect(initiated).toHaveLength(2);
    expect(JSON.parse(initiated[1] ?? '')).toMatchObject({
      data: { session_continuation: { session_id: expect.stringMatching(/^[\da-f-]{36}$/) as string } },
    });
  });

  it('go on when the user wishes it, without a second greeting', async () => {
    let fail = (): void => undefined;
    await page.routeWebSocket('**/talk', (socket) => {
      const server = socket.connectToServer();
      fail = () => {
        void socket.close({ code: 1000, reason: 'Something failed.' });
        void server.close();
      };
    });
    const greetings = async (): Promise<number> =>
      (await page.locator('.bubble.agent .text').allInnerTexts()).filter((text) => text.startsWith('Hello')).length;
    await type('open the drawer');
    await says('It stays shut.');
    const before = await greetings();
    fail();
    await notice('Something failed.');
    await page.getByRole('button', { name: 'Go on' }).press('Enter');
    await page.locator('.note', { hasText: 'The call goes on' }).waitFor(PATIENCE);
    await type('please wrap it');
    await page.getByLabel('Is gift').waitFor(PATIENCE);
    const initiates = (sent as readonly { method: string }[]).filter(({ method }) => method === 'initiate');
    expect(initiates).toHaveLength(2);
    expect(initiates[1]).toMatchObject({ data: { session_continuation: { resume: true } } });
    expect(await greetings()).toBe(before);
  });
});
