import { existsSync } from 'node:fs';
import { WebSocket } from 'ws';
import { agentNamed } from '../../agent/find-agent.js';
import type { SessionContinuation } from '../../agent/continuation.js';
import { frameSamples, HEARING_RATE_HZ } from '../../audio/frame.js';
import type { Cancel, Clock } from '../../base/clock.js';
import { withTimeout } from '../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { Ticker } from '../../base/ticker.js';
import { PcmReader, pcmBytes } from '../../transports/pcm.js';
import type { PageDescription, TalkInitiate, TalkServerMessage } from '../../transports/talk-protocol.js';
import type { Transport } from '../../transports/transport.js';
import { type CommandIo, UsageError } from './command.js';
import { DaemonClient, daemonPlace, DEFAULT_URL } from './daemon-client.js';

export interface RemoteTalkOptions {
  /** Address of the daemon. */
  url: string;
  /** Id or name; undefined = the daemon's only agent. */
  agent: string | undefined;
  metadata: Readonly<Record<string, unknown>>;
  continuation: SessionContinuation | null;
  /** The user's microphone and loudspeaker, or what takes their place; 16 kHz. */
  line: Transport;
  clock: Clock;
  onMessage: (message: TalkServerMessage) => void;
  signal: AbortSignal;
}

/** The daemon answers `initiate` within this time. */
const READY_MS = 30_000;
/** The daemon pings every 20 s; a connection that is silent for longer is lost. */
const SILENCE_MS = 60_000;

/** A conversation with an agent of a running daemon, over the talk socket (docs/talk-socket.md). */
export class RemoteTalk {
  readonly agentName: string;
  sessionId = '';
  readonly #options: RemoteTalkOptions;
  readonly #socket: WebSocket;
  readonly #ticker: Ticker;
  readonly #pcm = new PcmReader();
  readonly #over: Promise<string>;
  #waiting = new Int16Array(0);
  #isPaused = false;
  #status: string | null = null;
  #failure: string | null = null;
  #stopTicks: Cancel = () => undefined;
  #stopWatch: Cancel = () => undefined;

