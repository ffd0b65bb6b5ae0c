import type { Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { hasChromium, TalkingBrowser } from '../browser.js';
import { ServedDaemon } from '../served-daemon.js';
import { BadNetwork } from '../../transports/webrtc/bad-network.js';
import { WebRtcCaller } from './caller.js';

const PUBLIC_KEY = 'pk_served';
const AGENT = 'the-crooked-fork';
const QUESTION = { method: 'text', data: 'When are you open?' };
const ON_LOOPBACK = ['--allow-loopback-in-peer-connection'];
/** The daemon notices within 12 s; a busy machine is given more. */
const NOTICED = { timeout: 150_000, interval: 250 };

interface Answer {
  answer: { sdp: string; type: string };
}

describe.skipIf(!hasChromium)('networks and browsers that die', { timeout: 900_000 }, () => {
  let daemon: ServedDaemon;

  beforeAll(async () => {
    daemon = await ServedDaemon.start();
  }, 60_000);

  afterAll(async () => {
    const code = await daemon.stop();
    expect(code).toBe(0);
    expect(daemon.log).not.toContain('fault:');
  }, 30_000);

  it('goes on over another network', async () => {
    const browser = await TalkingBrowser.launch(300_000, ON_LOOPBACK, 300_000, 'chromium');
    const networks: BadNetwork[] = [];
    try {
      const caller = await WebRtcCaller.open(browser, daemon);
      // Each offer comes from behind a network of its own, and its answer leads there.
      await caller.page.route('**/webrtc/offer', async (route: Route) => {
        const network = new BadNetwork(1, new RealClock());
        networks.push(network);
        const body = route.request().postDataJSON() as { offer: { sdp: string } };
        body.offer.sdp = await network.before(body.offer.sdp);
        const response = await route.fetch({ postData: JSON.stringify(body) });
        const { answer } = (await response.json()) as Answer;
        await route.fulfill({ response, json: { answer: { ...answer, sdp: await network.before(answer.sdp) } } });
      });
      await caller.begin(PUBLIC_KEY, AGENT);
      const greeted = await caller.message('onresponsetext', { text: 'help you', final: true });
      await caller.send(QUESTION);
      const before = await caller.message('onresponsetext', { after: greeted, text: 'eleven', final: true });

      networks[0]?.close();
      await expect.poll(() => networks.length, NOTICED).toBeGreaterThan(1);
      await caller.page.waitForFunction(`call.line.connection.connectionState === 'connected'`, undefined, {
        timeout: NOTICED.timeout,
      });
      await caller.takeHeard();
      await caller.send(QUESTION);
      await caller.message('onresponsetext', { after: before, text: 'eleven', final: true });
      expect((await caller.heardUntilSilent(400)).length).toBeGreaterThan(16_000);
      expect((await caller.messages()).filter(({ method }) => method === 'onready')).toHaveLength(1);
      expect(networks.at(-1)?.passed).toBeGreaterThan(50);
    } finally {
      for (const network of networks) network.close();
      await browser.close();
    }
  });

  it('hangs up on a browser that was killed, and frees its sockets', async () => {
    await expect.poll(() => daemon.udpSockets, NOTICED).toBe(0);
    const browser = await TalkingBrowser.launch(300_000, ON_LOOPBACK, 300_000, 'chromium');
    const caller = await WebRtcCaller.open(browser, daemon);
    await caller.begin(PUBLIC_KEY, AGENT);
    await caller.message('start_answering');
    expect(daemon.udpSockets).toBeGreaterThan(0);
    expect(await sessions()).toBe(1);
    await browser.kill();
    await expect.poll(() => daemon.udpSockets, NOTICED).toBe(0);
    await expect.poll(sessions, NOTICED).toBe(0);
  });

  /** By the daemon's own count. */
  async function sessions(): Promise<number> {
    const headers = { authorization: daemon.privateKey };
    const metrics = await (await fetch(`${daemon.address}/metrics`, { headers })).text();
    return Number(/^parley_sessions(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1]);
  }
});
