import type { TalkAction, TalkTurnTimes } from '../../../src/transports/talk-protocol.js';
import type { OpenSession } from './choose-line.js';
import { type CallDevices, listDevices, mediaDevices } from './devices.js';
import { CallError } from './errors.js';
import type { CallLevels, CallStats, CallTransport, Continuation, LineOptions } from './line.js';
import { askForMicrophone, releaseMicrophone } from './microphone.js';
import { type CheckedOptions, checkVolume } from './options.js';
import { RECONNECT_MS, resume, type ResumePoint, retry } from './reconnect.js';
import type { SessionEnd, SessionEvents, TalkSession } from './session.js';
import { type CallState, type CallStep, nextState } from './state.js';
import { CallTranscript, type TranscriptEntry } from './transcript.js';

/** How a call ended. */
export interface CallEnd {
  /** The daemon's status, such as `agent-ended` or `timeout`; `user-ended` after `close`; null = the line broke. */
  status: string | null;
  /** For a timeout: the limit that was reached. */
  limit: 'idle' | 'duration' | null;
  /** Null = it ended in order. */
  error: CallError | null;
  /** Where `connect` can go on with this call; null = it ended in order. */
  resume: ResumePoint | null;
}

/** The words of the agent, from the beginning of an answer. */
export interface AgentText {
  text: string;
  /** It is what the user heard, and does not change any more. */
  isFinal: boolean;
  /** Number of the answer on this line. */
  answer: number;
}

/** What a call tells, by the name of the event. */
export interface CallEvents {
  state: CallState;
  /** All entries, after each change. */
  transcript: readonly TranscriptEntry[];
  agentText: AgentText;
  /** The user interrupted the agent. */
  interrupted: { answer: number | null };
  /** Levels of both sides, about 30 times a second. */
  level: CallLevels;
  /** How long an answer took. */
  turnTimes: TalkTurnTimes;
  /** An action of the agent, or a request to the user, which `answerForm` answers. */
  action: TalkAction;
  /** A device came or went, or the browser now names them. */
  devices: CallDevices;
  /** The line broke, and the call waits for another one. */
  reconnecting: { attemptsForMs: number };
  /** The call goes on, over this transport. */
  reconnected: { transport: CallTransport; sessionId: string };
  /** A problem that does not end the call. */
  error: CallError;
  /** The last event. */
  ended: CallEnd;
}

type Listener<K extends keyof CallEvents> = (event: CallEvents[K]) => void;

