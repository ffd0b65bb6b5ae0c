import type { ConsoleApi } from '../api.js';
import { CallListener } from './call-listener.js';
import type { WatchedParticipant } from './watched-event.js';

export type SupervisorMode = 'listen' | 'whisper' | 'take_over';

/** For all tabs of this browser. */
const NAME = 'parley.name';
/** A STUN server that does not answer is not waited for. */
const GATHER_MS = 2000;
/** Without a path by then there is none. */
const CONNECT_MS = 8000;
/** The daemon may tell the caller first that somebody listens. */
const JOIN_MS = 30_000;

/** What the model, the transcript and the call's log call the supervisor; '' = by the name of their key. */
export function ownName(): string {
  try {
    return localStorage.getItem(NAME)?.trim() ?? '';
  } catch {
    return ''; // the browser keeps nothing
  }
}

export function keepOwnName(name: string): void {
  try {
    localStorage.setItem(NAME, name.trim());
  } catch {
    // the browser keeps nothing
  }
}

/**
 * A supervisor's own line to a running call, over WebRTC. Where there is no path for it, listening goes over a
 * WebSocket.
 */
export class SupervisorLine {
  readonly #api: ConsoleApi;
  readonly #sessionId: string;
  readonly #onLost: () => void;
  readonly #loudspeaker = new Audio();
  #connection: RTCPeerConnection | null = null;
  #microphone: MediaStream | null = null;
  #participant: string | null = null;
  #socket: CallListener | null = null;
  /** Gets the events of this participant. */
  #onChange: (participant: WatchedParticipant) => void = () => undefined;
  /** Events that came before the answer to the offer. */
  readonly #early = new Map<string, WatchedParticipant>();

  /** @param onLost the call has ended, or somebody else or the network has ended the line */
  constructor(api: ConsoleApi, sessionId: string, onLost: () => void) {
    this.#api = api;
    this.#sessionId = sessionId;
    this.#onLost = onLost;
  }

