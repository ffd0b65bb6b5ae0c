/**
 * Takes pictures of every page and state (scripts/screenshot-states.mjs), in light and dark, of a daemon on embedded
 * defaults with a data folder of its own, on which some calls have been made:
 *
 *   npm run screenshots -- [--out folder] [--only text] [--scheme light]
 *
 * Writes PNGs to `--out` (default `.parley/screenshots`); `--only` takes those whose names hold the text. The exit code is
 * 1 where a state could not be shown, a page threw, or something is wider than the window. Needs Chromium; takes some
 * minutes, one of them for the calls. Runs the build.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { STATES } from './screenshot-states.mjs';

/** @typedef {import('./screenshot-states.mjs').Facts} Facts */
/** @typedef {import('./screenshot-states.mjs').State} State */

const KEY = 'sk_screenshots';
const AGENT = 'the-crooked-fork';
const SIZES = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
  small: { width: 320, height: 640 },
};
/** What is spoken into every microphone, so long after it was opened: when the agent has greeted. */
const SPOKEN = new URL('../fixtures/audio/booking/slt/table.wav', import.meta.url);
const GREETING_MS = 6000;
const SILENCE_AFTER_MS = 20_000;
/** People of the simulated network who call in. */
const CALLERS = ['+12025550151', '+12025550152', '+12025550153'];
const CALLS_MS = 120_000;
/** A run of a suite, on a machine that is busy with other work. */
const RUN_MS = 300_000;
const SUITE = `# The questions that every guest asks
name: Front desk
defaults:
  tools: { book_table: { result: { reference: R101 } } }
cases:
  - name: says when it is open
    caller: { script: [{ say: When are you open? }, { listen: true }, { hang_up: true }] }
    expect: [{ said: eleven }, { response_time: { p95_ms: 1500 } }]
  - name: books a table in one sentence
    caller:
      script:
        - say: A table for four tomorrow at seven thirty under the name Miller.
        - say: Yes please.
        - say: No thank you.
    expect:
      - tool_called: { name: book_table, arguments: { party: 4, time: '20:30' } }
      - said: R101
      - judge: { rubric: The agent stays polite., model: gpt-4o }
  - name: greets guests at night, when the kitchen is closed and only drinks from the wine list are left
    modes: [text]
    caller: { script: [{ listen: true }, { hang_up: true }] }
    expect: [{ said: Good night }]
`;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: '.parley/screenshots' },
    only: { type: 'string', default: '' },
    scheme: { type: 'string', default: '' },
  },
});
const chosen = STATES.filter(({ name, size }) => `${name}-${size ?? 'desktop'}`.includes(values.only));
const schemes = /** @type {const} */ (['light', 'dark']).filter(
  (scheme) => values.scheme === '' || scheme === values.scheme,
);
mkdirSync(values.out, { recursive: true });

const folder = mkdtempSync(join(tmpdir(), 'parley-screenshots-'));
const microphone = join(folder, 'microphone.wav');
writeFileSync(microphone, await microphoneWav());
const shop = await openShop();
const daemon = await startDaemon();
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
    `--use-file-for-fake-audio-capture=${microphone}`,
  ],
});
let faults = 0;
try {
  /** @type {Facts} */
  const facts = {
    address: daemon.address,
    shop: shop.address,
    key: KEY,
    call: '',
    failed: '',
    campaign: '',
    suite: '',
    run: '',
  };
  await takeAll(
    chosen.filter(({ fresh }) => fresh === true),
    facts,
  );
  await makeCalls(facts);
  await takeAll(
    chosen.filter(({ fresh }) => fresh !== true),
    facts,
  );
} finally {
  await browser.close();
  await daemon.stop();
  shop.close();
  rmSync(folder, { recursive: true, force: true });
}
if (faults > 0) process.exitCode = 1;

/** @param {readonly State[]} states @param {Facts} facts */
async function takeAll(states, facts) {
  for (const scheme of schemes) for (const state of states) await take(state, facts, scheme);
}

