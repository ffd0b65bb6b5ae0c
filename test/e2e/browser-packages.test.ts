import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';
import { wordErrorRate } from '../../src/testing/labels/wer.js';
import { accessibilityFaults, hasChromium, spokenText, TalkingBrowser } from './browser.js';
import { HostSite } from './host-site.js';
import { ServedDaemon } from './served-daemon.js';

/** A conversation takes as long as it takes, on a machine that does other things as well. */
const PATIENCE = { timeout: 150_000 };
const root = fileURLToPath(packageFile(''));
/** Where both versions of React are. */
const REACT = { 18: `${root}packages/react/node_modules/`, 19: `${root}node_modules/` } as const;

/** The example of the package for browsers as a page. Its daemon and its key are others. */
function plainPage(address: string): string {
  const html = readFileSync(packageFile('packages/web/examples/plain.html'), 'utf8');
  return html.replaceAll('https://voice.example.com', address).replace('pk_…', 'pk_served');
}

/** The example of the README as a page, rendered on a server and brought to life in the browser. */
async function examplePage(version: keyof typeof REACT, agent: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-react-'));
  const element = `
    import { createElement, StrictMode } from 'react';
    import { CallPage } from './packages/react/examples/call-page.tsx';
    const page = createElement(StrictMode, null, createElement(CallPage, ${JSON.stringify(agent)}));`;
  const bundle = (contents: string, outfile: string, platform: 'browser' | 'node'): Promise<unknown> =>
    build({
      stdin: { contents: element + contents, resolveDir: root },
      alias: { react: `${REACT[version]}react`, 'react-dom': `${REACT[version]}react-dom` },
      define: { 'process.env.NODE_ENV': '"development"' },
      jsx: 'automatic',
      bundle: true,
      platform,
      format: platform === 'node' ? 'cjs' : 'esm',
      outfile: join(folder, outfile),
    });
  try {
    const server = `import { renderToString } from 'react-dom/server'; export const html = renderToString(page);`;
    const browser = `import { hydrateRoot } from 'react-dom/client';
      globalThis.root = hydrateRoot(document.querySelector('#root'), page);`;
    await Promise.all([bundle(server, 'server.cjs', 'node'), bundle(browser, 'page.js', 'browser')]);
    const { html } = (await import(pathToFileURL(join(folder, 'server.cjs')).href)) as { html: string };
    const script = readFileSync(join(folder, 'page.js'), 'utf8').replaceAll('</script', '<\\/script');
    return `<style>button, input { font: inherit; padding: 0.5rem; }</style>
      <style>${readFileSync(join(folder, 'page.css'), 'utf8')}</style><main><h1>A shop</h1><div id="root">${html}</div></main>
      <script type="module">${script}</script>`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.skipIf(!hasChromium)('pages with the packages for browsers', { timeout: 600_000 }, () => {
  let site: HostSite;
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;

  beforeAll(async () => {
    site = await HostSite.open();
    daemon = await ServedDaemon.start('0', undefined, { PARLEY_ALLOWED_ORIGINS: site.origin });
    browser = await TalkingBrowser.launch();
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await site.close();
    expect(await daemon.stop()).toBe(0);
    expect(daemon.log).not.toContain('fault:');
  }, 30_000);

  afterEach(async () => {
    await page.close();
    // React says here too when what the server rendered is not what the browser renders.
    expect(browser.errors.splice(0)).toEqual([]);
  });

  const open = async (version: keyof typeof REACT): Promise<void> => {
    const agent = { baseUrl: daemon.address, publicKey: 'pk_served', agentId: 'the-crooked-fork' };
    page = await browser.visit(site.page(await examplePage(version, agent)), (fresh) =>
      // A busy machine looks too late for what lasts some seconds.
      fresh.addInitScript({
        content: `globalThis.seen = { states: [], loudest: 0, user: 0 };
          addEventListener('DOMContentLoaded', () => {
            const orb = document.querySelector('.parley-orb');
            const level = (side) => Number(orb.style.getPropertyValue('--parley-' + side + '-level'));
            new MutationObserver(() => {
              seen.states.push(orb.getAttribute('aria-label'));
              seen.loudest = Math.max(seen.loudest, level('agent'));
              seen.user = level('user');
            }).observe(orb, { attributes: true });
          });`,
      }),
    );
    expect(await page.evaluate('document.querySelector("main").innerText')).toContain('Ask for a table.');
  };
  const button = (name: string): ReturnType<Page['getByRole']> => page.getByRole('button', { name });
  const said = (role: 'agent' | 'user', text: string): Promise<void> =>
    page.locator(`li[data-role=${role}]`, { hasText: text }).first().waitFor(PATIENCE);
  const type = async (text: string): Promise<void> => {
    await page.getByLabel('Message').fill(text);
    await page.keyboard.press('Enter');
  };
  const hasBeen = (label: string): Promise<void> =>
    expect.poll(() => page.evaluate('seen.states'), PATIENCE).toContain(`The Crooked Fork: ${label}`);

  it('hears what is spoken, shows what is said, moves, mutes and hangs up', async () => {
    await open(19);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await button('Start call').click();
    await said('agent', 'Crooked Fork');
    await hasBeen('Speaking');
    await expect.poll(() => page.evaluate('seen.loudest'), PATIENCE).toBeGreaterThan(0.2);
    // What moves takes the processor from what hears.
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await expect.poll(leastWordErrors, PATIENCE).toBeLessThan(0.5);
    await expect.poll(() => page.locator('li[data-role=agent]').count(), PATIENCE).toBeGreaterThan(1);
    expect(await accessibilityFaults(page)).toEqual([]);

    await button('Mute').click();
    await button('Unmute').waitFor();
    await expect.poll(() => page.evaluate('seen.user'), PATIENCE).toBe(0);
    await hasBeen('Muted');
    const answers = await page.locator('li[data-role=agent]').count();
    await type('When are you open?');
    await said('user', 'When are you open?');
    await page.locator('li[data-role=agent]').nth(answers).waitFor(PATIENCE);
    await button('End call').click();

    await page.getByRole('img', { name: 'The Crooked Fork: Call ended' }).waitFor(PATIENCE);
    expect(await page.locator('li[data-role=agent]').count()).toBeGreaterThan(answers);
    await button('Start call').waitFor();
    await expect.poll(ends, PATIENCE).toBeGreaterThan(0);
  });

  it('lets go of the end of the transcript where the reader scrolls up, and of the call where the page goes on', async () => {
    await open(18);
    await page.addStyleTag({ content: ':root { --parley-transcript-height: 5rem; }' });
    await button('Start call').click();
    await button('End call').waitFor(PATIENCE);
    await button('Mute').click();
    await said('agent', 'Crooked Fork');
    const of = (what: string): Promise<number> =>
      page.evaluate(`(({ scrollHeight, scrollTop, clientHeight }) => ${what})(document.querySelector('[role=log]'))`);
    const top = (): Promise<number> => of('scrollTop');
    // What is typed into an answer belongs to the question before, and has no answer of its own.
    const quiet = (): Promise<void> => page.locator('.parley-orb[data-state=muted]').waitFor(PATIENCE);
    const fromEnd = (): Promise<number> => of('Math.round(scrollHeight - scrollTop - clientHeight)');
    await quiet();
    await type('When are you open?');
    await said('agent', 'eleven');
    expect(await fromEnd()).toBeLessThan(2);

    await quiet();
    await type('Where are you?');
    // One's own words bring the end into view: only what follows leaves the reader alone.
    await said('user', 'Where are you?');
    await expect.poll(fromEnd, PATIENCE).toBeLessThan(2);
    await page.getByRole('log', { name: 'Transcript' }).focus();
    await page.keyboard.press('Home');
    await expect.poll(top, PATIENCE).toBe(0);
    await said('agent', 'Harbour');
    expect(await top()).toBe(0);
    await type('Thank you.');
    await said('user', 'Thank you.');
    await expect.poll(fromEnd, PATIENCE).toBeLessThan(2);

    const before = ends();
    await page.evaluate('root.unmount()');
    await expect.poll(ends, PATIENCE).toBeGreaterThan(before);
  });

  it('needs neither React nor a bundler', async () => {
    page = await browser.visit(site.page(plainPage(daemon.address)));
    await button('Call').click();
    await button('Hang up').waitFor(PATIENCE);
    await page.getByRole('log').filter({ hasText: 'agent: Good evening, The Crooked Fork' }).waitFor(PATIENCE);
    const before = ends();
    await button('Hang up').click();
    await button('Call').waitFor(PATIENCE);
    await expect.poll(ends, PATIENCE).toBeGreaterThan(before);
  });

  it('stands still for users who prefer that', async () => {
    await open(19);
    const animations = (): Promise<unknown> =>
      page.evaluate(`(() => {
        document.querySelector('.parley-orb').dataset.state = 'thinking';
        return document.getAnimations().length;
      })()`);
    expect(await animations()).toBe(3);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await animations()).toBe(0);
  });

  /** The fewest errors in anything that was understood, of 1. */
  async function leastWordErrors(): Promise<number> {
    const heard = await page.locator('li[data-role=user] p').allInnerTexts();
    return Math.min(1, ...heard.map((text) => wordErrorRate([[spokenText(), text]])));
  }

  /** How often the daemon has told that the user ended a call. */
  function ends(): number {
    return daemon.log.split('user-ended').length - 1;
  }
});
