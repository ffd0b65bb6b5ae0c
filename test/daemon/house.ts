import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import type { Clock } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import { DEFAULT_SETTINGS, type Settings } from '../../src/settings/settings.js';
import { Daemon } from '../../src/daemon/daemon.js';
import { type Log, NO_LOG } from '../../src/daemon/operations/log.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/options.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import type { SessionTokenReply } from '../../src/transports/talk-protocol.js';
import { Inbox } from '../transports/inbox.js';

export const PRIVATE_KEY = 'sk_test_0123456789';
export const PUBLIC_KEY = 'pk_test_0123456789';

const AGENT = {
  id: 'baker',
  name: 'Baker',
  config: { prompt: 'You sell bread.', first_message: 'Hello.', llm: { model: 'scripted' } },
  script: { rules: [{ when: 'bread', say: 'We have bread.' }] },
};

/** A daemon on a free port, with a data folder of its own and the embedded engines. */
export class House {
  readonly engine: Engine;
  readonly faults: Error[];
  readonly dataDir: string;
  readonly daemon: Daemon;
  address = '';
  /** Resolves when a session has ended. */
  readonly ended: Promise<SessionReport>;
  readonly #clients: WebSocket[] = [];

  private constructor(opened: Pick<House, 'engine' | 'dataDir' | 'daemon' | 'ended' | 'faults'>) {
    this.engine = opened.engine;
    this.dataDir = opened.dataDir;
    this.daemon = opened.daemon;
    this.ended = opened.ended;
    this.faults = opened.faults;
  }

  static async open(
    settings: Partial<Settings> = {},
    clock: Clock = new RealClock(),
    log: Log = NO_LOG,
    options: EngineOptions = {},
  ): Promise<House> {
    let tellEnded!: (report: SessionReport) => void;
    const ended = new Promise<SessionReport>((resolve) => (tellEnded = resolve));
    const faults: Error[] = [];
    const dataDir = settings.dataDir ?? mkdtempSync(join(tmpdir(), 'parley-daemon-'));
    const engine = new Engine({ clock, recordings: join(dataDir, 'recordings'), ...options });
    const daemon = await Daemon.prepare({
      settings: {
        ...DEFAULT_SETTINGS,
        pocketSphinx: false,
        port: 0,
        apiKey: PRIVATE_KEY,
        publicKey: PUBLIC_KEY,
        ...settings,
        dataDir,
      },
      engine,
      agents: [AGENT],
      onSessionEvent: (_id, _agentId, event) => {
        if (event.type === 'ended') tellEnded(event.report);
      },
      onError: (error) => faults.push(error),
      log,
    });
    const house = new House({ engine, dataDir, daemon, ended, faults });
    try {
      house.address = await daemon.listen();
      await daemon.adopt();
    } catch (error) {
      await house.close();
      throw error;
    }
    return house;
  }

  request(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.address + path, init);
  }

  /** Status and body of a request. */
  async ask(path: string, init?: RequestInit): Promise<{ status: number; body: unknown }> {
    const response = await this.request(path, init);
    return { status: response.status, body: await response.json() };
  }

  /** A client of the talk socket. Its `initiate` is up to the test. */
  connect(headers: Record<string, string> = {}): Client {
    const socket = new WebSocket(`${this.address.replace('http', 'ws')}/talk`, { headers });
    this.#clients.push(socket);
    return new Client(socket);
  }

  async token(): Promise<SessionTokenReply> {
    const { body } = await this.ask('/sessions/token', {
      method: 'POST',
      headers: { authorization: PUBLIC_KEY, origin: this.address },
    });
    return body as SessionTokenReply;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.terminate();
    await this.daemon.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

export class Client {
  readonly inbox: Inbox;
  /** The HTTP status that refused the socket, null once it is open. */
  readonly refused: Promise<number | null>;

  constructor(readonly socket: WebSocket) {
    this.inbox = new Inbox(socket);
    socket.on('error', () => undefined);
    this.refused = new Promise((resolve) => {
      socket.once('open', () => resolve(null));
      socket.once('unexpected-response', (request, response) => {
        request.destroy();
        resolve(response.statusCode ?? 0);
      });
    });
  }

  /** Sends a message once the socket is open. Resolves when it has gone to the network. */
  async send(message: unknown): Promise<void> {
    await this.refused;
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    await new Promise<void>((resolve) => this.socket.send(text, () => resolve()));
  }

  /** The usual first message, with changes. */
  async initiate(data: Record<string, unknown> = {}): Promise<void> {
    await this.send({
      method: 'initiate',
      data: { public_key: PUBLIC_KEY, agent: { agent_id: 'baker' }, ...data },
    });
  }
}
