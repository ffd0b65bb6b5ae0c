import type {
  TalkAction,
  TalkClientMessage,
  TalkInitiate,
  TalkServerMessage,
  TalkTurnTimes,
} from '../../transports/talk-protocol.js';
import { home } from '../shared/home.js';
import { AgentVoice } from './agent-voice.js';
import { CallAudio } from './audio.js';
import { type Closing, closingWords, isLost, isRefused } from './endings.js';
import { nextPhase, type Phase, type PhaseEvent } from './phase.js';
import { TalkSocket } from './socket.js';
import type { UserWords } from './transcript.js';
import type { PlaybackState } from './worklet-messages.js';

export interface CallOptions {
  /** Address of the call's daemon. Default: the one that served this page. */
  base?: string;
  /** Address of the daemon with the worklets. Default `base`. */
  assets?: string;
  /** A session token or a public key. */
  token: string;
  agentId: string;
  /** Information about the user for the agent. */
  metadata?: Readonly<Record<string, unknown>>;
  /** The session to continue. */
  continuation?: TalkInitiate['data']['session_continuation'];
  /** From `Microphone.ask`; null = typed. It stays open after the call. */
  stream: MediaStream | null;
}

export interface CallEvents {
  onPhase(phase: Phase): void;
  onTranscript(words: UserWords): void;
  /** `answer`: its number. */
  onResponse(text: string, isFinal: boolean, answer: number): void;
  /** The agent was interrupted; its text comes again, as far as it was heard. */
  onInterrupted(): void;
  onTimes(times: TalkTurnTimes): void;
  /** An action of the agent, or a request to the user. */
  onAction(action: TalkAction): void;
  /** A problem that does not end the call. */
  onProblem(message: string): void;
  /** The call is over. Not called after `hangUp`. */
  onEnded(end: TalkCallEnd): void;
}

/** How a call ended. */
export interface TalkCallEnd {
  /** The server's; null = none. */
  status: string | null;
  /** For a timeout: the limit that was reached. */
  limit: 'idle' | 'duration' | null;
  /** The error, as a sentence. */
  error: string | null;
  /** The line broke: calling again may help. */
  isLost: boolean;
  /** The server refused the session. */
  isRefused: boolean;
}

/** Statistics of a call, for engineers and tests. */
export interface CallStats extends PlaybackState {
  phase: Phase;
  sentChunks: number;
  droppedChunks: number;
  /** Rate of the audio context. */
  sampleRateHz: number;
  /** Level of the last 20 ms of the microphone, 0 to 1. */
  microphoneLevel: number;
}

/** A call has ended before its server was ready. */
export class CallError extends Error {
  override readonly name = 'CallError';

  constructor(readonly end: TalkCallEnd) {
    super(end.error ?? 'The call did not come about.');
  }
}

const READY_TIMEOUT_MS = 10_000;
/** How long the last words may play after the line has closed. */
const LAST_WORDS_MS = 4000;

/** One call, from start to end. */
export class TalkCall {
  readonly #events: CallEvents;
  readonly #audio: CallAudio;
  readonly #socket: TalkSocket;
  readonly #timeout: number;
  readonly #lifetime = new AbortController();
  readonly #agentVoice = new AgentVoice();
  #phase: Phase = 'connecting';
  #microphoneLevel = 0;
  #problem: string | null = null;
  #status: string | null = null;
  #limit: TalkCallEnd['limit'] = null;
  /** The agent was interrupted, and is silent until the next answer. */
  #isCleared = false;
  #sessionId: string | null = null;
  #over = false;

