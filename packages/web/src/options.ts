import type { SessionTokenReply } from '../../../src/transports/talk-protocol.js';
import { DaemonApi } from './daemon.js';
import { CallError } from './errors.js';
import type { CallTransport, LineToken } from './line.js';
import type { ResumePoint } from './reconnect.js';
import type { QueuePlace } from './session.js';

/** What a token function returns: a token, or the whole answer of `POST /sessions/token`. */
export type SessionToken =
  string | (Pick<SessionTokenReply, 'token'> & Partial<Pick<SessionTokenReply, 'ice_servers'>>);

export interface ConnectOptions {
  /** Address of the daemon, with its base path. Default: the folder of the page, for pages that the daemon serves. */
  baseUrl?: string | undefined;
  /** A public key: tokens are made with it. Either this or `token`. */
  publicKey?: string | undefined;
  /**
   * A session token, or a function that gets one from your server each time: a token is valid once, so with a text
   * there is no reconnection, and `auto` uses the socket.
   */
  token?: string | (() => SessionToken | Promise<SessionToken>) | undefined;
  /** A stored agent. */
  agentId?: string | undefined;
  /** Fields that override the agent's, as far as the operator allows it; without an `agentId` a whole agent. Socket only. */
  agentConfig?: Readonly<Record<string, unknown>> | undefined;
  /** Information about the user: variables of the prompt. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
  /** Whether the prompt has the metadata as a whole, too. */
  includeMetadataInPrompt?: boolean | undefined;
  /** Default `auto`: WebRTC, or the socket where WebRTC does not work. */
  transport?: 'auto' | CallTransport | undefined;
  /**
   * Default true: the system's microphone. An id of `listDevices`, a stream of your own, which stays open after the
   * call, or false for a call in which the user types.
   */
  microphone?: boolean | string | MediaStream | undefined;
  /** Id of the loudspeaker, of `listDevices`. Default: the system's. */
  speaker?: string | undefined;
  /** How loud the agent is, 0 to 1. Default 1. */
  volume?: number | undefined;
  /** A call to go on with: `resume` of the event `ended`. */
  resume?: ResumePoint | undefined;
  /**
   * Address of a folder with the scripts of the audio worklets, such as `${baseUrl}/assets`, for pages whose
   * Content-Security-Policy allows no `blob:` scripts. Default: they are inlined.
   */
  worklets?: string | undefined;
  /** The user waits in the agent's queue for their turn, with music, or their place has changed. */
  onQueue?: ((place: QueuePlace) => void) | undefined;
  /** Ends the call, or gives it up while it is being connected. */
  signal?: AbortSignal | undefined;
}

/** Options that can work. */
export interface CheckedOptions {
  options: ConnectOptions;
  baseUrl: string;
  /** A fresh token for each line. @throws CallError */
  token: (signal: AbortSignal) => Promise<LineToken>;
  /** Whether there is only one token. */
  isTokenSingle: boolean;
}

/** @throws CallError `options` */
export function checkOptions(options: ConnectOptions): CheckedOptions {
  const { publicKey, token, agentId, agentConfig, transport, signal } = options;
  if ((publicKey === undefined) === (token === undefined)) throw wrong('Give connect either a publicKey or a token.');
  if (agentId === undefined && agentConfig === undefined) throw wrong('Give connect an agentId.');
  if (transport !== undefined && !['auto', 'webrtc', 'socket'].includes(transport)) {
    throw wrong(`"${transport}" is no transport; possible: auto, webrtc, socket.`);
  }
  checkVolume(options.volume ?? 1);
  if (signal?.aborted === true) throw new CallError('aborted', 'The call was given up.');
  const baseUrl = baseUrlOf(options.baseUrl ?? '.');
  return { options, baseUrl, token: tokens(baseUrl, publicKey, token), isTokenSingle: typeof token === 'string' };
}

/** @throws CallError `options` */
export function checkVolume(volume: number): void {
  if (!(volume >= 0 && volume <= 1)) throw wrong(`The volume ${String(volume)} is not between 0 and 1.`);
}

function baseUrlOf(given: string): string {
  const url = URL.canParse(given, location.href) ? new URL(given, location.href) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrong(`"${given}" is no address of a daemon.`);
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function tokens(
  baseUrl: string,
  publicKey: string | undefined,
  token: ConnectOptions['token'],
): CheckedOptions['token'] {
  let isUsed = false;
  return async (signal) => {
    if (publicKey !== undefined) return lineToken(await new DaemonApi(baseUrl, signal).sessionToken(publicKey));
    if (typeof token === 'function') return lineToken(await ask(token));
    if (isUsed) throw wrong('A session token is valid once. Give connect a function that gets one each time.');
    isUsed = true;
    return lineToken(token ?? '');
  };
}

/** @throws CallError `token`, for people; the page's own error is its cause */
async function ask(token: () => SessionToken | Promise<SessionToken>): Promise<SessionToken> {
  const noToken = 'This page got no session token from its server';
  let reply: unknown;
  try {
    reply = await token();
  } catch (cause) {
    throw new CallError('token', `${noToken}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  const text = typeof reply === 'object' && reply !== null && 'token' in reply ? reply.token : reply;
  if (typeof text === 'string' && text !== '') return reply as SessionToken;
  throw new CallError('token', `${noToken}: it is no text, and no object with the text "token".`);
}

function lineToken(reply: SessionToken): LineToken {
  if (typeof reply === 'string') return { token: reply, iceServers: [] };
  return { token: reply.token, iceServers: (reply.ice_servers ?? []).map((server) => ({ ...server })) };
}

function wrong(message: string): CallError {
  return new CallError('options', message);
}
