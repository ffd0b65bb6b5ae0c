import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wordErrorRate } from '../../src/testing/labels/wer.js';
import { hasChromium, spokenText, TalkingBrowser, unexpectedErrors } from './browser.js';
import { ServedDaemon } from './served-daemon.js';

/** A conversation takes as long as it takes, on a machine that does other things as well. */
const PATIENCE = { timeout: 150_000 };

describe.skipIf(!hasChromium)('the page, in a real browser', { timeout: 600_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;

  beforeAll(async () => {
    daemon = await ServedDaemon.start();
    browser = await TalkingBrowser.launch();
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    expect(await daemon.stop()).toBe(0);
    expect(daemon.log).not.toContain('fault:');
  }, 30_000);

  beforeEach(async () => {
    page = await browser.open(daemon.address, watch);
  }, 60_000);

  afterEach(async () => {
    await page.close();
    expect(browser.errors.splice(0)).toEqual([]);
  });

  /** Notes each phase and the loudest sound: a busy machine looks too late for what lasts some seconds. */
  const watch = (fresh: Page): Promise<unknown> =>
    fresh.addInitScript({
      content: `addEventListener('DOMContentLoaded', () => {
        globalThis.seen = { phases: [], loudest: 0 };
        new MutationObserver(() => seen.phases.push(document.body.dataset.phase)).observe(document.body, {
          attributeFilter: ['data-phase'],
        });
        setInterval(() => (seen.loudest = Math.max(seen.loudest, globalThis.parleyStats?.level ?? 0)), 20);
      });`,
    });
  const hasBeen = (name: string, on = page): Promise<void> =>
    expect.poll(() => on.evaluate('seen.phases'), PATIENCE).toContain(name);
  const loudest = (on = page): Promise<number> => on.evaluate('seen.loudest');
  const phase = (name: string, on = page): Promise<unknown> =>
    on.waitForSelector(`body[data-phase="${name}"]`, PATIENCE);
  const answers = (on = page): Promise<string[]> => on.locator('.bubble.agent .text').allInnerTexts();
  const anotherAnswer = (before: number, on = page): Promise<unknown> =>
    on.locator('.bubble.agent').nth(before).waitFor(PATIENCE);

  it('hears what is spoken, answers aloud and says how long that took', async () => {
    await page.click('#talk');
    await hasBeen('speaking');
    await expect.poll(loudest, PATIENCE).toBeGreaterThan(0.01);
    // Chromium on a busy machine drops sound, but the microphone hears the same words again and again.
    await expect.poll(leastWordErrors, PATIENCE).toBeLessThan(0.5);
    await anotherAnswer(1);
    await page.locator('.times-total').first().waitFor(PATIENCE);
    expect((await answers())[0]).toContain('Crooked Fork');
    expect(await page.locator('.times-total').first().innerText()).toMatch(/^(\d+ ms|\d\.\d\d s)$/);
    expect(await page.locator('.summary-figure').innerText()).toMatch(/\d/);
    expect(await page.locator('.times .bar-part').count()).toBeGreaterThan(0);
    expect(await page.evaluate('parleyStats.playedSamples')).toBeGreaterThan(16_000);
    expect(await page.evaluate('parleyStats.sentChunks')).toBeGreaterThan(100);
  });

  it('shares the server with other pages: two calls at once, each with its own agent', async () => {
    const other = await browser.open(daemon.address, watch);
    await page.click('#talk');
    await other.click('#talk');
    await Promise.all([anotherAnswer(0), anotherAnswer(0, other)]);
    await page.fill('#text', 'When are you open?');
    await page.press('#text', 'Enter');
    await other.fill('#text', 'Where are you?');
    await other.press('#text', 'Enter');
    await page.locator('.bubble.agent', { hasText: 'eleven' }).waitFor(PATIENCE);
    await other.locator('.bubble.agent', { hasText: 'Harbour' }).waitFor(PATIENCE);
    expect((await answers()).join()).not.toContain('Harbour');
    for (const each of [page, other]) {
      await expect.poll(() => loudest(each), PATIENCE).toBeGreaterThan(0.01);
      expect(await each.getAttribute('body', 'data-phase')).not.toBe('idle');
    }
    await other.close();
  });

  it('takes typed words, shows them, and hangs up', async () => {
    await page.click('#talk');
    await anotherAnswer(0);
    await page.fill('#text', 'When are you open?');
    await page.press('#text', 'Enter');
    // The browser's microphone speaks too, so there may be other bubbles beside these.
    await page.locator('.bubble.agent', { hasText: 'five' }).waitFor(PATIENCE);
    expect(await page.locator('.bubble.user .text').allInnerTexts()).toContain('When are you open?');
    await page.click('#talk');
    await phase('idle');
    expect(await page.locator('.note').last().innerText()).toBe('You hung up');
    await expectLog('user-ended');
  });

  it('begins a call by typing, without the microphone', async () => {
    await page.fill('#text', 'Where are you?');
    await page.click('.send');
    await page.locator('.bubble.agent', { hasText: 'Harbour' }).waitFor(PATIENCE);
    expect(await page.locator('.bubble.user .text').allInnerTexts()).toEqual(['Where are you?']);
    expect(await page.locator('#mute').isDisabled()).toBe(true);
    expect(await page.evaluate('parleyStats.sentChunks')).toBe(0);
    // The state is read out once, not with each phase.
    expect(await page.locator('#status').innerText()).toBe('On the line, without a microphone');
    expect(await page.locator('#phase').getAttribute('aria-live')).toBeNull();
  });

  it('says what the demo agent can do, and begins with a phrase that is pressed', async () => {
    expect(await page.locator('#about').innerText()).toContain('restaurant');
    expect(await page.locator('.links a').allInnerTexts()).toEqual(['Console', 'API']);
    await page.click('.example:nth-child(2)');
    await page.locator('.bubble.agent', { hasText: 'five' }).waitFor(PATIENCE);
    expect(await page.locator('.bubble.user .text').allInnerTexts()).toEqual(['When are you open?']);
    await expect.poll(() => page.locator('#line').innerText(), PATIENCE).toMatch(/^\d+:\d\d · /);
    await page.evaluate(`navigator.clipboard.writeText = (text) => Promise.resolve(void (globalThis.copied = text))`);
    await page.click('#copy');
    expect(await page.evaluate('copied')).toContain('You, typing: When are you open?');
  });

  it('is worked by the keyboard alone', async () => {
    // Before the links to the console and the API.
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('talk');
    await page.keyboard.press('Space');
    await hasBeen('speaking');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    expect(await page.getAttribute('#mute', 'aria-pressed')).toBe('true');
    await expect.poll(() => page.evaluate('parleyStats.microphoneLevel'), PATIENCE).toBeLessThan(1e-6);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.type('12#');
    expect(await page.locator('.bubble.user .text').allInnerTexts()).toEqual(['12#']);
    await page.keyboard.press('Escape');
    expect(await page.locator('#keypad').isHidden()).toBe(true);
    expect(await page.evaluate('document.activeElement.id')).toBe('keypad-toggle');
  });

  it('lists microphones and loudspeakers as they come and go, and goes on with the one that is chosen', async () => {
    const chooser = await browser.open(daemon.address, (fresh) =>
      fresh.addInitScript({
        content: `{
          const device = (kind, deviceId, label) => ({ kind, deviceId, label });
          globalThis.devices = [
            device('audioinput', 'default', 'Default'),
            device('audioinput', 'desk', 'Desk'),
            device('audioinput', 'headset', 'Headset'),
            device('audiooutput', 'wall', 'Wall'),
          ];
          globalThis.asked = [];
          globalThis.sinks = [];
          const media = navigator.mediaDevices;
          // Browsers name no device before the microphone was allowed.
          globalThis.named = false;
          media.enumerateDevices = async () => devices.map((one) => (named ? one : { ...one, label: '' }));
          const ask = media.getUserMedia.bind(media);
          media.getUserMedia = (wish) => {
            asked.push(wish.audio.deviceId.ideal);
            return ask({ audio: true });
          };
          AudioContext.prototype.setSinkId = async (id) => void sinks.push(id);
          globalThis.change = () => media.dispatchEvent(new Event('devicechange'));
        }`,
      }),
    );
    const microphone = chooser.locator('#microphone');
    expect(await microphone.isHidden()).toBe(true);
    await chooser.evaluate('(named = true), change()');
    await microphone.waitFor();
    expect(await microphone.locator('option').allTextContents()).toEqual(['System default', 'Desk', 'Headset']);
    expect(await chooser.locator('#loudspeaker').isHidden()).toBe(true);
    await microphone.selectOption('Desk');
    await chooser.click('#talk');
    await anotherAnswer(0, chooser);
    await chooser.evaluate(`devices.push({ kind: 'audiooutput', deviceId: 'ear', label: 'Ear' }), change()`);
    await microphone.selectOption('Headset');
    await chooser.locator('#loudspeaker').selectOption('Ear');
    await expect
      .poll(() => chooser.evaluate('[asked, sinks]'), PATIENCE)
      .toEqual([
        ['desk', 'headset'],
        ['', 'ear'],
      ]);
    const before = await chooser.evaluate<number>('parleyStats.sentChunks');
    await expect.poll(() => chooser.evaluate('parleyStats.sentChunks'), PATIENCE).toBeGreaterThan(before + 50);
    await chooser.reload();
    await chooser.evaluate('(named = true), change()');
    await expect.poll(() => microphone.inputValue(), PATIENCE).toBe('headset');
    await chooser.close();
  });

  it('leads to the call in the console when it is over, where the visitor may get in', async () => {
    await page.fill('#text', 'Where are you?');
    await page.click('.send');
    await page.locator('.bubble.agent', { hasText: 'Harbour' }).waitFor(PATIENCE);
    expect(await page.locator('#see-call').isHidden()).toBe(true);
    await page.click('#talk');
    await page.click('#see-call');
    await page.fill('#key-field', daemon.privateKey);
    await page.keyboard.press('Enter');
    await page.getByText('Where are you?').first().waitFor(PATIENCE);
    expect(page.url()).toMatch(/\/console#\/calls\/[\da-f-]{36}$/);
  });

  it.each(['NotAllowedError', 'NotFoundError', 'NotReadableError'])('explains %s and offers typing', async (name) => {
    const mute = await browser.open(daemon.address, (fresh) =>
      fresh.addInitScript({
        content: `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', '${name}'));`,
      }),
    );
    await mute.click('#talk');
    await mute.locator('#notice').waitFor();
    expect(await mute.locator('#notice-text').innerText()).toContain('You can type instead.');
    expect(await mute.getAttribute('body', 'data-phase')).toBe('idle');
    await mute.click('#notice-action');
    expect(await mute.evaluate('document.activeElement.id')).toBe('text');
    await anotherAnswer(0, mute);
    await mute.close();
  });

  it.each([
    [320, 568],
    [390, 844],
    [820, 1180],
    [1600, 1000],
  ])('fits a window of %i by %i, in light and dark', async (width, height) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height });
      const overflow = await page.evaluate(`({
        x: document.documentElement.scrollWidth - innerWidth,
        y: document.documentElement.scrollHeight - innerHeight,
      })`);
      expect(overflow).toEqual({ x: 0, y: 0 });
      for (const id of ['#talk', '#mute', '#text']) expect(await page.locator(id).isVisible(), id).toBe(true);
    }
  });

  it('says when the server is gone, and goes on when it is back', async () => {
    const short = await ServedDaemon.start();
    const lonely = await browser.open(short.address, watch);
    await lonely.click('#talk');
    await hasBeen('speaking', lonely);
    await short.kill();
    await phase('connecting', lonely);
    expect(await lonely.locator('#notice-text').innerText()).toBe('The connection was lost. Trying to get it back …');
    const { port } = new URL(short.address);
    const back = await ServedDaemon.start(port);
    await lonely.locator('.note', { hasText: 'The call goes on' }).waitFor(PATIENCE);
    await phase('speaking', lonely);
    expect(await lonely.locator('#notice').isHidden()).toBe(true);
    await lonely.close();
    await back.stop();
    expect(unexpectedErrors(browser.errors.splice(0))).toEqual([]);
  });

  /** How wrong the best of the user's bubbles is; a busy machine may need to be asked twice. */
  async function leastWordErrors(): Promise<number> {
    const heard = await page.locator('.bubble.user .text').allInnerTexts();
    return Math.min(1, ...heard.map((text) => wordErrorRate([[spokenText(), text]])));
  }

  /** Waits for a line of the daemon's log. */
  async function expectLog(text: string): Promise<void> {
    await expect.poll(() => daemon.log, PATIENCE).toContain(text);
  }
});
