import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../../base/clock.js';
import { errorOf, ParleyError } from '../../../base/errors.js';
import type { AdmissionControl } from '../../admission-control.js';
import type { Clients } from '../../http/clients.js';
import { bearer } from '../../http/access.js';
import type { RateLimit } from '../../http/rate-limit.js';
import { openAiError } from '../../http/openai-error.js';
import { refuseUpgrade } from '../../../net/refuse-upgrade.js';
import { pingClient, SocketPlaces, type Upgrade, type Upgrades } from '../../http/upgrades.js';
import type { RealtimeSessions } from './realtime-sessions.js';
import { RealtimeSocketLine, tooSlow } from './socket-line.js';

export interface RealtimeEndpointOptions {
  upgrades: Upgrades;
  sessions: RealtimeSessions;
  clients: Clients;
  requests: RateLimit;
  admission: Pick<AdmissionControl, 'fault'>;
  clock: Clock;
  /** Maximum of open sockets of one address. */
  socketsPerAddress: number;
  leadMs: number;
  onError: (error: Error) => void;
}

/** The interface's largest event, with 15 MB of audio. */
const MAX_MESSAGE_BYTES = 21_000_000;
/** Bytes that may wait for a slow client before it is disconnected: 16 s of audio. */
const MAX_BUFFERED_BYTES = 1_024_000;
/** Deadline for the client to answer the close. */
const CLOSE_TIMEOUT_MS = 2_000;
/** How a browser gives its key: it cannot set headers. */
const KEY_PROTOCOL = 'openai-insecure-api-key.';
const BETA_PROTOCOL = 'openai-beta.realtime-v1';

/** `/v1/realtime`: OpenAI's Realtime API over a WebSocket, with agents as models. */
export class RealtimeEndpoint {
  readonly #options: RealtimeEndpointOptions;
  readonly #places: SocketPlaces;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has('realtime') ? 'realtime' : false),
  });

  constructor(options: RealtimeEndpointOptions) {
    this.#options = options;
    this.#places = new SocketPlaces(options.socketsPerAddress);
    options.upgrades.at(
      (path) => path === '/v1/realtime',
      (upgrade) => void this.#onUpgrade(upgrade),
    );
  }

  /** Refuses new clients. Sessions end with the engine. */
  close(): void {
    this.#sockets.close();
  }

  async #onUpgrade(upgrade: Upgrade): Promise<void> {
    const { admission, clients, requests, sessions, onError } = this.#options;
    const { request, socket, head, path } = upgrade;
    try {
      const { fault } = admission;
      if (fault !== null) throw fault;
      const { address } = clients.of(request);
      const query = new URLSearchParams(path.split('?')[1] ?? '');
      const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((part) => part.trim());
      const given = protocols.find((part) => part.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length);
      const client = await sessions.client(request, given ?? bearer(request.headers.authorization));
      requests.take(client.payer);
      if (query.has('call_id')) throw new ParleyError('REQUEST_INVALID', { reason: 'call_id is not supported' });
      const { agent, config } = await sessions.prepare(client, query.get('model'));
      const beta = [request.headers['openai-beta']].flat().includes('realtime=v1') || protocols.includes(BETA_PROTOCOL);
      const replacesPrompt = client.secret === null && query.get('instructions') === 'replace';
      if (socket.destroyed) return;
      socket.once('close', this.#places.enter(address));
      this.#sockets.handleUpgrade(request, socket, head, (ws) => {
        this.#serve(ws, { client, agent, config, replacesPrompt, isBeta: beta });
      });
    } catch (error) {
      if (!(error instanceof ParleyError)) onError(errorOf(error));
      const refusal = openAiError(error instanceof ParleyError ? error : new ParleyError('INTERNAL'));
      refuseUpgrade(socket, { status: refusal.status, body: { error: refusal.error } });
    }
  }

  #serve(
    ws: WebSocket,
    parts: Pick<Parameters<RealtimeSessions['open']>[0], 'client' | 'agent' | 'config' | 'replacesPrompt' | 'isBeta'>,
  ): void {
    const { sessions, leadMs } = this.#options;
    const { config } = parts;
    const close = (): Promise<void> => this.#close(ws);
    const conversation = sessions.open({
      ...parts,
      carriesAudio: true,
      channel: 'talk',
      send: (text) => {
        if (ws.readyState !== ws.OPEN) return;
        ws.send(text);
        if (ws.bufferedAmount <= MAX_BUFFERED_BYTES) return;
        conversation.close(tooSlow(ws.bufferedAmount));
        ws.terminate();
      },
      line: (owner) => new RealtimeSocketLine({ config, leadMs, close, conversation: owner }),
      close: () => void close(),
    });
    let error: Error | undefined;
    const stopPings = pingClient(ws, this.#options.clock);
    ws.on('error', (reason: Error) => (error = reason)); // a close always follows
    ws.once('close', () => {
      stopPings();
      conversation.close(error);
    });
    ws.on('message', (data: Buffer, isBinary: boolean) => {
      if (!isBinary) conversation.receive(data.toString('utf8'));
    });
    conversation.open();
  }

  #close(ws: WebSocket): Promise<void> {
    if (ws.readyState === ws.CLOSED) return Promise.resolve();
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const cancel = clock.schedule(clock.nowMs() + CLOSE_TIMEOUT_MS, () => ws.terminate());
      ws.once('close', () => {
        cancel();
        resolve();
      });
      ws.close(1000);
    });
  }
}
