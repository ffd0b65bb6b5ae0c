import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';
import { wordErrorRate } from '../../src/testing/labels/wer.js';
import { hasChromium, spokenText, TalkingBrowser } from './browser.js';
import { accessible, css } from './element-facts.js';
import { HostSite } from './host-site.js';
import { ServedDaemon } from './served-daemon.js';

/** A conversation takes as long as it takes, on a machine that does other things as well. */
const PATIENCE = { timeout: 60_000 };
const PRIVATE = { authorization: 'sk_widget_test', 'content-type': 'application/json' };
const AGENT = 'the-crooked-fork';
/** Keeps what the page takes from the browser, to see that it is given back. */
const PROBE = `
  const probe = (globalThis.probe = { tracks: [], contexts: [] });
  const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (wish) => {
    const stream = await ask(wish);
    probe.tracks.push(...stream.getTracks());
    return stream;
  };
  globalThis.AudioContext = class extends AudioContext {
    constructor(...options) { super(...options); probe.contexts.push(this); }
  };`;
/** Rules for everything, and sizes that nobody expects. */
const LOUD_STYLE = `<style>
  html { font-size: 10px } * { color: red; letter-spacing: 3px; text-transform: uppercase; font-size: 30px }
  button { background: yellow !important } .panel, .widget, .launcher { display: none !important }
  parley-widget { display: none; position: absolute; width: 1px }</style>`;

it('is at most 20 kB on the way to the browser', () => {
  const script = readFileSync(packageFile('dist/web/widget.js'));
  expect(gzipSync(script, { level: 9 }).length).toBeLessThan(20_000);
});

