import type { Clock } from '../../base/clock.js';
import type { Settings } from '../../settings/settings.js';
import { loadOpus } from '../../audio/codecs/opus.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import { checkOffer } from '../../transports/webrtc/offer.js';
import type { MediaHost, BrowserLine } from '../../threads/media-host.js';
import type { PeerSettings } from '../../transports/webrtc/peer.js';
import { type Access, isLoopbackName, type PublicKey } from '../http/access.js';
import type { WebSessions, RequestedSession } from './web-sessions.js';

export interface WebRtcCallsOptions {
  webSessions: WebSessions;
  access: Access;
  clock: Clock;
  peers: PeerSettings;
  mediaHost: Pick<MediaHost, 'openWebRtc'>;
  onError: (error: Error) => void;
}

interface Line {
  transport: BrowserLine;
  agentId: string | null;
  /** The public key that started it; undefined = a private key. */
  keyId: string | null | undefined;
}

/** The running calls over WebRTC. */
export class WebRtcCalls {
  readonly #options: WebRtcCallsOptions;
  readonly #lines = new Map<string, Line>();
  #warming: Promise<void> = Promise.resolve();

  constructor(options: WebRtcCallsOptions) {
    this.#options = options;
  }

  /** Loads and exercises the WebRTC code, so that the first call does not wait for it. */
  warmUp(): void {
    const { clock, onError } = this.#options;
    this.#warming = Promise.all([import('../../transports/webrtc/warm-up.js'), loadOpus()])
      .then(([{ warmUpWebRtc }]) => warmUpWebRtc(clock))
      .catch(onError);
  }

  /** Waits for the warm-up. Sessions end with the engine. */
  async close(): Promise<void> {
    await this.#warming;
  }

  /**
   * Creates a session, which runs once the connection is open.
   * @param key null = a private key
   * @returns the answer's SDP
   * @throws ParleyError OFFER_INVALID, or as `WebSessions.begin`
   */
  async begin(key: PublicKey | null, requested: RequestedSession, offer: string): Promise<string> {
    const { webSessions, peers, onError, mediaHost } = this.#options;
    checkOffer(offer);
    webSessions.mustWait(requested);
    const transport = await mediaHost.openWebRtc(peers);
    try {
      // Whether there is room is asked again, after the wait.
      if (!webSessions.reserve(requested)) return await this.#wait(key, requested, transport, offer);
      const answering = transport.answer(offer);
      answering.catch(() => undefined); // awaited below
      const session = await webSessions.begin(requested, transport, 'webrtc').catch(async (error: unknown) => {
        await answering.catch(() => undefined); // closing a connection while it opens its sockets would leak them
        throw error;
      });
      const sdp = await answering.catch(async (error: unknown) => {
        await webSessions.abandon(session, reasonOf(error));
        throw error;
      });
      this.#lines.set(session.id, lineOf(key, requested, transport));
      // Before that, the user would miss the first words.
      void transport.connected
        .then(
          () => session.run(),
          (error: unknown) => webSessions.abandon(session, reasonOf(error)),
        )
        .catch(onError)
        .finally(() => this.#lines.delete(session.id));
      return sdp;
    } catch (error) {
      await transport.close();
      throw error;
    }
  }

  /** A client that waits for its turn: its line opens before there is a session. @returns the answer's SDP */
  async #wait(
    key: PublicKey | null,
    requested: RequestedSession,
    transport: BrowserLine,
    offer: string,
  ): Promise<string> {
    const { webSessions, onError } = this.#options;
    const sdp = await transport.answer(offer);
    this.#lines.set(requested.sessionId, lineOf(key, requested, transport));
    const talk = async (): Promise<void> => {
      await transport.connected;
      const line = await webSessions.wait(requested, transport, { channel: 'webrtc' });
      const session = await webSessions.begin(requested, line, 'webrtc');
      await session.run();
    };
    void talk()
      .catch((error: unknown) => {
        // Who has left the queue, or found no path, was told so.
        if (!(error instanceof ParleyError)) onError(errorOf(error));
        return transport.close();
      })
      .finally(() => this.#lines.delete(requested.sessionId));
    return sdp;
  }

  /**
   * Answers another offer of a running call, whose client has changed its network.
   * @throws ParleyError NOT_FOUND if this agent and this key have no such call, AUTH_FORBIDDEN, OFFER_INVALID
   */
  async change(key: PublicKey | null, agentId: string, sessionId: string, offer: string): Promise<string> {
    if (key !== null) this.#options.access.agent(key, agentId);
    const line = this.#lines.get(sessionId);
    const isTheirs = line !== undefined && line.agentId === agentId && (key === null || line.keyId === key.id);
    if (!isTheirs) throw new ParleyError('NOT_FOUND', { what: 'call over WebRTC', id: sessionId });
    return line.transport.answer(offer);
  }
}

function lineOf(key: PublicKey | null, { agentId }: RequestedSession, transport: BrowserLine): Line {
  return { transport, agentId, keyId: key?.id };
}

/** Offers loopback too if the daemon listens there, because a browser on this machine may have no other address. */
export function peerSettings({ host, webrtc }: Pick<Settings, 'host' | 'webrtc'>): PeerSettings {
  const own = isLoopbackName(host) ? ['127.0.0.1'] : [];
  return { ...webrtc, addresses: webrtc.addresses.length > 0 ? webrtc.addresses : own };
}
