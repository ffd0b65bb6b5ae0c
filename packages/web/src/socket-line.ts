import type { TalkClientMessage, TalkInitiate, TalkServerMessage } from '../../../src/transports/talk-protocol.js';
import { AgentVoice } from './agent-voice.js';
import { CallAudio } from './audio.js';
import type { Closing } from './endings.js';
import { CallError } from './errors.js';
import type { CallLevels, CallStats, Line, LineEvents, LineOptions, OpenLine } from './line.js';
import { TalkSocket } from './socket.js';

/** How long the last words may play after the socket has closed. */
const LAST_WORDS_MS = 4000;

/** Opens the talk socket, with a microphone and playback in worklets. */
export const openSocketLine: OpenLine = async (options, events, signal) => {
  const { token } = await options.token();
  signal.throwIfAborted();
  const { stream, speaker, worklets } = options;
  const begun: { line: SocketLine | null } = { line: null };
  const audio = await openAudio();
  if (signal.aborted) {
    audio.close();
    throw new CallError('aborted', 'The call was given up.');
  }
  begun.line = new SocketLine(audio, token, options, events);
  return begun.line;

  async function openAudio(): Promise<CallAudio> {
    try {
      return await CallAudio.open(
        { stream, speaker, worklets },
        {
          onChunk: ({ samples, level }) => begun.line?.hear(samples, level),
          onPlayback: (state) => begun.line?.follow(state),
        },
      );
    } catch (error) {
      if (error instanceof CallError) throw error;
      throw new CallError('loudspeaker', 'The sound could not be started in this browser.', { cause: error });
    }
  }
};

class SocketLine implements Line {
  readonly transport = 'socket';
  readonly #audio: CallAudio;
  readonly #socket: TalkSocket;
  readonly #events: LineEvents;
  readonly #agentVoice = new AgentVoice();
  #isReady = false;
  #isOver = false;
  #microphoneLevel = 0;

  constructor(audio: CallAudio, token: string, options: LineOptions, events: LineEvents) {
    this.#audio = audio;
    this.#events = events;
    this.#socket = new TalkSocket(
      { base: options.baseUrl, initiate: initiateOf(token, options) },
      {
        onMessage: (message) => {
          this.#onMessage(message);
          events.onMessage(message);
        },
        onAudio: (samples) => audio.playback.push(samples),
        onClosed: (closing) => this.#onClosed(closing),
      },
    );
  }

  get levels(): CallLevels {
    return { user: this.#microphoneLevel, agent: this.#audio.playback.state.level };
  }

  get stats(): CallStats {
    const { sentChunks, droppedChunks } = this.#socket.stats;
    return {
      ...this.#audio.playback.state,
      sentChunks,
      droppedChunks,
      sampleRateHz: this.#audio.sampleRateHz,
      microphoneLevel: this.#microphoneLevel,
    };
  }

  /** Sends 20 ms of the microphone, once the server is ready. */
  hear(samples: Int16Array<ArrayBuffer>, level: number): void {
    if (!this.#isReady) return;
    this.#microphoneLevel = level;
    this.#socket.sendAudio(samples);
  }

  /** The loudspeaker reports its state. */
  follow(state: CallAudio['playback']['state']): void {
    const change = this.#agentVoice.follow(state);
    if (change !== null) this.#events.onVoice(change);
  }

  send(message: TalkClientMessage): void {
    this.#socket.send(message);
  }

  async listenTo(stream: MediaStream): Promise<void> {
    this.#audio.listenTo(stream);
  }

  async speakThrough(speaker: string): Promise<void> {
    await this.#audio.speakThrough(speaker);
  }

  setVolume(volume: number): void {
    this.#audio.playback.setVolume(volume);
  }

  close(): void {
    this.#isOver = true;
    this.#socket.close();
    this.#audio.close();
  }

  #onMessage(message: TalkServerMessage): void {
    const { playback } = this.#audio;
    switch (message.method) {
      case 'onready':
        this.#isReady = true;
        return;
      case 'onresponsetext':
        if (message.payload.is_final) this.#agentVoice.ends(playback.state);
        else this.#agentVoice.begins();
        return;
      case 'pause':
        if (message.payload === undefined) playback.hold();
        return;
      case 'unpause':
        if (message.payload === undefined) playback.resume();
        return;
      case 'clear':
        if (message.payload === undefined) playback.clear();
        this.#agentVoice.isCut();
        return;
      default:
        return;
    }
  }

  /** Buffered audio, such as a goodbye, plays to the end if the server closed the line. */
  #onClosed(closing: Closing): void {
    const untilMs = closing.code === 1000 ? performance.now() + LAST_WORDS_MS : 0;
    const poll = setInterval(() => {
      if (this.#audio.playback.state.bufferedMs > 0 && performance.now() < untilMs && !this.#isOver) return;
      clearInterval(poll);
      if (this.#isOver) return;
      this.close();
      this.#events.onClosed(closing);
    }, 50);
  }
}

function initiateOf(token: string, options: LineOptions): TalkInitiate['data'] {
  const { agentId, agentConfig, metadata, includeMetadataInPrompt, continuation } = options;
  return {
    public_key: token,
    agent: agentConfig === null ? { agent_id: agentId } : { agent_id: agentId, agent_config: agentConfig },
    background_in_pauses: true,
    metadata,
    include_metadata_in_prompt: includeMetadataInPrompt,
    session_continuation: continuation,
  };
}