  private constructor(options: RemoteTalkOptions, socket: WebSocket, agentName: string) {
    this.#options = options;
    this.#socket = socket;
    this.agentName = agentName;
    this.#ticker = new Ticker(options.clock);
    socket.on('message', (data: Buffer, isBinary) => this.#received(data, isBinary));
    socket.on('ping', () => this.#watch());
    socket.on('error', (error) => (this.#failure ??= reasonOf(error)));
    this.#over = new Promise((resolve) => {
      socket.once('close', () => {
        this.#stopTicks();
        this.#stopWatch();
        this.#drain();
        void options.line
          .close()
          .then(() => resolve(this.#status ?? (this.#failure === null ? 'user-ended' : 'error')));
      });
    });
  }

  /**
   * Finds the agent and begins the conversation.
   * @throws ParleyError NET_FAILED, NOT_FOUND, AGENT_AMBIGUOUS, with the daemon's reason; UsageError without an agent
   */
  static async open(options: RemoteTalkOptions): Promise<RemoteTalk> {
    const { url, agent: named, metadata, continuation, clock, signal } = options;
    const page = (await new DaemonClient({ url, key: '', signal }).ask('GET', '/page.json')) as PageDescription;
    const agent = named === undefined ? onlyAgent(page.agents) : agentNamed(page.agents, named);
    const address = new URL('talk', url.endsWith('/') ? url : `${url}/`);
    const origin = address.origin;
    address.protocol = address.protocol.replace('http', 'ws');
    const socket = new WebSocket(address, { origin, handshakeTimeout: READY_MS });
    const talk = new RemoteTalk(options, socket, agent.name);
    const initiate: TalkInitiate = {
      method: 'initiate',
      data: {
        public_key: page.public_key,
        agent: { agent_id: agent.id },
        metadata,
        session_continuation: continuation as NonNullable<TalkInitiate['data']['session_continuation']> | null,
      },
    };
    signal.addEventListener('abort', () => talk.hangUp(), { once: true });
    const ready = new Promise<void>((resolve, reject) => {
      socket.once('open', () => socket.send(JSON.stringify(initiate)));
      talk.#onReady = resolve;
      void talk.#over.then(() =>
        reject(new ParleyError('NET_FAILED', { reason: talk.#failure ?? 'the socket closed' })),
      );
    });
    await withTimeout(clock, READY_MS, () => ready).catch((error: unknown) => {
      socket.terminate();
      throw signal.aborted ? signal.reason : error;
    });
    return talk;
  }

  #onReady: () => void = () => undefined;

  sendText(text: string): void {
    this.#send({ method: 'text', data: text });
  }

  hangUp(): void {
    this.#socket.close();
  }

  /** Resolves with the status when the conversation is over. */
  run(): Promise<string> {
    return this.#over;
  }

  #send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #received(data: Buffer, isBinary: boolean): void {
    this.#watch();
    if (isBinary) {
      const more = this.#pcm.read(data);
      const joined = new Int16Array(this.#waiting.length + more.length);
      joined.set(this.#waiting);
      joined.set(more, this.#waiting.length);
      this.#waiting = joined;
      return;
    }
    const message = JSON.parse(data.toString()) as TalkServerMessage;
    if (message.method === 'onready') this.#begin(message.payload.session_id);
    else if (message.method === 'pause') this.#isPaused = true;
    else if (message.method === 'unpause') this.#isPaused = false;
    else if (message.method === 'clear') this.#waiting = new Int16Array(0);
    else if (message.method === 'onsessionended') this.#status = message.payload.status;
    else if (message.method === 'onerror') this.#failure = message.data;
    // A terminal has no forms: the user declines.
    else if (message.method === 'ai_action' && message.payload.type !== undefined && message.payload.withdrawn !== true)
      this.#send({ method: 'form_result', payload: { id: message.payload.id, value: null } });
    this.#options.onMessage(message);
  }

  #begin(sessionId: string): void {
    const { line } = this.#options;
    this.sessionId = sessionId;
    this.#onReady();
    line.start({
      audio: (samples) => {
        // A copy: the line may use the memory again before it is sent.
        if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(Buffer.from(pcmBytes(samples)));
      },
      text: (text) => this.sendText(text),
      digits: (digits) => this.#send({ method: 'dtmf', data: digits }),
      formResult: (id, value) => this.#send({ method: 'form_result', payload: { id, value } }),
      closed: (error) => {
        if (error !== undefined) this.#failure = reasonOf(error);
        this.hangUp();
      },
    });
    this.#stopTicks = this.#ticker.subscribe((skipped) => {
      for (let tick = 0; tick <= skipped; tick++) this.#play();
    });
  }

  /** The next 20 ms for the user. */
  #play(): void {
    const size = frameSamples(HEARING_RATE_HZ);
    const { line } = this.#options;
    if (this.#isPaused || this.#waiting.length < size) {
      line.play(null);
      return;
    }
    line.play(this.#waiting.slice(0, size));
    this.#waiting = this.#waiting.slice(size);
  }

  /** The end of the last words, which the daemon has sent ahead. */
  #drain(): void {
    while (!this.#isPaused && this.#waiting.length >= frameSamples(HEARING_RATE_HZ)) this.#play();
  }

  #watch(): void {
    const { clock } = this.#options;
    this.#stopWatch();
    this.#stopWatch = clock.schedule(clock.nowMs() + SILENCE_MS, () => {
      this.#failure ??= `nothing came for ${String(SILENCE_MS / 1000)} s`;
      this.#socket.terminate();
    });
  }

  /** Why it ended with `error`; null = it did not, or no reason came. */
  get failure(): string | null {
    return this.#failure;
  }
}

/**
 * The address of the daemon that a command means: that of `--url`, or of PARLEY_URL where `--agent` is no file. Null = none:
 * the agent is a file.
 * @throws UsageError for a name without a daemon
 */
export function daemonOf(
  { url, agent }: { url: string | undefined; agent: string | undefined },
  { env }: Pick<CommandIo, 'env'>,
): string | null {
  if (url !== undefined) return daemonPlace({ url, key: '-' }, { env }).url;
  const isFile = agent === undefined || agent === '-' || existsSync(agent) || /[/\\]|\.\w+$/.test(agent);
  if (isFile) return null;
  const known = env['PARLEY_URL'] ?? '';
  if (known !== '') return known;
  throw new UsageError(
    `there is no file ${agent}; an agent of a running daemon needs --url ${DEFAULT_URL}, or PARLEY_URL`,
  );
}

function onlyAgent(agents: PageDescription['agents']): PageDescription['agents'][number] {
  const [only, ...others] = agents;
  if (only !== undefined && others.length === 0) return only;
  const known = agents.map(({ name }) => name).join(', ');
  throw new UsageError(only === undefined ? 'the daemon has no agent' : `--agent is missing: one of ${known}`);
}