/** @param {State} state @param {Facts} facts @param {'light' | 'dark'} scheme */
async function take({ name, where, before, show, size, whole }, facts, scheme) {
  const file = [name, ...(size === undefined ? [] : [size]), scheme].join('-');
  const page = await browser.newPage({ viewport: SIZES[size ?? 'desktop'], colorScheme: scheme });
  page.on('pageerror', (error) => fault(file, error.stack ?? error.message));
  try {
    await page.addInitScript({ content: `sessionStorage.setItem('parley.key', '${KEY}')` });
    await before?.(page);
    await page.goto(where(facts));
    await show?.(page, facts);
    await page.waitForTimeout(300); // transitions
    const over = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
    if (over > 0) fault(file, `is ${String(over)} pixels wider than the window`);
    await page.screenshot({ path: join(values.out, `${file}.png`), fullPage: whole === true });
    process.stdout.write(`${file}\n`);
  } catch (error) {
    await page.screenshot({ path: join(values.out, `${file}.png`) });
    fault(file, String(error));
  } finally {
    await page.close();
  }
}

/** @param {string} file @param {string} what */
function fault(file, what) {
  faults++;
  process.stderr.write(`${file}: ${what}\n`);
}

/** Calls in and out, a campaign, a file and keys. @param {Facts} facts */
async function makeCalls(facts) {
  const agent = await ask('GET', `/agents/${AGENT}`);
  const config = { ...agent.config, call_settings: { ...agent.config.call_settings, enable_recording: true } };
  await ask('PUT', `/agents/${AGENT}`, { config });
  const { id: phone } = await ask('POST', '/phones/purchase', { country: 'US', area_code: '415' });
  await ask('POST', '/phones/purchase', { country: 'US', area_code: '212' });
  await ask('POST', `/phones/${phone}/set_agent`, { agent_id: AGENT });
  for (const caller of CALLERS) await ask('POST', `/phones/${phone}/simulate_call`, { caller });
  const { session_id: failed } = await ask('POST', '/start_outbound_call', {
    from_phone: phone,
    to_phone: '+12025550107',
    agent_id: AGENT,
  });
  facts.failed = failed;
  const { id: campaign } = await ask('POST', '/campaigns', { name: 'Saturday’s tables' });
  facts.campaign = campaign;
  await ask('POST', '/campaigns', { name: 'Winter menu' });
  await ask('POST', `/campaigns/${campaign}/set_caller`, { phone });
  await ask('POST', `/campaigns/${campaign}/records`, [
    { phone: '+12025550101', metadata: { Name: 'Ann', Table: 'by the window' } },
    { phone: '+12025550102', metadata: { Name: 'Bob', Table: 'at the bar' } },
    { phone: '+12025550103', metadata: { Name: 'Carol', Table: 'upstairs' } },
    { phone: '+12025550107', metadata: { Name: 'Dora', Table: 'by the door' } },
    { phone: '555-0103', metadata: { Name: 'Nobody' } },
  ]);
  const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
  const hours = { start: '00:00', end: '24:00', days };
  await ask('POST', `/campaigns/${campaign}/schedule`, { calls_per_minute: 30, calling_hours: hours });
  await ask('POST', `/campaigns/${campaign}/start`);
  const form = new FormData();
  form.append('file', new Blob(['# Wine list\n\nThe house red is a Zweigelt from the Burgenland.\n']), 'wine-list.md');
  const upload = await ask('POST', '/knowledge/upload', form);
  await ask('POST', '/knowledge/create_file', { ...upload, description: 'What there is to drink' });
  facts.call = await booking();
  await runSuite(facts);
}

/** A suite of which a case fails, run for two versions of the agent. @param {Facts} facts */
async function runSuite(facts) {
  const { id: suite } = await ask('POST', '/evals/suites', { agent_id: AGENT, suite: SUITE });
  await ask('POST', '/evals/suites', { agent_id: AGENT, suite: SUITE.replace('Front desk', 'Night shift') });
  facts.suite = suite;
  for (const against of [null, { agent_version: 1 }]) {
    const { id } = await ask('POST', '/evals/runs', { suite_id: suite, ...(against !== null && { against }) });
    facts.run = id;
    await runIsOver(id);
  }
}

