import { CallError, type CallErrorCode } from './errors.js';
import type { CallTransport, LineOptions, OpenLine } from './line.js';
import { type SessionEvents, TalkSession } from './session.js';

/** How a session is opened: which lines are tried, and for how long. */
export type OpenSession = (options: LineOptions, events: SessionEvents, signal: AbortSignal) => Promise<TalkSession>;

/** Deadline from the request of a token until the server is ready. */
const READY_MS = 15_000;
/** A network that blocks WebRTC answers nothing: the socket is tried soon. */
const TRY_MS = 7000;

/** With these the socket would fail too, or must not be tried. */
const FINAL: ReadonlySet<CallErrorCode> = new Set(['aborted', 'options', 'token', 'loudspeaker', 'unreachable']);
/** Statuses of refusals that hold for both: wrong key, wrong page, agent switched off, too many requests. */
const FINAL_STATUSES: ReadonlySet<number | null> = new Set([401, 403, 409, 429]);

/** A refusal without a status: the browser hides it, because the page's origin is not allowed. */
function isFinal({ code, status }: CallError): boolean {
  if (code === 'busy' && status === null) return true; // it has waited in a queue, in vain
  return FINAL.has(code) || FINAL_STATUSES.has(status) || (code === 'refused' && status === null);
}

/** Opens sessions on one kind of line. */
export function over(openLine: OpenLine): OpenSession {
  return (options, events, signal) => TalkSession.open(openLine, options, events, { deadlineMs: READY_MS, signal });
}

/**
 * Tries WebRTC first, then the socket. Where only the socket worked, it is used at once until the tab is closed.
 * @param memory the transport that works for a daemon
 */
export function webRtcOrSocket(openWebRtc: OpenLine, openSocket: OpenLine, memory: TransportMemory): OpenSession {
  return async (options, events, signal) => {
    const canTry = options.agentConfig === null && typeof RTCPeerConnection !== 'undefined';
    if (!canTry || memory.of(options.baseUrl) === 'socket') return over(openSocket)(options, events, signal);
    try {
      return await TalkSession.open(openWebRtc, options, events, { deadlineMs: TRY_MS, signal });
    } catch (error) {
      if (!(error instanceof CallError) || isFinal(error)) throw error;
    }
    const session = await over(openSocket)(options, events, signal);
    memory.remember(options.baseUrl, 'socket');
    return session;
  };
}

/** Which transport works for a daemon. */
export interface TransportMemory {
  of(baseUrl: string): CallTransport | null;
  remember(baseUrl: string, transport: CallTransport): void;
}

/** Remembers until the tab is closed, because the next network may be another one. */
export class TabMemory implements TransportMemory {
  readonly #here = new Map<string, CallTransport>();

  of(baseUrl: string): CallTransport | null {
    const here = this.#here.get(baseUrl);
    if (here !== undefined) return here;
    try {
      return sessionStorage.getItem(nameOf(baseUrl)) === 'socket' ? 'socket' : null;
    } catch {
      return null; // storage is blocked
    }
  }

  remember(baseUrl: string, transport: CallTransport): void {
    this.#here.set(baseUrl, transport);
    try {
      sessionStorage.setItem(nameOf(baseUrl), transport);
    } catch {
      // Storage is blocked: it is remembered until the page is left.
    }
  }
}

function nameOf(baseUrl: string): string {
  return `parley.transport ${baseUrl}`;
}
