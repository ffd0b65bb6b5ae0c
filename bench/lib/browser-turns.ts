import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { packageFile } from '../../dist/package-files.js';
import { readFixtureLabels } from '../../dist/testing/labels/labels.js';

export interface BrowserTurn {
  /** From the end of the user's speech, as labelled, to the first sound of the answer, by the page's audio clock. */
  mouthToEarMs: number;
  /** What the daemon measured of the same turn. */
  responseMs: number;
}

const FOLDER = 'fixtures/audio/booking/slt';
/** One after the other, as the booking goes. */
const SENTENCES = ['table', 'name', 'yes', 'goodbye'];
const TURN_MS = 40_000;

/** Speaks the first sentences of a recorded booking to a daemon of its own, in Chromium over WebRTC. */
export async function inBrowser(turns: number): Promise<BrowserTurn[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const child = spawn(process.execPath, [fileURLToPath(packageFile('bin/parley.js')), 'serve', '--port', '0'], {
    env: { PATH: process.env['PATH'], PARLEY_DATA_DIR: folder, PARLEY_PUBLIC_KEY: 'pk_bench' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const address = await new Promise<string>((resolve) => {
    let printed = '';
    child.stdout.on('data', (data: Buffer) => {
      const found = /Talk to it: (http:\/\/[\d.:]+)/.exec((printed += data.toString()))?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      '--allow-loopback-in-peer-connection',
    ],
  });
  try {
    const page = await browser.newPage();
    const files: Readonly<Record<string, string>> = {
      'page.html': fileURLToPath(packageFile('bench/lib/browser-turns.html')),
      'talk.js': fileURLToPath(packageFile('examples/webrtc/talk.js')),
      ...Object.fromEntries(
        SENTENCES.map((name) => [`${name}.wav`, fileURLToPath(packageFile(`${FOLDER}/${name}.wav`))]),
      ),
    };
    const types: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', wav: 'audio/wav' };
    await page.route('**/bench/*', (route) => {
      const name = new URL(route.request().url()).pathname.split('/').at(-1) ?? '';
      const path = files[name];
      if (path === undefined) return route.abort();
      return route.fulfill({ body: readFileSync(path), contentType: types[name.split('.').at(-1) ?? ''] ?? '' });
    });
    await page.goto(`${address}/bench/page.html`);
    await page.waitForSelector('body[data-ready]', { state: 'attached' });
    await page.evaluate(`call.begin('pk_bench', 'the-crooked-fork')`);
    const measured: BrowserTurn[] = [];
    for (const name of SENTENCES.slice(0, turns)) {
      const { speech } = readFixtureLabels(fileURLToPath(packageFile(`${FOLDER}/${name}.json`)));
      const endMs = speech.at(-1)?.endMs ?? 0;
      const turn = page.evaluate<BrowserTurn | null>(`call.turn('${name}.wav', ${String(endMs)}, ${String(TURN_MS)})`);
      const result = await turn;
      if (result !== null) measured.push(result);
    }
    return measured;
  } finally {
    await browser.close();
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}