/** @param {string} id */
async function runIsOver(id) {
  for (const until = Date.now() + RUN_MS; Date.now() < until;) {
    const { status, reason } = await ask('GET', `/evals/runs/${id}`);
    if (status === 'done') return;
    if (status === 'failed') throw new Error(reason);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('The run does not end.');
}

/** The session of the first caller, when it is over. */
async function booking() {
  for (const until = Date.now() + CALLS_MS; Date.now() < until;) {
    const { histories } = await ask('GET', `/call-logs?phone_number=${encodeURIComponent(CALLERS[0] ?? '')}`);
    const [call] = histories;
    if (call?.recording != null && call.duration > 0) return /** @type {string} */ (call.session_id);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('The call does not end.');
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body] as JSON, or a form as it is
 * @returns {Promise<any>}
 */
async function ask(method, path, body) {
  const isForm = body instanceof FormData;
  const headers = { authorization: KEY, ...(body !== undefined && !isForm && { 'content-type': 'application/json' }) };
  const init = { method, headers, ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }) };
  const response = await fetch(daemon.address + path, init);
  if (!response.ok) throw new Error(`${method} ${path}: ${String(response.status)} ${await response.text()}`);
  return response.json();
}

/** The fixture between silence, in the plain PCM that Chromium plays, again and again. */
async function microphoneWav() {
  const { decodeWav, encodeWav } = await import(new URL('../dist/audio/files/wav.js', import.meta.url).href);
  const { samples, sampleRateHz } = decodeWav(readFileSync(SPOKEN));
  const before = (GREETING_MS * sampleRateHz) / 1000;
  const all = new Int16Array(before + samples.length + (SILENCE_AFTER_MS * sampleRateHz) / 1000);
  all.set(samples, before);
  return encodeWav(all, sampleRateHz);
}

async function startDaemon() {
  const command = fileURLToPath(new URL('../bin/parley.js', import.meta.url));
  const env = {
    PATH: process.env['PATH'],
    PARLEY_DATA_DIR: folder,
    PARLEY_API_KEY: KEY,
    PARLEY_PUBLIC_KEY: 'pk_screenshots',
    PARLEY_ALLOWED_ORIGINS: new URL(shop.address).origin,
  };
  const child = spawn(process.execPath, [command, 'serve', '--port', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  const address = await /** @type {Promise<string>} */ (
    new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`parley serve ended with ${String(code)}:\n${log}`)));
      const onData = (/** @type {Buffer} */ data) => {
        log += String(data);
        const found = /Talk to it: (http:\/\/[\d.:]+)/.exec(log)?.[1];
        if (found !== undefined && log.includes('"ready"')) resolve(found);
      };
      child.stdout.on('data', onData);
      child.stderr.on('data', onData);
    })
  );
  shop.daemon = address;
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { address, stop };
}

/** Somebody's web site with the widget on it; `?consent` asks first, `?wrong` has a key that is none. */
async function openShop() {
  const site = { address: '', daemon: '', close: () => void server.close() };
  const server = createServer((request, response) => {
    const { searchParams: wish } = new URL(request.url ?? '/', 'http://shop');
    const consent = wish.has('consent') ? 'data-consent="This call is recorded, to make our service better."' : '';
    const key = wish.has('wrong') ? 'pk_wrong' : 'pk_screenshots';
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The Crooked Fork</title>
      <meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
      <style>body { max-width: 38rem; margin: 4rem auto; padding: 0 1.5rem; font: 1.125rem/1.6 Georgia, serif }</style></head>
      <body><h1>The Crooked Fork</h1><p>Big portions since 1987. Kitchen open from noon to eleven.</p>
      <script src="${site.daemon}/widget.js" data-agent-id="${AGENT}" data-public-key="${key}" data-name="Olive"
        ${consent}></script></body></html>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  site.address = `http://127.0.0.1:${String(address.port)}/`;
  return site;
}
