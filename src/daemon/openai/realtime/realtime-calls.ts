import type { FastifyReply, FastifyRequest } from 'fastify';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { parseJson } from '../../../base/json.js';
import { checkOffer } from '../../../transports/webrtc/offer.js';
import type { PeerSettings } from '../../../transports/webrtc/peer.js';
import type { SideChannel, SideChannelLink, WebRtcTransport } from '../../../transports/webrtc/webrtc-transport.js';
import type { LocalMediaHost } from '../../../threads/media-host.js';
import type { SessionHandle } from '../../../engine/remote-line.js';
import { InvalidConfigError } from '../../../schema/issues.js';
import type { RealtimeConversation } from './conversation.js';
import type { RealtimeClient, RealtimeSessions } from './realtime-sessions.js';

export interface RealtimeCallsOptions {
  sessions: RealtimeSessions;
  /** Sessions with functions of their client run on the main thread. */
  media: Pick<LocalMediaHost, 'openWebRtc'>;
  peers: PeerSettings;
  /** The base path, before the path of a call. */
  prefix: string;
  onError: (error: Error) => void;
}

/** The offer of a client, and the session that it asks for. */
interface Offer {
  sdp: string;
  session: unknown;
}

/** `/v1/realtime/calls`: OpenAI's Realtime API over WebRTC. Events come and go on the data channel. */
export class RealtimeCalls {
  readonly #options: RealtimeCallsOptions;
  readonly #running = new Map<string, SessionHandle>();

  constructor(options: RealtimeCallsOptions) {
    this.#options = options;
  }

  /**
   * Answers an offer. The session begins once the connection stands and the client has configured it.
   * @throws ParleyError OFFER_INVALID, RTP_PORTS_FULL; as `RealtimeSessions.prepare`
   */
  async answer(request: FastifyRequest, client: RealtimeClient, reply: FastifyReply): Promise<FastifyReply> {
    const { sessions, media, peers, prefix } = this.#options;
    const { sdp, session } = await offerOf(request);
    checkOffer(sdp);
    const { model, instructions } = request.query as { model?: string; instructions?: string };
    const { agent, config } = await sessions.prepare(client, model ?? modelIn(session));
    if (session !== null)
      config.update(Object.assign({}, session, { model: null }), { hasAudio: false, place: 'session' });
    let link: SideChannelLink | null = null;
    let transport: WebRtcTransport | null = null;
    const conversation = sessions.open({
      client,
      agent,
      config,
      isBeta: request.headers['openai-beta'] === 'realtime=v1',
      replacesPrompt: client.secret === null && instructions === 'replace',
      carriesAudio: false,
      channel: 'webrtc',
      send: (text) => link?.send(text),
      line: () => {
        if (transport === null) throw new Error('a session without its line');
        return transport;
      },
      run: (running) => this.#run(running),
      close: () => void transport?.close(),
    });
    transport = await media.openWebRtc(peers, (own) => {
      link = own;
      return new EventChannel(conversation);
    });
    try {
      const answer = await transport.answer(sdp);
      void transport.connected.then(
        () => conversation.open(),
        () => conversation.close(),
      );
      void reply.code(201).header('location', `${prefix}/v1/realtime/calls/${conversation.sessionId}`);
      return await reply.type('application/sdp').send(answer);
    } catch (error) {
      conversation.close();
      await transport.close();
      throw error;
    }
  }

  /** @throws ParleyError NOT_FOUND */
  hangUp(id: string): void {
    const session = this.#running.get(id);
    if (session === undefined) throw new ParleyError('NOT_FOUND', { what: 'call', id });
    void session.close();
  }

  #run(session: SessionHandle): void {
    this.#running.set(session.id, session);
    void session
      .run()
      .catch(this.#options.onError)
      .finally(() => this.#running.delete(session.id));
  }
}

/** The data channel: events of the interface. */
class EventChannel implements SideChannel {
  readonly showsForms = false;
  readonly badMessages = 0;
  readonly #conversation: RealtimeConversation;

  constructor(conversation: RealtimeConversation) {
    this.#conversation = conversation;
  }

  receive(text: string): void {
    this.#conversation.receive(text);
  }

  tell(message: Parameters<SideChannel['tell']>[0]): void {
    this.#conversation.told(message);
  }

  closed(error?: Error): void {
    this.#conversation.close(error);
  }
}

/** `application/sdp`, or a form with `sdp` and `session`. @throws InvalidConfigError */
async function offerOf({ body, headers }: FastifyRequest): Promise<Offer> {
  const type = headers['content-type'] ?? '';
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  if (/^application\/sdp\b/i.test(type)) return { sdp: bytes.toString('utf8'), session: null };
  if (!/^multipart\/form-data\b/i.test(type)) {
    throw fault(['body'], `The content type should be application/sdp or multipart/form-data`);
  }
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } })
    .formData()
    .catch((error: unknown) => {
      throw fault(['body'], `The form cannot be read: ${reasonOf(error)}`);
    });
  const [sdp, session] = await Promise.all([textOf(form.get('sdp')), textOf(form.get('session'))]);
  if (sdp === null) throw fault(['body', 'sdp'], 'Field required');
  if (session === null) return { sdp, session: null };
  try {
    return { sdp, session: parseJson(session) };
  } catch {
    throw fault(['body', 'session'], 'It is not JSON');
  }
}

async function textOf(part: { text(): Promise<string> } | string | null): Promise<string | null> {
  return part === null || typeof part === 'string' ? part : part.text();
}

function modelIn(session: unknown): string | null {
  const model: unknown = typeof session === 'object' && session !== null && 'model' in session ? session.model : null;
  return typeof model === 'string' ? model : null;
}

function fault(loc: readonly string[], msg: string): InvalidConfigError {
  return new InvalidConfigError([{ loc, msg, type: 'value_error' }]);
}