describe.skipIf(!hasChromium)('the widget, on a page of another origin', { timeout: 240_000 }, () => {
  let site: HostSite;
  let stranger: HostSite;
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  const pages: Page[] = [];

  beforeAll(async () => {
    [site, stranger] = await Promise.all([HostSite.open(), HostSite.open()]);
    const env = { PARLEY_ALLOWED_ORIGINS: site.origin, PARLEY_API_KEY: PRIVATE.authorization };
    daemon = await ServedDaemon.start('0', undefined, env);
    browser = await TalkingBrowser.launch();
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await Promise.all([site.close(), stranger.close()]);
    expect(await daemon.stop()).toBe(0);
    expect(daemon.log).not.toContain('fault:');
  }, 30_000);

  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.close()));
    expect(browser.errors.splice(0)).toEqual([]);
    await expect.poll(sessions, PATIENCE).toBe(0);
    expect((await looks({})).status).toBe(200);
  });

  const snippet = (more = ''): string =>
    `<script src="${daemon.address}/widget.js" data-agent-id="${AGENT}" data-public-key="pk_served" ${more}></script>`;
  const visit = async (address: string, script = PROBE): Promise<Page> => {
    const page = await browser.visit(address, (fresh) => fresh.addInitScript({ content: script }));
    pages.push(page);
    return page;
  };
  const launcher = (on: Page | Locator): Locator => on.locator('.launcher');
  const is = (display: string, on: Page | Locator): Promise<void> =>
    on.locator(`.widget[data-display="${display}"]`).waitFor(PATIENCE);
  const answer = (on: Page | Locator, text: string): Promise<void> =>
    on.locator('.bubble.agent', { hasText: text }).first().waitFor(PATIENCE);
  const notice = (on: Page): Promise<string> => on.locator('.notice p', { hasText: /./ }).innerText(PATIENCE);
  const type = async (on: Page | Locator, text: string): Promise<void> => {
    await on.locator('.typing input').fill(text);
    await on.locator('.send').click();
  };
  const freed = (page: Page): Promise<unknown> =>
    page.evaluate(`[...probe.tracks.map((track) => track.readyState), ...probe.contexts.map((it) => it.state)]`);
  const looks = (body: unknown): Promise<Response> =>
    fetch(`${daemon.address}/agents/${AGENT}/embed`, { method: 'POST', headers: PRIVATE, body: JSON.stringify(body) });

  /** Conversations that go on, as the daemon counts them. */
  async function sessions(): Promise<number> {
    const metrics = await (await fetch(`${daemon.address}/metrics`, { headers: PRIVATE })).text();
    return Number(/^parley_sessions (\d+)$/m.exec(metrics)?.[1]);
  }

  it('greets aloud, understands what is spoken, shows it, and gives everything back at the end', async () => {
    const page = await visit(site.page(snippet('data-name="Olive"')));
    await launcher(page).click();
    await is('running', page);
    await expect
      .poll(() => page.evaluate('document.querySelector("parley-widget").stats.level'), PATIENCE)
      .toBeGreaterThan(0.01);
    await answer(page, 'The Crooked Fork');
    expect(await page.locator('.bubble.agent .name').first().innerText()).toBe('Olive');
    const leastErrors = async (): Promise<number> => {
      const heard = await page.locator('.bubble.user .text').allInnerTexts();
      return Math.min(1, ...heard.map((text) => wordErrorRate([[spokenText(), text]])));
    };
    await expect.poll(leastErrors, { timeout: 120_000 }).toBeLessThan(0.5);
    await page.locator('.bubble.agent').nth(1).waitFor(PATIENCE);
    await launcher(page).click();
    await is('idle', page);
    expect(await page.locator('.note').last().innerText()).toBe('You hung up');
    expect(await freed(page)).toEqual(['ended', 'closed']);
  });

  it('takes typed words without a microphone', async () => {
    const page = await visit(site.page(snippet()));
    await page.locator('.chat').click();
    expect(await page.evaluate('document.activeElement.shadowRoot.activeElement.placeholder')).toBe('Type a message …');
    await page.keyboard.type('Where are you?');
    await page.keyboard.press('Enter');
    await answer(page, 'Harbour');
    expect(await page.locator('.bubble.user .text').allInnerTexts()).toEqual(['Where are you?']);
    expect(await page.evaluate('probe.tracks.length')).toBe(0);
    expect(await page.locator('.tool[aria-label="Mute"]').isDisabled()).toBe(true);
    // Response times are the operator's business.
    expect(await page.locator('.times').count()).toBe(0);
  });

  it.each(['is taken out', 'is left', 'gets another agent'])('ends its call when the page %s', async (how) => {
    const page = await visit(site.page(snippet()));
    await launcher(page).click();
    await answer(page, 'The Crooked Fork');
    expect(await sessions()).toBe(1);
    if (how === 'is left') await page.goto(site.page('Another page'));
    else if (how === 'is taken out') await page.evaluate('document.querySelector("parley-widget").remove()');
    else await page.evaluate('document.querySelector("parley-widget").setAttribute("agent-id", "nobody")');
    await expect.poll(sessions, PATIENCE).toBe(0);
    if (how === 'is left') return;
    expect(await freed(page)).toEqual(['ended', 'closed']);
    if (how === 'is taken out') return;
    await launcher(page).click();
    expect(await notice(page)).toBe('There is no such voice agent.');
    const errors = browser.errors.splice(0);
    expect(errors.every((error) => error.includes('404'))).toBe(true);
  });

  it('does not disturb other widgets on its page, nor they it', async () => {
    const page = await visit(site.page(snippet('data-position="inline"') + snippet('data-position="inline"')));
    const [one, other] = [page.locator('parley-widget').first(), page.locator('parley-widget').last()];
    await type_(one, 'When are you open?');
    await answer(one, 'eleven');
    // They share one microphone: the call of the first ends when the other one begins.
    await type_(other, 'Where are you?');
    await answer(other, 'Harbour');
    await expect.poll(sessions, PATIENCE).toBe(1);
    await page.evaluate('document.querySelector("parley-widget").remove()');
    expect(await sessions()).toBe(1);
    await type(page, 'When are you open?');
    await answer(page, 'eleven');
  });

  const type_ = async (widget: Locator, text: string): Promise<void> => {
    await widget.locator('.chat').click();
    await type(widget, text);
  };

  it('leaves nothing global behind, and takes nothing from the rules of the page', async () => {
    const page = await visit(
      site.page(`${LOUD_STYLE}<script>globalThis.before = Object.keys(globalThis)</script>${snippet()}`),
    );
    await launcher(page).waitFor();
    const added = 'Object.keys(globalThis).filter((key) => !before.includes(key) && key !== "before")';
    expect(await page.evaluate(added)).toEqual([]);
    const [plain, loud] = await Promise.all(
      [await visit(site.page(snippet())), page].map(async (each) => {
        await launcher(each).waitFor();
        return each.evaluate(`(() => {
          const style = getComputedStyle(document.querySelector('parley-widget').shadowRoot.querySelector('.launcher'));
          return [style.backgroundColor, style.color, style.fontSize, style.letterSpacing, style.height, style.textTransform];
        })()`);
      }),
    );
    expect(loud).toEqual(plain);
  });

  it('works under a strict Content Security Policy', async () => {
    const policy = `default-src 'none'; script-src ${daemon.address}; connect-src ${daemon.address} ${daemon.address.replace('http', 'ws')}; require-trusted-types-for 'script'`;
    const page = await visit(site.page(snippet(), { 'content-security-policy': policy }));
    await launcher(page).click();
    await answer(page, 'The Crooked Fork');
    expect(await css(launcher(page), 'borderRadius')).toBe('28px');
  });

  it.each([
    [
      'NotAllowedError',
      'This page may not use the microphone. Allow it in the address bar and call again. You can type instead.',
    ],
    ['NotFoundError', 'No microphone was found. You can type instead.'],
    ['NotReadableError', 'The microphone is in use by another program, or it does not answer. You can type instead.'],
  ])('explains %s and offers typing', async (name, words) => {
    const refuse = `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', '${name}'));`;
    const page = await visit(site.page(snippet()), refuse);
    await launcher(page).click();
    expect(await notice(page)).toBe(words);
    await is('idle', page);
    await page.locator('.notice-action').click();
    await answer(page, 'The Crooked Fork');
    await type(page, 'Where are you?');
    await answer(page, 'Harbour');
  });

  it('says that a page may not use the microphone where its policy rules it out', async () => {
    const page = await visit(site.page(snippet(), { 'permissions-policy': 'microphone=()' }));
    await launcher(page).click();
    expect(await notice(page)).toContain('set up so that nothing in it may use the microphone');
    expect(browser.errors.splice(0).join()).toContain('microphone is not allowed'); // the browser's own words
  });

  it('says where it may not be used, what is wrong with it, that it is busy or switched off', async () => {
    const wrong = await visit(stranger.page(snippet()));
    await launcher(wrong).click();
    expect(await notice(wrong)).toBe(`The voice agent may not be used on pages of ${stranger.origin}.`);
    const keyless = await visit(
      site.page(`<script src="${daemon.address}/widget.js" data-agent-id="${AGENT}"></script>`),
    );
    await launcher(keyless).click();
    expect(await notice(keyless)).toContain('it needs an agent-id and a public-key');
    const unknown = await visit(site.page(snippet().replace('pk_served', 'pk_other')));
    await launcher(unknown).click();
    expect(await notice(unknown)).toContain('its key is not known');
    const busy = await visit(site.page(snippet()));
    const headers = { 'access-control-allow-origin': site.origin };
    await busy.route('**/sessions/token', (route) => route.fulfill({ status: 429, headers, json: { detail: 'x' } }));
    await launcher(busy).click();
    expect(await notice(busy)).toBe('The voice service is busy. Try again in a moment.');
    browser.errors.splice(0); // the browser's own, on requests that were refused
    await status('disabled');
    const off = await visit(site.page(snippet()));
    await launcher(off).click();
    expect(await notice(off)).toBe('This agent is disabled and takes no calls');
    await status('active');
    await off.locator('.notice-action').click();
    await answer(off, 'The Crooked Fork');
  });

  const status = (to: string): Promise<Response> =>
    fetch(`${daemon.address}/agents/${AGENT}/status`, {
      method: 'POST',
      headers: PRIVATE,
      body: JSON.stringify({ status: to }),
    });

  it('looks as the embed configuration says', async () => {
    const pixel = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
    await looks({
      titles: { idle: 'Book a table', connecting: 'One moment', running: '' },
      icons: { idle: pixel, running: 'data:image/png;base64,nonsense' },
      background: 'rgb(1, 2, 3)',
      buttonCss: 'border-radius: 7px',
      size: 72,
      transcript: false,
    });
    const page = await visit(
      site.page(snippet()),
      `${PROBE} const now = navigator.mediaDevices.getUserMedia;
      navigator.mediaDevices.getUserMedia = (wish) => new Promise((go) => (globalThis.go = go)).then(() => now(wish));`,
    );
    const button = launcher(page);
    await expect.poll(() => button.innerText(), PATIENCE).toBe('Book a table');
    expect(await button.locator('img').getAttribute('src')).toBe(pixel);
    await expect.poll(() => css(button, 'backgroundColor'), PATIENCE).toBe('rgb(1, 2, 3)');
    expect(await css(button, 'borderRadius')).toBe('7px');
    expect((await button.boundingBox())?.height).toBe(72);
    await button.click();
    await is('connecting', page);
    expect([await button.innerText(), await button.getAttribute('aria-label')]).toEqual([
      'One moment',
      'One moment. Connecting, press to cancel',
    ]);
    await page.evaluate('go()');
    await is('running', page);
    expect(await button.getAttribute('aria-label')).toBe('On the line, press to hang up');
    await button.locator('svg.icon-hangup').waitFor(); // in place of a picture that is none
    const { width = 0, height = 1 } = (await button.boundingBox()) ?? {};
    expect(width).toBeCloseTo(height, 1); // a thousandth of a pixel is rounded apart
    await expect
      .poll(() => page.evaluate('document.querySelector("parley-widget").stats.playedSamples'), PATIENCE)
      .toBeGreaterThan(8000);
    expect(await page.locator('.panel').isVisible()).toBe(false);
    await page.locator('.chat').click();
    expect(await page.locator('.scroller').isVisible()).toBe(false);
  });

  it('asks for consent once, and calls nobody before', async () => {
    const page = await visit(
      site.page(snippet('data-consent="Calls are kept." data-consent-url="https://shop.example/privacy"')),
    );
    await launcher(page).click();
    await page.locator('.consent', { hasText: 'Calls are kept.' }).waitFor(PATIENCE);
    expect(await page.locator('.consent a').getAttribute('href')).toBe('https://shop.example/privacy');
    await page.getByRole('button', { name: 'Not now' }).click();
    expect([await sessions(), await page.evaluate('probe.tracks.length')]).toEqual([0, 0]);
    await type(page, 'Where are you?');
    await page.getByRole('button', { name: 'Agree and start' }).click();
    await answer(page, 'Harbour');
    await launcher(page).click();
    await is('idle', page);
    await launcher(page).click();
    await is('running', page);
    expect(await page.locator('.consent').isVisible()).toBe(false);
  });

  it('works in a frame, which only pages that may use the key can show', async () => {
    const frame = `<iframe src="${daemon.address}/widget?agent_id=${AGENT}&public_key=pk_served&name=Olive" allow="microphone; autoplay" style="width:320px;height:480px"></iframe>`;
    const page = await visit(site.page(frame));
    const inside = page.frameLocator('iframe').locator('body');
    await launcher(inside).click();
    await answer(inside, 'The Crooked Fork');
    await type(inside, 'Where are you?');
    await answer(inside, 'Harbour');
    expect(await inside.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    const other = await visit(stranger.page(frame));
    await expect.poll(() => browser.errors.join(), PATIENCE).toContain('frame-ancestors');
    expect(await other.frameLocator('iframe').locator('.launcher').count()).toBe(0);
    browser.errors.splice(0);
  });

  it('is worked by the keyboard, and read by a screen reader', async () => {
    const page = await visit(site.page(snippet('data-name="Olive"')));
    await launcher(page).waitFor();
    const session = await page.context().newCDPSession(page);
    expect(await accessible(session)).toEqual([
      'button: Text and transcript',
      'button: Talk to us. Start a voice call',
    ]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await page.locator('.launcher:focus-visible').count()).toBe(1);
    expect(await css(launcher(page), 'outlineStyle')).toBe('solid');
    await page.keyboard.press('Enter');
    await answer(page, 'The Crooked Fork');
    expect(await accessible(session)).toEqual([
      'region: Conversation with Olive',
      'button: Mute',
      'button: Keypad',
      'button: Hide',
      'log: Transcript',
      'textbox: Message to the agent',
      'button: Send',
      'status: On the line',
      'button: Text and transcript',
      'button: Hang up. On the line, press to hang up',
    ]);
    await page.getByRole('button', { name: 'Keypad' }).press('Enter');
    await page.keyboard.type('12#');
    expect(await page.locator('.bubble.user .text').allInnerTexts()).toContain('12#');
    await page.keyboard.press('Escape');
    await launcher(page).press('Space');
    await is('idle', page);
    expect(await accessible(session)).toContain('status: Call ended');
    await page.getByRole('button', { name: 'Hide' }).press('Enter');
    expect(await page.evaluate('document.activeElement.shadowRoot.activeElement.className')).toBe('chat');
  });

  it.each([
    [320, 568],
    [1280, 720],
  ])('fits a window of %i by %i, in light and dark', async (width, height) => {
    const page = await visit(site.page(snippet('data-consent="Calls are kept for a while."')));
    await page.setViewportSize({ width, height });
    await launcher(page).click();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      for (const part of ['.panel', '.launcher', '.typing input', '.consent']) {
        const box = await page.locator(part).boundingBox();
        expect(
          box !== null && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height,
          part,
        ).toBe(true);
      }
      const surface = await css(page.locator('.panel'), 'backgroundColor');
      expect(surface).toBe(colorScheme === 'light' ? 'rgb(255, 254, 251)' : 'rgb(27, 30, 29)');
    }
  });
});
