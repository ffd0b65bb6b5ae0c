import type { TalkClientMessage, TalkServerMessage } from '../../../src/transports/talk-protocol.js';
import { DaemonApi } from './daemon.js';
import { NO_CLOSE } from './endings.js';
import { CallError } from './errors.js';
import { LevelMeter } from './level-meter.js';
import type { CallLevels, Line, LineEvents, LineOptions, OpenLine } from './line.js';

/** A STUN server that does not answer is not waited for. */
const GATHER_MS = 2000;
/** ICE restarts: the daemon waits 12 s for a client whose network changes. */
const RESTARTS = 8;
const RESTART_PAUSE_MS = 1500;
/** What is left in the browser's buffer when the server says that the session is over. */
const LAST_WORDS_MS = 300;

/** Opens a connection over WebRTC: Opus over UDP, and a data channel with the messages. */
export const openWebRtcLine: OpenLine = async (options, events, signal) => {
  if (typeof RTCPeerConnection === 'undefined') {
    throw new CallError('webrtc', 'This browser does not have WebRTC, or it is switched off.');
  }
  if (options.agentConfig !== null || options.agentId === null) {
    throw new CallError('options', 'agentConfig needs the socket: WebRTC takes the agent as it is stored.');
  }
  const { token, iceServers } = await options.token();
  signal.throwIfAborted();
  const line = new WebRtcLine(options, options.agentId, iceServers, events);
  const abort = (): void => line.close();
  signal.addEventListener('abort', abort);
  try {
    await line.connect(token, signal);
    return line;
  } catch (error) {
    line.close();
    if (error instanceof CallError) throw error;
    throw new CallError('webrtc', 'The browser could not open a connection over WebRTC.', { cause: error });
  } finally {
    signal.removeEventListener('abort', abort);
  }
};

class WebRtcLine implements Line {
  readonly transport = 'webrtc';
  readonly stats = null;
  readonly #options: LineOptions;
  readonly #agentId: string;
  readonly #events: LineEvents;
  readonly #connection: RTCPeerConnection;
  readonly #channel: RTCDataChannel;
  readonly #sender: RTCRtpSender;
  readonly #loudspeaker = new Audio();
  readonly #meter = new LevelMeter();
  readonly #lifetime = new AbortController();
  #sessionId: string | null = null;
  #isRecovering = false;
  /** In a queue, before there is a session. */
  #isWaiting = false;
  /** The server has ended the session. */
  #isEnded = false;

