import type { Page, WebSocketRoute } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TalkInitiate, TalkServerMessage } from '../../src/transports/talk-protocol.js';
import { hasChromium, TalkingBrowser } from './browser.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };

/** A talk socket of the page whose other end is the test. */
interface Line {
  route: WebSocketRoute;
  initiate: TalkInitiate['data'];
}

/** What the page makes of its line, whatever comes over it and in whatever order. */
describe.skipIf(!hasChromium)('the page on its line', { timeout: 240_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;
  const lines: Line[] = [];
  /** A dead line: nothing is answered, nothing closed. */
  let isDead = false;

  beforeAll(async () => {
    daemon = await ServedDaemon.start();
    browser = await TalkingBrowser.launch();
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    expect(await daemon.stop()).toBe(0);
  }, 30_000);

  beforeEach(async () => {
    lines.length = 0;
    isDead = false;
    page = await browser.open(daemon.address, (fresh) => fresh.routeWebSocket('**/talk', serve));
  }, 60_000);

  afterEach(async () => {
    await page.close();
    expect(browser.errors.splice(0)).toEqual([]);
  });

  function serve(route: WebSocketRoute): void {
    route.onMessage((data) => {
      if (typeof data !== 'string' || isDead) return;
      const message = JSON.parse(data) as { method: string; data?: unknown };
      if (message.method === 'initiate') {
        lines.push({ route, initiate: message.data as TalkInitiate['data'] });
        send({ method: 'onready', payload: { session_id: `session-${String(lines.length)}` } });
      } else if (message.method === 'ping') send({ method: 'pong', data: message.data });
    });
  }

  function send(...messages: TalkServerMessage[]): void {
    for (const message of messages) lines.at(-1)?.route.send(JSON.stringify(message));
  }

  const said = (text: string, turn: number, segment: number, isFinal = true): TalkServerMessage => ({
    method: 'ontranscript',
    data: text,
    payload: { is_final: isFinal, turn, segment },
  });
  const answered = (text: string, answer: number, isFinal = true): TalkServerMessage => ({
    method: 'onresponsetext',
    data: text,
    payload: { is_final: isFinal, answer },
  });
  const bubbles = (): Promise<string[]> => page.locator('.bubble .text').allInnerTexts();
  const phase = (name: string): Promise<unknown> => page.waitForSelector(`body[data-phase="${name}"]`, PATIENCE);
  const called = async (): Promise<void> => {
    await page.click('#talk');
    await phase('listening');
  };

  it('shows words that come late where they belong, once', async () => {
    await called();
    send(said('hello i would like', 1, 0, false), { method: 'start_answering' }, answered('Good', 1, false));
    send(said('hello i would like a table', 1, 0), answered('Good evening.', 1));
    send(said('for four', 2, 1, false), answered('At what time?', 2, false), said('for four people', 2, 1));
    send(said('at eight', 3, 2));
    await expect
      .poll(bubbles, PATIENCE)
      .toEqual(['hello i would like a table', 'Good evening.', 'for four people', 'At what time?', 'at eight']);
  });

  it('goes on with a turn that was answered too soon', async () => {
    await called();
    send(said('a table', 1, 0), answered('For', 1, false));
    send(said('for four', 2, 1, false), { method: 'pause' }, { method: 'clear' }, { method: 'unpause' });
    send(said('for four please', 1, 1), answered('For four.', 2));
    await expect.poll(bubbles, PATIENCE).toEqual(['a table for four please', 'For four.']);
    expect(await page.getAttribute('body', 'data-phase')).not.toBe('speaking');
  });

  it('follows a long conversation to its end, and stays where its reader has scrolled', async () => {
    await called();
    for (let turn = 1; turn <= 40; turn++) {
      send(
        said(`words of the user in turn ${String(turn)}`, turn, turn),
        answered(`An answer to turn ${String(turn)}.`, turn),
      );
      if (turn % 4 === 0)
        await page
          .locator('.bubble.agent')
          .nth(turn - 1)
          .waitFor(PATIENCE);
    }
    const hidden = 'scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight';
    await expect.poll(() => page.evaluate(hidden), PATIENCE).toBeLessThan(2);
    await page.evaluate('scroller.scrollTop = 100');
    await expect.poll(() => page.evaluate(hidden), PATIENCE).toBeGreaterThan(500);
    send(answered('One more.', 41));
    await page.locator('.bubble.agent').nth(40).waitFor(PATIENCE);
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    expect(await page.evaluate('scroller.scrollTop')).toBe(100);
  });

  it('notices a dead line, and goes on with the session when it is back', async () => {
    await called();
    send(said('a table for four', 1, 0), answered('At what time?', 1));
    await page.locator('.bubble.agent').waitFor(PATIENCE);
    isDead = true;
    await page.locator('#notice-text', { hasText: 'The connection was lost' }).waitFor(PATIENCE);
    expect(await page.getAttribute('body', 'data-phase')).toBe('connecting');
    isDead = false;
    await phase('listening');
    expect(lines.at(-1)?.initiate.session_continuation).toEqual({ session_id: 'session-1', resume: true });
    expect(await page.locator('.note').allInnerTexts()).toEqual(['Connection lost', 'The call goes on']);
    expect(await page.locator('#notice').isHidden()).toBe(true);
    send(answered('I am back.', 1));
    await expect.poll(bubbles, PATIENCE).toEqual(['a table for four', 'At what time?', 'I am back.']);
    expect(await page.locator('#mute').isEnabled()).toBe(true);
  });

  it('resumes with the daemon, whose agent does not greet again', async () => {
    await page.unrouteAll();
    const initiated: TalkInitiate['data'][] = [];
    let cut = (): void => undefined;
    await page.routeWebSocket('**/talk', (route) => {
      const server = route.connectToServer();
      route.onMessage((data) => {
        if (typeof data === 'string' && data.includes('"initiate"'))
          initiated.push((JSON.parse(data) as { data: TalkInitiate['data'] }).data);
        server.send(data);
      });
      cut = () => {
        void route.close({ code: 4000 });
        void server.close();
      };
    });
    const agent = page.locator('.bubble.agent');
    await page.fill('#text', 'Where are you?');
    await page.click('.send');
    await agent.filter({ hasText: 'Harbour' }).waitFor(PATIENCE);
    cut();
    await page.locator('.note', { hasText: 'The call goes on' }).waitFor(PATIENCE);
    await page.fill('#text', 'When are you open?');
    await page.click('.send');
    await agent.filter({ hasText: 'five' }).waitFor(PATIENCE);
    const said = await bubbles();
    const sinceAddress = said.slice(said.findIndex((text) => text.includes('Harbour')));
    expect(sinceAddress.filter((text) => text.includes('Crooked Fork'))).toEqual([]);
    expect(initiated).toHaveLength(2);
    expect(initiated[1]?.session_continuation).toMatchObject({ resume: true });
  });

  it('tells a server that has lost the session what was said in it', async () => {
    await called();
    send(said('a table for four', 1, 0), answered('At what time?', 1));
    await page.locator('.bubble.agent').waitFor(PATIENCE);
    await page.unrouteAll();
    await page.routeWebSocket('**/talk', (route) => {
      route.onMessage((data) => {
        if (typeof data !== 'string') return;
        const message = JSON.parse(data) as { method: string; data: TalkInitiate['data'] };
        if (message.method !== 'initiate') return;
        lines.push({ route, initiate: message.data });
        if (message.data.session_continuation?.session_id === undefined) {
          send({ method: 'onready', payload: { session_id: 'another' } });
        } else void route.close({ code: 1008, reason: 'There is no session "session-1"' });
      });
    });
    await lines[0]?.route.close({ code: 1012, reason: 'restarting' });
    await expect
      .poll(() => lines.at(-1)?.initiate.session_continuation, PATIENCE)
      .toEqual({
        messages: [
          { role: 'user', content: 'a table for four' },
          { role: 'assistant', content: 'At what time?' },
        ],
        resume: true,
      });
    await phase('listening');
  });

  it('hangs up while it waits for the line, and lets the microphone go', async () => {
    await called();
    isDead = true;
    await page.locator('#notice-text', { hasText: 'The connection was lost' }).waitFor(PATIENCE);
    await page.click('#talk');
    await phase('idle');
    expect(await page.locator('.note').last().innerText()).toBe('You hung up');
    expect(await page.locator('#notice').isHidden()).toBe(true);
  });

  it('says that a call has ended because nobody spoke', async () => {
    await called();
    send({ method: 'onsessionended', payload: { status: 'timeout', limit: 'idle' } });
    await lines[0]?.route.close({ code: 1000 });
    await page.locator('.note', { hasText: 'nobody spoke' }).waitFor(PATIENCE);
  });

  it('says so where the sound does not start', async () => {
    const deaf = await browser.open(daemon.address, (fresh) =>
      fresh.addInitScript({ content: 'AudioContext.prototype.resume = () => new Promise(() => {});' }),
    );
    await deaf.click('#talk');
    await deaf.locator('#notice-text', { hasText: 'The sound does not start' }).waitFor(PATIENCE);
    expect(await deaf.getAttribute('body', 'data-phase')).toBe('idle');
    await deaf.close();
  });

  it('finds a daemon that was gone', async () => {
    const gone = await browser.visit(daemon.address, (fresh) =>
      fresh.route('**/page.json', (route) => route.fulfill({ status: 503, json: { detail: 'Not yet.' } })),
    );
    await gone.locator('#notice-text', { hasText: 'Not yet.' }).waitFor(PATIENCE);
    await gone.unrouteAll();
    await gone.waitForSelector('#talk:enabled', PATIENCE);
    expect(await gone.locator('#notice').isHidden()).toBe(true);
    await gone.close();
    expect(browser.errors.splice(0).every((error) => error.includes('503'))).toBe(true);
  });
});
