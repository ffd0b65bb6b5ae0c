import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasTool } from '../../scripts/system-tools.mjs';
import { Firefox } from './firefox.js';
import { HostSite } from './host-site.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const hasFirefox = hasTool('firefox-esr') && hasTool('pulseaudio');

describe.skipIf(!hasFirefox)('Firefox (firefox-esr and pulseaudio)', { timeout: 120_000 }, () => {
  let site: HostSite;
  let daemon: ServedDaemon;
  let firefox: Firefox;

  beforeAll(async () => {
    site = await HostSite.open();
    const env = { PARLEY_ALLOWED_ORIGINS: site.origin };
    [daemon, firefox] = await Promise.all([ServedDaemon.start('0', undefined, env), Firefox.launch()]);
  }, 60_000);

  afterAll(async () => {
    await firefox.close();
    await site.close();
    expect(await daemon.stop()).toBe(0);
    expect(daemon.log).not.toContain('fault:');
  }, 30_000);

  afterEach(() => {
    expect(firefox.errors.splice(0)).toEqual([]);
  });

  /** Waits until an expression in the page has a value. */
  const until = (expression: string, value: unknown = true): Promise<void> =>
    expect.poll(() => firefox.evaluate(expression), PATIENCE).toBe(value);
  const texts = (root: string, selector: string): string =>
    `[...${root}.querySelectorAll('${selector}')].map((it) => it.innerText).join('|')`;

  it('talks on the page: the agent is heard, the microphone is sent, typed words are answered', async () => {
    await firefox.open(daemon.address);
    await until('!document.querySelector("#talk").disabled');
    await firefox.evaluate('document.querySelector("#talk").click()');
    await until('globalThis.parleyStats?.level > 0.01');
    await until('parleyStats.playedSamples > 16000 && parleyStats.sentChunks > 50');
    expect(await firefox.evaluate('parleyStats.microphoneLevel')).toBeGreaterThan(0.01);
    await firefox.evaluate(`document.querySelector('#text').value = 'Where are you?';
      document.querySelector('.send').click()`);
    await until(`${texts('document', '.bubble.agent .text')}.includes('Harbour')`);
    expect(await firefox.evaluate(texts('document', '.bubble.user .text'))).toContain('Where are you?');
    await firefox.evaluate('document.querySelector("#talk").click()');
    await until('document.body.dataset.phase', 'idle');
    expect(await firefox.evaluate(texts('document', '.note'))).toContain('You hung up');
  });

  it('talks in the widget, on a page of another origin', async () => {
    const key = 'data-agent-id="the-crooked-fork" data-public-key="pk_served"';
    await firefox.open(site.page(`<script src="${daemon.address}/widget.js" ${key}></script>`));
    const root = 'document.querySelector("parley-widget").shadowRoot';
    await until(`${root}.querySelector('.launcher') !== null`);
    await firefox.evaluate(`${root}.querySelector('.launcher').click()`);
    await until(`${root}.querySelector('.widget').dataset.display`, 'running');
    await until('document.querySelector("parley-widget").stats.level > 0.01');
    await until(`${texts(root, '.bubble.agent')}.includes('The Crooked Fork')`);
    await until('document.querySelector("parley-widget").stats.sentChunks > 50');
    await firefox.evaluate(`${root}.querySelector('.launcher').click()`);
    await until(`${root}.querySelector('.widget').dataset.display`, 'idle');
    expect(await firefox.evaluate(texts(root, '.note'))).toContain('You hung up');
  });
});
