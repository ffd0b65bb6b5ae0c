import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserServer, chromium, type Page } from 'playwright-core';
import { setSessionPriority } from '../../scripts/priority.mjs';
import { hasTool } from '../../scripts/system-tools.mjs';
import { decodeWav, encodeWav } from '../../src/audio/files/wav.js';
import { packageFile } from '../../src/package-files.js';

/** A fixture that stands for the user at the microphone. */
const SPOKEN = 'fixtures/audio/booking/slt/table';
/** The agent greets before the user speaks. */
const GREETING_MS = 7000;
/** Then they wait for an answer and, as people do, say it again. */
const SILENCE_AFTER_MS = 8000;

/** What the user says into every microphone of the browser. */
export function spokenText(): string {
  return (JSON.parse(readFileSync(packageFile(`${SPOKEN}.json`), 'utf8')) as { text: string }).text;
}

export const hasChromium = hasTool('chromium');

/** Chromium without windows of its own takes less than half of the processor time. */
const SMALLEST = hasTool('chromium-headless-shell') ? 'chromium-headless-shell' : 'chromium';

/** A real browser whose microphone is a recording. */
export class TalkingBrowser {
  /** Errors in any page's console, and exceptions. */
  readonly errors: string[] = [];
  readonly #server: BrowserServer;
  readonly #browser: Browser;
  readonly #folder: string;

  private constructor(server: BrowserServer, browser: Browser, folder: string) {
    this.#server = server;
    this.#browser = browser;
    this.#folder = folder;
  }

  /**
   * @param silenceAfterMs behind what is spoken, before it is spoken again
   * @param more arguments of the browser's
   * @param silenceBeforeMs before it is spoken, from when a page opens the microphone
   * @param program `chromium` gives the machine's addresses to WebRTC in pages that may use the microphone
   */
  static async launch(
    silenceAfterMs = SILENCE_AFTER_MS,
    more: readonly string[] = [],
    silenceBeforeMs = GREETING_MS,
    program: 'chromium-headless-shell' | 'chromium' = SMALLEST,
  ): Promise<TalkingBrowser> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-browser-'));
    const microphone = join(folder, 'microphone.wav');
    writeFileSync(microphone, microphoneWav(silenceBeforeMs, silenceAfterMs));
    const server = await chromium.launchServer({
      executablePath: `/usr/bin/${program}`,
      args: [
        '--no-sandbox',
        // As Chromium with windows has it.
        '--autoplay-policy=document-user-activation-required',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--use-fake-device-for-media-stream',
        '--use-fake-ui-for-media-stream',
        `--use-file-for-fake-audio-capture=${microphone}`,
        ...more,
      ],
    });
    setSessionPriority(server.process().pid, getPriority());
    return new TalkingBrowser(server, await chromium.connect(server.wsEndpoint()), folder);
  }

  /** The daemon's page, as another visitor has it. */
  async open(address: string, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
    const page = await this.visit(address, prepare);
    await page.waitForSelector('#talk:enabled', { timeout: 60_000 });
    return page;
  }

  /** Any page. */
  async visit(address: string, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
    const page = await this.#browser.newPage({ viewport: { width: 1200, height: 760 } });
    page.on('console', (message) => {
      if (message.type() === 'error') this.errors.push(`${message.text()} ${message.location().url}`.trim());
    });
    page.on('pageerror', (error) => this.errors.push(error.stack ?? error.message));
    await prepare?.(page);
    await page.goto(address);
    return page;
  }

  /** Ends it without a chance to say goodbye. */
  async kill(): Promise<void> {
    await this.#server.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** What axe finds wrong with what is shown, in light and dark. The page is in light, with reduced motion, afterwards. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const faults = async (look: string, options: object): Promise<string[]> => {
    const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
    return violations.flatMap(({ id, impact, nodes }) =>
      nodes.map(({ target, failureSummary: why = '' }) => `${look}: ${String(impact)} ${id} ${target.join()} ${why}`),
    );
  };
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  const light = await faults('light', { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } });
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  const dark = await faults('dark', { runOnly: ['color-contrast'], resultTypes: ['violations'] });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  return [...light, ...dark];
}

/** What Chromium says of a server that is gone, at whatever moment of a request or a handshake it went. */
const SERVER_GONE =
  /net::ERR_(CONNECTION_|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|closed before (receiving a handshake|the connection is established)/;

/** The errors without those that no page can avoid while its server is gone. */
export function unexpectedErrors(errors: readonly string[]): string[] {
  return errors.filter((error) => !SERVER_GONE.test(error));
}

/** The fixture between silence, in the plain PCM that Chromium plays, again and again. */
function microphoneWav(silenceBeforeMs: number, silenceAfterMs: number): Uint8Array {
  const { samples, sampleRateHz } = decodeWav(readFileSync(packageFile(`${SPOKEN}.wav`)));
  const before = (silenceBeforeMs * sampleRateHz) / 1000;
  const all = new Int16Array(before + samples.length + (silenceAfterMs * sampleRateHz) / 1000);
  all.set(samples, before);
  return encodeWav(all, sampleRateHz);
}
