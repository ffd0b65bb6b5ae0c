/** The pages and the widget of a daemon that is mounted below a path of a Fastify application. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { start } from '../../examples/embedding/fastify.js';
import { hasChromium, TalkingBrowser } from './browser.js';
import { HostSite } from './host-site.js';

const PATIENCE = { timeout: 60_000 };
const PRIVATE_KEY = 'sk_embedded_test_0123456789';
const PUBLIC_KEY = 'pk_embedded_test_0123456789';
const GREETING = 'Hello, this is the bakery.';

describe.skipIf(!hasChromium)('below a base path, in a real browser', { timeout: 240_000 }, () => {
  let site: HostSite;
  let app: Awaited<ReturnType<typeof start>>;
  let browser: TalkingBrowser;
  let origin: string;
  let dataDir: string;
  const pages: Page[] = [];
  /** Addresses of the application that pages have asked for. */
  const asked: string[] = [];

  beforeAll(async () => {
    site = await HostSite.open();
    dataDir = mkdtempSync(join(tmpdir(), 'parley-embedded-'));
    app = await start({
      dataDir,
      ollamaHost: 'http://127.0.0.1:9',
      apiKey: PRIVATE_KEY,
      publicKey: PUBLIC_KEY,
      allowedOrigins: [site.origin],
      logLevel: 'silent',
    });
    app.server.listen(0, '127.0.0.1');
    await once(app.server, 'listening');
    origin = `http://127.0.0.1:${String((app.server.address() as AddressInfo).port)}`;
    browser = await TalkingBrowser.launch(undefined, [], undefined, 'chromium');
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await Promise.all([site.close(), app.close()]);
    rmSync(dataDir, { recursive: true });
  }, 30_000);

  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.close()));
    expect(browser.errors.splice(0)).toEqual([]);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.splice(0).filter((path) => !/^\/parley(?:$|\/)/.test(path))).toEqual([]);
  });

  /** A page whose requests to the application are noted. */
  const visit = async (address: string): Promise<Page> => {
    const note = (url: string): void => {
      const { host, pathname } = new URL(url);
      if (host === new URL(origin).host) asked.push(pathname);
    };
    const page = await browser.visit(address, async (fresh) => {
      fresh.on('request', (request) => note(request.url()));
      fresh.on('websocket', (socket) => note(socket.url()));
    });
    pages.push(page);
    return page;
  };
  const greets = (page: Page): Promise<void> =>
    page.locator('.bubble.agent', { hasText: GREETING }).first().waitFor(PATIENCE);

  it('the page opens without the slash, and holds a call over the talk socket', async () => {
    const page = await visit(`${origin}/parley`);
    expect(page.url()).toBe(`${origin}/parley/`);
    await page.waitForSelector('#talk:enabled', PATIENCE);
    await page.click('#talk');
    await greets(page);
    await expect.poll(() => page.evaluate('parleyStats.playedSamples'), PATIENCE).toBeGreaterThan(8_000);
    expect(asked).toContain('/parley/talk');
  });

  it('the console shows agents and calls', async () => {
    const page = await visit(`${origin}/parley/console`);
    await page.fill('#key-field', PRIVATE_KEY);
    await page.press('#key-field', 'Enter');
    await page.goto(`${origin}/parley/console#/agents`);
    await page.getByText('Baker').first().waitFor(PATIENCE);
    await page.goto(`${origin}/parley/console#/calls`);
    await page.getByText('browser', { exact: true }).first().waitFor(PATIENCE);
    expect(asked).toContain('/parley/call-logs');
  });

  it('the API page reads its document', async () => {
    const page = await visit(`${origin}/parley/docs`);
    await page.getByText('listAgents').or(page.getByText('/agents')).first().waitFor(PATIENCE);
    expect(asked).toContain('/parley/openapi.json');
  });

  it('a page with the package for browsers holds a call over WebRTC', async () => {
    const page = await visit(
      site.page(`<button>Call</button><output></output><script type="module">
        import { connect } from '${origin}/parley/web-sdk.js';
        document.querySelector('button').onclick = async () => {
          const agent = { baseUrl: '${origin}/parley', publicKey: '${PUBLIC_KEY}', agentId: 'baker' };
          const call = await connect({ ...agent, transport: 'webrtc' });
          call.on('transcript', (said) => {
            document.querySelector('output').textContent = said.map(({ text }) => text).join();
          });
        };</script>`),
    );
    await page.click('button');
    await page.locator('output', { hasText: GREETING }).waitFor(PATIENCE);
    expect(asked).toContain('/parley/webrtc/offer');
    expect(asked).not.toContain('/parley/talk');
  });

  it('the widget of another site holds a call over the talk socket', async () => {
    const widget = `<script src="${origin}/parley/widget.js" data-agent-id="baker" data-public-key="${PUBLIC_KEY}"></script>`;
    const page = await visit(site.page(widget));
    await page.locator('.launcher').click();
    await greets(page);
    expect(asked).toContain('/parley/talk');
  });
});
