import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';

/** A microphone that hums, allowed for every page, and no requests of Firefox's own. */
const PREFERENCES: Readonly<Record<string, unknown>> = {
  'media.navigator.streams.fake': true,
  'media.navigator.permission.disabled': true,
  'media.autoplay.default': 0,
  'app.update.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'http://127.0.0.1:9/',
};
/** How long Firefox and the sound server may take to start. */
const START_MS = 30_000;
const LOOK_MS = 50;

/** A reply of the browser, or an event (https://w3c.github.io/webdriver-bidi). */
interface BidiMessage {
  id?: number;
  method?: string;
  error?: string;
  message?: string;
  params?: { level?: string; text?: string };
  result?: unknown;
}

interface Evaluated {
  type: 'success' | 'exception';
  result?: { value?: unknown };
  exceptionDetails?: { text: string };
}

/**
 * Firefox over WebDriver BiDi, with a fake microphone and a sound server without devices. Without such a server its
 * AudioContext never starts on a machine that has no sound card.
 */
export class Firefox {
  /** Errors in the page's console, and exceptions. */
  readonly errors: string[] = [];
  readonly #folder: string;
  readonly #children: readonly ChildProcess[];
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (reply: BidiMessage) => void>();
  #lastId = 0;
  #page = '';

  private constructor(folder: string, children: readonly ChildProcess[], socket: WebSocket) {
    this.#folder = folder;
    this.#children = children;
    this.#socket = socket;
    socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString('utf8')) as BidiMessage));
  }

  static async launch(): Promise<Firefox> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-firefox-'));
    const sound = await soundServer(folder);
    const lines = Object.entries(PREFERENCES).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
    );
    writeFileSync(join(folder, 'user.js'), lines.join('\n'));
    const args = ['--headless', '--no-remote', '--profile', folder, '--remote-debugging-port', '0', 'about:blank'];
    const browser = spawn('firefox-esr', args, {
      env: { PATH: process.env['PATH'], HOME: folder, PULSE_SERVER: `unix:${sound.path}` },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const address = await new Promise<string>((resolve, reject) => {
      let printed = '';
      browser.stderr.on('data', (data: Buffer) => {
        printed += data.toString();
        const found = /WebDriver BiDi listening on (ws:\S+)/.exec(printed);
        if (found?.[1] !== undefined) resolve(found[1]);
      });
      browser.once('exit', () => reject(new Error(`Firefox ended:\n${printed}`)));
      browser.once('error', reject);
    });
    const socket = new WebSocket(`${address}/session`);
    await once(socket, 'open');
    const firefox = new Firefox(folder, [browser, sound.process], socket);
    await firefox.#send('session.new', { capabilities: {} });
    await firefox.#send('session.subscribe', { events: ['log.entryAdded'] });
    const { contexts } = (await firefox.#send('browsingContext.getTree', {})) as { contexts: { context: string }[] };
    firefox.#page = contexts[0]?.context ?? '';
    return firefox;
  }

  /** Opens an address in its only tab. */
  async open(url: string): Promise<void> {
    await this.#send('browsingContext.navigate', { context: this.#page, url, wait: 'complete' });
  }

  /** The value of an expression in the page, which runs as if the visitor had clicked. */
  async evaluate(expression: string): Promise<unknown> {
    const target = { context: this.#page };
    const request = { expression, target, awaitPromise: true, userActivation: true };
    const { result, exceptionDetails } = (await this.#send('script.evaluate', request)) as Evaluated;
    if (exceptionDetails !== undefined) throw new Error(`${exceptionDetails.text} in ${expression}`);
    return result?.value;
  }

  /** Ends it and its sound. May be called twice. */
  async close(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    this.#socket.terminate();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #send(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#lastId;
    const reply = new Promise<BidiMessage>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { error, message, result } = await reply;
    if (error !== undefined) throw new Error(`${method}: ${error}: ${message ?? ''}`);
    return result;
  }

  #receive(message: BidiMessage): void {
    if (message.id !== undefined) this.#waiting.get(message.id)?.(message);
    else if (message.params?.level === 'error') this.errors.push(message.params.text ?? '');
  }
}

/** A sound server of its own, whose only loudspeaker plays into nothing. */
async function soundServer(folder: string): Promise<{ process: ChildProcess; path: string }> {
  const path = join(folder, 'sound');
  const modules = [`module-native-protocol-unix socket=${path} auth-anonymous=1`, 'module-null-sink'];
  const args = [
    '-n',
    '--daemonize=no',
    '--exit-idle-time=-1',
    '--use-pid-file=no',
    ...modules.flatMap((it) => ['-L', it]),
  ];
  const env = { PATH: process.env['PATH'], HOME: folder, XDG_RUNTIME_DIR: folder };
  const child = spawn('pulseaudio', args, { env, stdio: 'ignore' });
  const deadline = AbortSignal.timeout(START_MS);
  while (!existsSync(path)) await delay(LOOK_MS, undefined, { signal: deadline });
  return { process: child, path };
}