  constructor(options: LineOptions, agentId: string, iceServers: RTCIceServer[], events: LineEvents) {
    this.#options = options;
    this.#agentId = agentId;
    this.#events = events;
    this.#connection = new RTCPeerConnection({ iceServers });
    this.#channel = this.#connection.createDataChannel('parley');
    this.#channel.onmessage = ({ data }: MessageEvent<string>): void => {
      this.#onMessage(JSON.parse(data) as TalkServerMessage);
    };
    this.#channel.onclose = (): void => this.#onChannelClosed();
    this.#connection.ontrack = ({ track }): void => this.#play(track);
    this.#connection.onconnectionstatechange = (): void => this.#onState();
    const track = options.stream?.getAudioTracks()[0];
    const transceiver = this.#connection.addTransceiver(track ?? 'audio', { direction: 'sendrecv' });
    this.#sender = transceiver.sender;
    if (options.stream !== null) this.#meter.listen('user', options.stream);
  }

  get levels(): CallLevels {
    return this.#meter.levels;
  }

  /** Makes the first offer. Resolves when the connection stands. */
  async connect(token: string, signal: AbortSignal): Promise<void> {
    const { metadata, includeMetadataInPrompt, continuation } = this.#options;
    const beginning = {
      metadata,
      include_metadata_in_prompt: includeMetadataInPrompt,
      session_continuation: continuation,
    };
    await this.#offer(token, beginning, signal);
    await this.#connected(signal);
  }

  send(message: TalkClientMessage): void {
    if (this.#channel.readyState === 'open') this.#channel.send(JSON.stringify(message));
  }

  async listenTo(stream: MediaStream): Promise<void> {
    await this.#sender.replaceTrack(stream.getAudioTracks()[0] ?? null);
    this.#meter.listen('user', stream);
  }

  async speakThrough(speaker: string): Promise<void> {
    const loudspeaker = this.#loudspeaker as HTMLAudioElement & { setSinkId?: (id: string) => Promise<void> };
    await loudspeaker.setSinkId?.(speaker).catch(() => (speaker === '' ? undefined : loudspeaker.setSinkId?.('')));
  }

  setVolume(volume: number): void {
    this.#loudspeaker.volume = volume;
  }

  close(): void {
    this.#lifetime.abort();
    this.#connection.close();
    this.#loudspeaker.srcObject = null;
    this.#meter.close();
  }

  #play(track: MediaStreamTrack): void {
    const stream = new MediaStream([track]);
    this.#loudspeaker.srcObject = stream;
    this.#meter.listen('agent', stream);
    void this.speakThrough(this.#options.speaker).then(() =>
      this.#loudspeaker.play().catch(() => {
        if (this.#lifetime.signal.aborted) return;
        this.#events.onMessage({ method: 'onerror', data: 'This browser does not play the agent’s voice.' });
      }),
    );
  }

  /** Offers the connection as it is now, with all its candidates, and takes the answer. */
  async #offer(token: string, more: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    const connection = this.#connection;
    // Before an ICE restart iceGatheringState is still 'complete', of the last time.
    const gathered = new Promise<void>((resolve) => {
      setTimeout(resolve, GATHER_MS);
      connection.addEventListener('icecandidate', ({ candidate }) => candidate === null && resolve(), { signal });
    });
    await connection.setLocalDescription();
    await gathered;
    signal.throwIfAborted();
    const { answer } = (await new DaemonApi(this.#options.baseUrl, signal).json('/webrtc/offer', {
      method: 'POST',
      headers: { authorization: token, 'content-type': 'application/json' },
      body: JSON.stringify({ offer: connection.localDescription, agent_id: this.#agentId, ...more }),
    })) as { answer: RTCSessionDescriptionInit };
    signal.throwIfAborted();
    await connection.setRemoteDescription(answer);
  }

  #connected(signal: AbortSignal): Promise<void> {
    const connection = this.#connection;
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (connection.connectionState === 'connected') resolve();
        else if (connection.connectionState === 'failed') {
          reject(new CallError('webrtc', 'The browser and the server find no path for WebRTC.'));
        }
      };
      connection.addEventListener('connectionstatechange', look, { signal });
      signal.addEventListener('abort', () => reject(new CallError('aborted', 'The call was given up.')));
      look();
    });
  }

  #onMessage(message: TalkServerMessage): void {
    if (message.method === 'onready') this.#sessionId = message.payload.session_id;
    if (message.method === 'onqueue') this.#isWaiting = true;
    // The daemon paces the sound, so the text of an answer comes with it.
    if (message.method === 'onresponsetext') this.#events.onVoice(message.payload.is_final ? 'quiet' : 'playing');
    this.#events.onMessage(message);
    if (message.method !== 'onsessionended') return;
    this.#isEnded = true;
    setTimeout(() => this.#finish(1000), LAST_WORDS_MS);
  }

  #onChannelClosed(): void {
    // The daemon closed the connection without a word; a broken network does not close the channel.
    const isBegun = this.#sessionId !== null || this.#isWaiting;
    if (!this.#isEnded && !this.#isRecovering && isBegun) this.#finish(NO_CLOSE);
  }

  #onState(): void {
    const state = this.#connection.connectionState;
    const isBroken = state === 'disconnected' || state === 'failed';
    if (isBroken && this.#sessionId !== null && !this.#isRecovering && !this.#isEnded) void this.#recover();
  }

  /** Looks for another path with ICE restarts. */
  async #recover(): Promise<void> {
    this.#isRecovering = true;
    this.#events.onUnsteady(true);
    const { signal } = this.#lifetime;
    for (let attempt = 0; attempt < RESTARTS && !this.#isSteady(); attempt++) {
      const isOver = await this.#restart(signal).then(
        () => false,
        (error: unknown) => error instanceof CallError && error.status === 404,
      );
      if (isOver) break;
      await pause(RESTART_PAUSE_MS, signal);
    }
    this.#isRecovering = false;
    if (signal.aborted) return;
    if (this.#isSteady()) this.#events.onUnsteady(false);
    else this.#finish(NO_CLOSE);
  }

  async #restart(signal: AbortSignal): Promise<void> {
    this.#connection.restartIce();
    const { token } = await this.#options.token();
    signal.throwIfAborted();
    await this.#offer(token, { session_id: this.#sessionId }, signal);
  }

  #isSteady(): boolean {
    return this.#connection.connectionState === 'connected' || this.#lifetime.signal.aborted;
  }

  #finish(code: number): void {
    if (this.#lifetime.signal.aborted) return;
    this.close();
    this.#events.onClosed({ opened: true, code, reason: '' });
  }
}

/** Resolves after a time, or when aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
