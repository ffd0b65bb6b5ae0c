/**
 * What went wrong:
 * - `options`: the options cannot work, whoever tries.
 * - `token`: your function gave no session token.
 * - `aborted`: the signal was aborted, or the call was closed meanwhile.
 * - `microphone`, `loudspeaker`: the device is not available; the message says what to do.
 * - `unreachable`: the daemon does not answer.
 * - `refused`: the daemon refuses, and a retry cannot help: an unknown key or agent, a page that is not allowed.
 * - `busy`: the daemon has no room now.
 * - `timeout`: no call came about in time.
 * - `webrtc`: the browser and the daemon find no path for WebRTC.
 * - `lost`: the connection broke and could not be restored.
 * - `failed`: any other fault of the daemon.
 */
export type CallErrorCode =
  | 'options'
  | 'token'
  | 'aborted'
  | 'microphone'
  | 'loudspeaker'
  | 'unreachable'
  | 'refused'
  | 'busy'
  | 'timeout'
  | 'webrtc'
  | 'lost'
  | 'failed';

/** A call that did not come about or broke, or a request to the daemon that failed. The message is for people. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: CallErrorCode;
  /** Status of the daemon's HTTP answer; null = none. */
  readonly status: number | null;

  constructor(code: CallErrorCode, message: string, options: ErrorOptions & { status?: number | null } = {}) {
    super(message, options);
    this.code = code;
    this.status = options.status ?? null;
  }
}

/** The code for an HTTP status. */
export function codeOfStatus(status: number): CallErrorCode {
  if (status === 429 || status === 503) return 'busy';
  return status >= 400 && status < 500 ? 'refused' : 'failed';
}