  /**
   * Joins the call, or does something else in it. Call it from a click: browsers play nothing before.
   * @throws Error with the reason; then the supervisor is not in the call
   */
  async be(mode: SupervisorMode): Promise<void> {
    try {
      if (mode === 'listen') await this.#hush();
      else this.#microphone ??= await askForMicrophone();
      if (this.#participant === null) await this.#join(mode);
      else {
        await this.#sendMicrophone();
        await this.#api.send('PUT', this.#path(this.#participant), { mode });
      }
    } catch (error) {
      await this.leave();
      throw error;
    }
  }

  /** May be called twice. */
  async leave(): Promise<void> {
    const participant = this.#participant;
    this.#release();
    if (participant !== null) await this.#api.send('DELETE', this.#path(participant)).catch(() => undefined);
  }

  /** The call is over: there is nothing to leave. */
  end(): void {
    this.#release();
  }

  /** The supervisor as a participant of the call; null = they have not joined. */
  get participantId(): string | null {
    return this.#participant;
  }

  /** What the daemon tells of participants of this call. */
  take(participant: WatchedParticipant): void {
    if (this.#connection === null) return;
    this.#early.set(participant.participant_id, participant);
    if (participant.participant_id === this.#participant) this.#onChange(participant);
  }

  #path(participant = ''): string {
    const path = `/sessions/${encodeURIComponent(this.#sessionId)}/participants`;
    return participant === '' ? path : `${path}/${encodeURIComponent(participant)}`;
  }

  async #join(mode: SupervisorMode): Promise<void> {
    this.#socket?.close();
    this.#socket = null;
    if (typeof RTCPeerConnection === 'undefined') return this.#withoutWebRtc(mode);
    const connection = new RTCPeerConnection();
    this.#connection = connection;
    connection.addTransceiver('audio', { direction: 'sendrecv' });
    connection.addEventListener('track', ({ track, receiver }) => {
      // What a supervisor hears late they answer late; a gap now and then matters less.
      receiver.jitterBufferTarget = 0;
      this.#loudspeaker.srcObject = new MediaStream([track]);
      void this.#loudspeaker.play().catch(() => undefined); // it was closed meanwhile
    });
    await this.#sendMicrophone();
    const offer = await offerOf(connection);
    const name = ownName();
    const wish = { channel: 'webrtc', name: name === '' ? undefined : name, mode, offer };
    const { participant_id: id, answer } = await this.#api.send<{
      participant_id: string;
      answer: RTCSessionDescriptionInit;
    }>('POST', this.#path(), wish);
    this.#participant = id;
    const joined = this.#joined(id);
    joined.catch(() => undefined); // it may fail before it is waited for
    await connection.setRemoteDescription(answer);
    if (await isConnected(connection)) await joined;
    else {
      await this.leave();
      await this.#withoutWebRtc(mode);
    }
  }

  /** Resolves when the daemon has let the participant in. */
  #joined(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const tooLate = setTimeout(() => reject(new Error('The daemon has not let you in.')), JOIN_MS);
      this.#onChange = ({ status, reason }): void => {
        if (status === 'connecting') return;
        clearTimeout(tooLate);
        if (status === 'joined') {
          resolve();
          return;
        }
        reject(new Error(`You could not join: ${reason ?? 'unknown reason'}.`));
        this.#release();
        this.#onLost();
      };
      const early = this.#early.get(id);
      if (early !== undefined) this.#onChange(early);
    });
  }

  #withoutWebRtc(mode: SupervisorMode): Promise<void> {
    if (mode !== 'listen') throw new Error('The browser and the daemon find no path for WebRTC: you can only listen.');
    return new Promise((resolve, reject) => {
      // Refusals come at once; an announcement to the caller may come first.
      const accepted = setTimeout(resolve, 1000);
      this.#socket = new CallListener(this.#sessionId, { key: this.#api.key, name: ownName() }, (reason) => {
        clearTimeout(accepted);
        this.#socket = null;
        this.#onLost();
        if (reason !== null) reject(new Error(reason));
      });
    });
  }

  async #sendMicrophone(): Promise<void> {
    const [track = null] = this.#microphone?.getAudioTracks() ?? [];
    for (const sender of this.#connection?.getSenders() ?? []) await sender.replaceTrack(track);
  }

  /** Who only listens needs no microphone. */
  async #hush(): Promise<void> {
    for (const track of this.#microphone?.getTracks() ?? []) track.stop();
    this.#microphone = null;
    await this.#sendMicrophone();
  }

  #release(): void {
    this.#participant = null;
    this.#onChange = (): void => undefined;
    this.#early.clear();
    this.#connection?.close();
    this.#connection = null;
    this.#socket?.close();
    this.#socket = null;
    this.#loudspeaker.srcObject = null;
    for (const track of this.#microphone?.getTracks() ?? []) track.stop();
    this.#microphone = null;
  }
}

/** An offer with all its candidates. */
async function offerOf(connection: RTCPeerConnection): Promise<{ type: string; sdp: string }> {
  const gathered = new Promise<void>((resolve) => {
    setTimeout(resolve, GATHER_MS);
    connection.addEventListener('icecandidate', ({ candidate }) => candidate === null && resolve());
  });
  await connection.setLocalDescription();
  await gathered;
  return { type: 'offer', sdp: connection.localDescription?.sdp ?? '' };
}

function isConnected(connection: RTCPeerConnection): Promise<boolean> {
  return new Promise((resolve) => {
    const tooLate = setTimeout(() => resolve(false), CONNECT_MS);
    const look = (): void => {
      const { connectionState: state } = connection;
      if (state !== 'connected' && state !== 'failed' && state !== 'closed') return;
      clearTimeout(tooLate);
      resolve(state === 'connected');
    };
    connection.addEventListener('connectionstatechange', look);
    look();
  });
}

async function askForMicrophone(): Promise<MediaStream> {
  const { mediaDevices } = navigator as { mediaDevices?: MediaDevices };
  if (mediaDevices === undefined) {
    throw new Error('Browsers give the microphone only to pages from this machine or over https.');
  }
  try {
    const cleaning = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    return await mediaDevices.getUserMedia({ audio: { channelCount: 1, ...cleaning } });
  } catch (error) {
    throw new Error('The browser gives no microphone: there is none, or you have refused it.', { cause: error });
  }
}