const LEVEL_EVERY_MS = 33;
const KEYS = /^[0-9*#A-D]{1,64}$/;

/** A call with an agent. `connect` makes it. */
export class Call {
  readonly #checked: CheckedOptions;
  readonly #open: OpenSession;
  readonly #listeners = new Map<keyof CallEvents, Set<(event: never) => void>>();
  readonly #lifetime = new AbortController();
  readonly #transcript = new CallTranscript((entries) => this.#emit('transcript', entries));
  #session: TalkSession | null = null;
  #state: CallState = 'connecting';
  #stream: MediaStream | null = null;
  /** The stream is the caller's own. */
  #isStreamTheirs = false;
  #speaker: string;
  #volume: number;
  #muted = false;
  #devices: CallDevices = { microphones: [], speakers: [] };
  /** Text typed while there was no line. */
  #unsent: string[] = [];
  #latestAnswer: number | null = null;
  #levelTimer: ReturnType<typeof setInterval> | null = null;
  #sessionId = '';
  #end: CallEnd | null = null;

  private constructor(checked: CheckedOptions, open: OpenSession) {
    this.#checked = checked;
    this.#open = open;
    this.#speaker = checked.options.speaker ?? '';
    this.#volume = checked.options.volume ?? 1;
  }

  /** Resolves when the agent is on the line. @throws CallError */
  static async begin(checked: CheckedOptions, open: OpenSession): Promise<Call> {
    const { signal, resume: point } = checked.options;
    const call = new Call(checked, open);
    const abort = (): void => call.close();
    signal?.addEventListener('abort', abort, { signal: call.#lifetime.signal });
    try {
      await call.#openMicrophone();
      const connect = (continuation: Continuation | null): Promise<TalkSession> => call.#connect(continuation);
      call.#start(point === undefined ? await connect(null) : await resume(point, connect));
      return call;
    } catch (error) {
      const given = call.#lifetime.signal.aborted;
      call.close();
      throw given ? new CallError('aborted', 'The call was given up.', { cause: error }) : error;
    }
  }

  /** Calls the listener for each event of this name. Returns a function that stops it. */
  on<K extends keyof CallEvents>(name: K, listener: Listener<K>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    if (name === 'level') this.#watchLevels();
    return () => {
      listeners.delete(listener);
      if (name === 'level') this.#watchLevels();
    };
  }

  get state(): CallState {
    return this.#state;
  }

  /** What was said, in order; a new array after each change. */
  get transcript(): readonly TranscriptEntry[] {
    return this.#transcript.entries;
  }

  /** Id of the session, which is its id in the daemon's call log. A call that reconnects has several. */
  get sessionId(): string {
    return this.#sessionId;
  }

  /** The transport in use; null while there is none. */
  get transport(): CallTransport | null {
    return this.#session?.line.transport ?? null;
  }

  get hasMicrophone(): boolean {
    return this.#stream !== null;
  }

  /** How it ended; null = it has not. */
  get end(): CallEnd | null {
    return this.#end;
  }

  /** Figures of the socket's audio, for engineers and tests; null over WebRTC and while there is no line. */
  get stats(): CallStats | null {
    return this.#session?.line.stats ?? null;
  }

  /** Level of one side: root mean square of the last moment, 0 to 1. */
  level(side: 'user' | 'agent'): number {
    return this.#session?.line.levels[side] ?? 0;
  }

  /** The devices that the browser names. */
  get devices(): CallDevices {
    return this.#devices;
  }

  get muted(): boolean {
    return this.#muted;
  }

  /** A muted microphone gives silence. */
  mute(muted = true): void {
    this.#muted = muted;
    for (const track of this.#stream?.getAudioTracks() ?? []) track.enabled = !muted;
  }

  /**
   * Uses another microphone: an id of `devices` (`''` = the system's), or a stream of your own.
   * @throws CallError `microphone`; then the call keeps the one that it has
   */
  async setMicrophone(microphone: string | MediaStream): Promise<void> {
    const session = this.#session;
    if (session === null) throw new CallError('microphone', 'There is no connection whose microphone could change.');
    if (this.#stream === null) throw new CallError('microphone', 'This call was begun without a microphone.');
    const isTheirs = typeof microphone !== 'string';
    const stream = isTheirs ? microphone : await askForMicrophone(microphone);
    try {
      if (session !== this.#session) throw new CallError('microphone', 'The connection has changed meanwhile.');
      await session.line.listenTo(stream);
    } catch (error) {
      if (!isTheirs) releaseMicrophone(stream);
      if (error instanceof CallError) throw error;
      throw new CallError('microphone', 'The browser cannot change to it in a call.', { cause: error });
    }
    this.#releaseStream();
    this.#useStream(stream, isTheirs);
    this.mute(this.#muted);
  }

  /** Uses another loudspeaker: an id of `devices`, `''` = the system's. */
  async setSpeaker(id: string): Promise<void> {
    this.#speaker = id;
    await this.#session?.line.speakThrough(id);
  }

  get volume(): number {
    return this.#volume;
  }

  /**
   * How loud the agent is, 0 to 1. Safari on phones leaves the volume to the user over WebRTC.
   * @throws CallError `options`
   */
  setVolume(volume: number): void {
    checkVolume(volume);
    this.#volume = volume;
    this.#session?.line.setVolume(volume);
  }

  /** Sends a typed message, while reconnecting as soon as there is a line. Does nothing after the end. */
  sendText(text: string): void {
    if (this.#state === 'ended' || text.trim() === '') return;
    if (this.#session === null) {
      this.#unsent.push(text);
      return;
    }
    this.#transcript.typed(text);
    this.#session.send({ method: 'text', data: text });
    this.#step('heard');
  }

  /**
   * Presses keys: `0-9 * # A-D`, up to 64. Does nothing while there is no line.
   * @throws CallError `options`
   */
  pressKeys(keys: string): void {
    if (!KEYS.test(keys)) throw new CallError('options', `"${keys}" has keys that a telephone does not have.`);
    if (this.#session === null) return;
    this.#session.send({ method: 'dtmf', data: keys });
    this.#transcript.keyed(keys);
  }

  /** Answers an action with a request: with what the user entered, or null if they declined. */
  answerForm(id: string, value: unknown): void {
    this.#session?.send({ method: 'form_result', payload: { id, value } });
  }

  /** Hangs up. May be called twice. */
  close(): void {
    this.#finish({ status: 'user-ended', limit: null, error: null, resume: null });
  }

  async #openMicrophone(): Promise<void> {
    const { microphone = true } = this.#checked.options;
    if (microphone === false) return;
    if (typeof microphone === 'object') this.#useStream(microphone, true);
    else {
      const stream = await askForMicrophone(typeof microphone === 'string' ? microphone : '');
      this.#useStream(stream, false);
      if (this.#lifetime.signal.aborted) this.#releaseStream();
    }
  }

  #useStream(stream: MediaStream, isTheirs: boolean): void {
    this.#stream = stream;
    this.#isStreamTheirs = isTheirs;
    const { signal } = this.#lifetime;
    for (const track of stream.getAudioTracks()) {
      const onEnded = (): void => {
        if (stream !== this.#stream) return;
        this.#emit('error', new CallError('microphone', 'The microphone is gone. You can type instead.'));
      };
      track.addEventListener('ended', onEnded, { signal });
    }
  }

  #releaseStream(): void {
    if (!this.#isStreamTheirs) releaseMicrophone(this.#stream);
    else for (const track of this.#stream?.getAudioTracks() ?? []) track.enabled = true;
  }

  #connect(continuation: Continuation | null): Promise<TalkSession> {
    const { options, baseUrl, token } = this.#checked;
    const { signal } = this.#lifetime;
    const line: LineOptions = {
      baseUrl,
      token: () => token(signal),
      agentId: options.agentId ?? null,
      agentConfig: options.agentConfig ?? null,
      metadata: options.metadata ?? null,
      includeMetadataInPrompt: options.includeMetadataInPrompt ?? false,
      continuation,
      stream: this.#stream,
      speaker: this.#speaker,
      worklets: options.worklets ?? null,
    };
    return this.#open(line, this.#sessionEvents(), signal);
  }

  /** There is a line: the first one, or another one. */
  #start(session: TalkSession): void {
    if (this.#lifetime.signal.aborted) {
      session.close();
      throw new CallError('aborted', 'The call was given up.');
    }
    const isFirst = this.#sessionId === '';
    this.#session = session;
    this.#sessionId = session.id;
    this.mute(this.#muted);
    session.line.setVolume(this.#volume);
    this.#step('ready');
    if (isFirst) {
      const { signal } = this.#lifetime;
      mediaDevices()?.addEventListener('devicechange', () => void this.#lookForDevices(), { signal });
      void this.#lookForDevices();
    } else this.#emit('reconnected', { transport: session.line.transport, sessionId: session.id });
    for (const text of this.#unsent.splice(0)) this.sendText(text);
  }

  async #lookForDevices(): Promise<void> {
    this.#devices = await listDevices();
    if (this.#state !== 'ended') this.#emit('devices', this.#devices);
  }

  #sessionEvents(): SessionEvents {
    return {
      onStep: (step) => this.#step(step),
      onQueue: (place) => this.#checked.options.onQueue?.(place),
      onTranscript: (words) => this.#transcript.user(words),
      onResponse: (text, isFinal, answer) => {
        this.#latestAnswer = answer;
        this.#transcript.agent(text, isFinal, answer);
        this.#emit('agentText', { text, isFinal, answer });
      },
      onInterrupted: () => {
        this.#transcript.interrupted();
        this.#emit('interrupted', { answer: this.#latestAnswer });
      },
      onTimes: (times) => {
        this.#transcript.times(times);
        this.#emit('turnTimes', times);
      },
      onAction: (action) => this.#emit('action', action),
      onProblem: (message) => this.#emit('error', new CallError('failed', message)),
      onUnsteady: (isUnsteady) => {
        if (isUnsteady) this.#emitReconnecting();
        else if (this.#session !== null) {
          this.#step('ready');
          this.#emit('reconnected', { transport: this.#session.line.transport, sessionId: this.#sessionId });
        }
      },
      onEnded: (end) => this.#onSessionEnded(end),
    };
  }

  #onSessionEnded({ status, limit, error }: SessionEnd): void {
    const point = { sessionId: this.#sessionId, messages: this.#transcript.messages };
    this.#session?.close();
    if (error?.code === 'lost' && !this.#checked.isTokenSingle) void this.#recover(point);
    else this.#finish({ status, limit, error, resume: error === null ? null : point });
  }

  #emitReconnecting(): void {
    if (this.#state === 'reconnecting') return;
    this.#step('broken');
    this.#emit('reconnecting', { attemptsForMs: RECONNECT_MS });
  }

  /** The line broke: another one continues its session as soon as possible. */
  async #recover(point: ResumePoint): Promise<void> {
    this.#session = null;
    this.#transcript.newLine();
    this.#latestAnswer = null;
    this.#emitReconnecting();
    const connect = (): Promise<TalkSession> => resume(point, (continuation) => this.#connect(continuation));
    const session = await retry(connect, RECONNECT_MS, this.#lifetime.signal);
    if (session !== null) {
      if (this.#lifetime.signal.aborted) session.close();
      else this.#start(session);
      return;
    }
    const error = new CallError('lost', 'The connection to the server was lost.');
    this.#finish({ status: null, limit: null, error, resume: point });
  }

  #finish(end: CallEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#lifetime.abort();
    this.#session?.close();
    this.#session = null;
    this.#releaseStream();
    this.#watchLevels();
    this.#transcript.end();
    this.#step('end');
    this.#emit('ended', end);
  }

  #step(step: CallStep): void {
    const state = nextState(this.#state, step);
    if (state === this.#state) return;
    this.#state = state;
    this.#emit('state', state);
  }

  /** A timer runs only while somebody listens. */
  #watchLevels(): void {
    const isWanted = (this.#listeners.get('level')?.size ?? 0) > 0 && this.#end === null;
    if (isWanted === (this.#levelTimer !== null)) return;
    if (this.#levelTimer !== null) clearInterval(this.#levelTimer);
    this.#levelTimer = isWanted
      ? setInterval(() => {
          this.#emit('level', { user: this.level('user'), agent: this.level('agent') });
        }, LEVEL_EVERY_MS)
      : null;
  }

  #emit<K extends keyof CallEvents>(name: K, event: CallEvents[K]): void {
    for (const listener of Array.from(this.#listeners.get(name) ?? [])) (listener as Listener<K>)(event);
  }
}