  private constructor(audio: CallAudio, options: CallOptions, events: CallEvents) {
    this.#audio = audio;
    this.#events = events;
    const { token, agentId, metadata, continuation, base = home() } = options;
    const initiate: TalkInitiate['data'] = {
      public_key: token,
      agent: { agent_id: agentId },
      background_in_pauses: true,
      metadata: metadata ?? null,
      session_continuation: continuation ?? null,
    };
    this.#socket = new TalkSocket(
      { base, initiate },
      {
        onMessage: (message) => {
          this.#onMessage(message);
        },
        onAudio: (samples) => {
          audio.playback.push(samples);
        },
        onClosed: (closing) => {
          this.#onClosed(closing);
        },
      },
    );
    if (options.stream !== null) this.#watch(options.stream);
    this.#timeout = setTimeout(() => {
      this.#finish({ error: 'The server took too long to answer.' });
    }, READY_TIMEOUT_MS);
  }

  /** Starts a call. Call it from a click or a key, because browsers play nothing before. */
  static async begin(options: CallOptions, events: CallEvents): Promise<TalkCall> {
    let call: TalkCall | null = null;
    const { base = home(), assets = base, stream } = options;
    const audio = await CallAudio.open(assets, stream, {
      onChunk: ({ samples, level }) => {
        if (call === null || call.#phase === 'connecting') return;
        call.#microphoneLevel = level;
        call.#socket.sendAudio(samples);
      },
      onPlayback: (state) => {
        if (call === null) return;
        const change = call.#agentVoice.follow(state);
        if (change !== null) call.#step(change);
      },
    });
    call = new TalkCall(audio, options, events);
    return call;
  }

  /**
   * Like `begin`, but resolves when the server is ready. Reports no events before, nor that it is ready.
   * @throws CallError if it ends before
   */
  static reach(options: CallOptions, events: CallEvents): Promise<TalkCall> {
    return new Promise((resolve, reject) => {
      let isReady = false;
      let begun: TalkCall | null = null;
      const untilReady: CallEvents = {
        ...events,
        onPhase: (phase) => {
          if (isReady) events.onPhase(phase);
          isReady ||= phase === 'listening';
          if (isReady && begun !== null) resolve(begun);
        },
        onEnded: (end) => {
          if (isReady) events.onEnded(end);
          else reject(new CallError(end));
        },
      };
      TalkCall.begin(options, untilReady).then((call) => {
        begun = call;
        if (isReady) resolve(call);
      }, reject);
    });
  }

  get phase(): Phase {
    return this.#phase;
  }

  get hasMicrophone(): boolean {
    return this.#audio.microphone !== null;
  }

  /** Null before the server is ready. */
  get sessionId(): string | null {
    return this.#sessionId;
  }

  get stats(): CallStats {
    const { sentChunks, droppedChunks } = this.#socket.stats;
    return {
      ...this.#audio.playback.state,
      phase: this.#phase,
      sentChunks,
      droppedChunks,
      sampleRateHz: this.#audio.sampleRateHz,
      microphoneLevel: this.#microphoneLevel,
    };
  }

  set muted(muted: boolean) {
    if (this.#audio.microphone !== null) this.#audio.microphone.muted = muted;
  }

  /** Uses another stream from `Microphone.ask`. Throws if the browser cannot switch to it. */
  listenTo(stream: MediaStream): void {
    this.#audio.listenTo(stream);
    this.#watch(stream);
  }

  /** Switches to the selected loudspeaker. */
  async changeLoudspeaker(): Promise<void> {
    await this.#audio.changeLoudspeaker();
  }

  /** Sends a typed message. */
  type(text: string): void {
    this.#send({ method: 'text', data: text });
    this.#step('heard');
  }

  press(digits: string): void {
    this.#send({ method: 'dtmf', data: digits });
  }

  /** Answers an action with a request. */
  answerForm(id: string, value: unknown): void {
    this.#send({ method: 'form_result', payload: { id, value } });
  }

  /** Ends the call at once. May be called twice. */
  hangUp(): void {
    this.#over = true;
    clearTimeout(this.#timeout);
    this.#lifetime.abort();
    this.#socket.close();
    this.#audio.close();
    this.#step('end');
  }

  #watch(stream: MediaStream): void {
    for (const track of stream.getAudioTracks()) {
      const onEnded = (): void => this.#events.onProblem('The microphone is gone. You can type instead.');
      track.addEventListener('ended', onEnded, { signal: this.#lifetime.signal });
    }
  }

  #send(message: TalkClientMessage): void {
    this.#socket.send(message);
  }

  #onMessage(message: TalkServerMessage): void {
    switch (message.method) {
      case 'onready':
        clearTimeout(this.#timeout);
        this.#sessionId = message.payload.session_id;
        this.#step('ready');
        return;
      case 'ontranscript': {
        const { is_final: isFinal, turn, segment } = message.payload;
        this.#step(isFinal ? 'heard' : 'hears');
        this.#events.onTranscript({ text: message.data, isFinal, turn, segment });
        return;
      }
      case 'onresponsetext':
        if (message.payload.is_final) this.#agentVoice.ends(this.#audio.playback.state);
        else this.#agentVoice.begins();
        this.#events.onResponse(message.data, message.payload.is_final, message.payload.answer);
        return;
      case 'pause':
        if (message.payload === undefined) this.#audio.playback.hold();
        this.#isCleared = false;
        this.#step('pause');
        return;
      case 'unpause':
        if (message.payload === undefined) this.#audio.playback.resume();
        if (!this.#isCleared) this.#step('unpause');
        return;
      case 'clear':
        if (message.payload === undefined) this.#audio.playback.clear();
        this.#isCleared = true;
        this.#agentVoice.isCut();
        this.#step('clear');
        this.#events.onInterrupted();
        return;
      case 'onmetrics':
        this.#events.onTimes(message.payload);
        return;
      case 'ai_action':
        this.#events.onAction(message.payload);
        return;
      case 'onerror':
        this.#problem = message.data;
        if (this.#phase !== 'connecting') this.#events.onProblem(message.data);
        return;
      case 'onsessionended':
        this.#status = message.payload.status;
        this.#limit = message.payload.limit ?? null;
        return;
      case 'start_answering':
        this.#step('answering');
        return;
      default: // a pong, or messages for other lines
        return;
    }
  }

  #onClosed(closing: Closing): void {
    if (this.#status === null) {
      const error = closingWords(closing, this.#problem);
      this.#finish({ error, isLost: isLost(closing), isRefused: isRefused(closing) });
      return;
    }
    // Buffered audio, such as a goodbye, plays to the end.
    const status = this.#status;
    const untilMs = performance.now() + LAST_WORDS_MS;
    const poll = setInterval(() => {
      if (this.#audio.playback.state.bufferedMs > 0 && performance.now() < untilMs && !this.#over) return;
      clearInterval(poll);
      this.#finish({ status });
    }, 50);
  }

  #finish(end: Partial<TalkCallEnd>): void {
    if (this.#over) return;
    this.hangUp();
    const nothing = { status: null, error: null, isLost: false, isRefused: false };
    this.#events.onEnded({ ...nothing, limit: this.#limit, ...end });
  }

  #step(event: PhaseEvent): void {
    const phase = nextPhase(this.#phase, event);
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#events.onPhase(phase);
  }
}
