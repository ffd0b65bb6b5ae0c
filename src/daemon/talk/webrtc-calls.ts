import type { Clock } from '../../base/clock.js';
import type { Settings } from '../../settings/settings.js';
import { loadOpus } from '../../audio/codecs/opus.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { checkOffer } from '../../transports/webrtc/offer.js';
import type { MediaHost, WebRtcLine } from '../../threads/media-host.js';
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
  transport: WebRtcLine;
  agentId: string | null;
  /** Of the public key that it was begun with; undefined = a private one. */
  keyId: string | null | undefined;
}

/** The calls over WebRTC that go on. */
export class WebRtcCalls {
  readonly #options: WebRtcCallsOptions;
  readonly #lines = new Map<string, Line>();
  #warming: Promise<void> = Promise.resolve();

  constructor(options: WebRtcCallsOptions) {
    this.#options = options;
  }

  /** Loads and tries what a call needs, so that the first one need not wait for it. */
  warmUp(): void {
    const { clock, onError } = this.#options;
    this.#warming = Promise.all([import('../../transports/webrtc/warm-up.js'), loadOpus()])
      .then(([{ warmUpWebRtc }]) => warmUpWebRtc(clock))
      .catch(onError);
  }

  /** Lets go of what is not a session's. */
  async close(): Promise<void> {
    await this.#warming;
  }

  /**
   * Begins a session, which runs once the connection is there.
   * @param key null = a private one
   * @returns the answer's SDP
   * @throws ParleyError OFFER_INVALID, or as `WebSessions.begin`
   */
  async begin(key: PublicKey | null, requested: RequestedSession, offer: string): Promise<string> {
    const { webSessions, peers, onError, mediaHost } = this.#options;
    checkOffer(offer);
    webSessions.checkRoom();
    const transport = await mediaHost.openWebRtc(peers);
    try {
      webSessions.checkRoom(); // others may have come meanwhile
      const answering = transport.answer(offer);
      answering.catch(() => undefined); // is waited for below
      const session = await webSessions.begin(requested, transport, 'webrtc').catch(async (error: unknown) => {
        await answering.catch(() => undefined); // a connection that is closed while it opens its sockets leaves them open
        throw error;
      });
      const sdp = await answering.catch(async (error: unknown) => {
        await webSessions.abandon(session, reasonOf(error));
        throw error;
      });
      this.#lines.set(session.id, { transport, agentId: requested.agentId, keyId: key?.id });
      // Nobody would hear its first words before.
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

  /**
   * Answers another offer of a call that goes on: its client has lost its network, and has another one.
   * @throws ParleyError NOT_FOUND where there is no such call of this agent and this key, AUTH_FORBIDDEN, OFFER_INVALID
   */
  async change(key: PublicKey | null, agentId: string, sessionId: string, offer: string): Promise<string> {
    if (key !== null) this.#options.access.agent(key, agentId);
    const line = this.#lines.get(sessionId);
    const isTheirs = line !== undefined && line.agentId === agentId && (key === null || line.keyId === key.id);
    if (!isTheirs) throw new ParleyError('NOT_FOUND', { what: 'call over WebRTC', id: sessionId });
    return line.transport.answer(offer);
  }
}

/** A browser on the same machine may have no other way than loopback. */
export function peerSettings({ host, webrtc }: Pick<Settings, 'host' | 'webrtc'>): PeerSettings {
  const own = isLoopbackName(host) ? ['127.0.0.1'] : [];
  return { ...webrtc, addresses: webrtc.addresses.length > 0 ? webrtc.addresses : own };
}
