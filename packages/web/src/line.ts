import type { TalkClientMessage, TalkInitiate, TalkServerMessage } from '../../../src/transports/talk-protocol.js';
import type { Closing } from './endings.js';
import type { CallStep } from './state.js';
import type { PlaybackState } from './worklet-messages.js';

export type CallTransport = 'webrtc' | 'socket';

/** Levels of both sides: root mean squares, 0 to 1. */
export interface CallLevels {
  user: number;
  agent: number;
}

export type Continuation = NonNullable<TalkInitiate['data']['session_continuation']>;

/** A token for one session, and servers for WebRTC. */
export interface LineToken {
  token: string;
  iceServers: RTCIceServer[];
}

/** What a line connects to. */
export interface LineOptions {
  /** Address of the daemon, without a trailing slash. */
  baseUrl: string;
  /** A fresh token for each request. */
  token: () => Promise<LineToken>;
  agentId: string | null;
  agentConfig: Readonly<Record<string, unknown>> | null;
  metadata: Readonly<Record<string, unknown>> | null;
  includeMetadataInPrompt: boolean;
  continuation: Continuation | null;
  /** The microphone; null = none. It stays open after the line. */
  stream: MediaStream | null;
  /** Id of the loudspeaker; '' = the system's. */
  speaker: string;
  /** Folder with the built worklets; null = the inlined ones. */
  worklets: string | null;
}

export interface LineEvents {
  onMessage(message: TalkServerMessage): void;
  /** The agent starts or stops to be heard. */
  onVoice(step: Extract<CallStep, 'playing' | 'quiet'>): void;
  /** The line has no connection but may get it back by itself, or has it back. */
  onUnsteady(isUnsteady: boolean): void;
  /** Called once, after the last audio has played, and not after `close`. */
  onClosed(closing: Closing): void;
}

/** Figures of the socket's audio, for engineers and tests. */
export interface CallStats extends PlaybackState {
  sentChunks: number;
  /** Microphone chunks dropped because the network was too slow. */
  droppedChunks: number;
  /** Rate of the audio context. */
  sampleRateHz: number;
  /** Level of the last 20 ms of the microphone, 0 to 1. */
  microphoneLevel: number;
}

/** The connection of a call, with its microphone and loudspeaker. */
export interface Line {
  readonly transport: CallTransport;
  readonly levels: CallLevels;
  /** Null over WebRTC. */
  readonly stats: CallStats | null;
  send(message: TalkClientMessage): void;
  /** Uses another microphone. Rejects if the browser cannot switch to it. */
  listenTo(stream: MediaStream): Promise<void>;
  /** Uses another loudspeaker, or the system's if the browser cannot. */
  speakThrough(speaker: string): Promise<void>;
  /** How loud the agent is, 0 to 1. */
  setVolume(volume: number): void;
  /** Hangs up. May be called twice. */
  close(): void;
}

/** Opens a line, whose `onready` is a message. Rejects with a CallError. */
export type OpenLine = (options: LineOptions, events: LineEvents, signal: AbortSignal) => Promise<Line>;
