import type { EndStatus } from '../../conversation/events.js';
import type { SessionReport } from './session-report.js';

/** The end of a phone call, which may not have had a conversation. */
export interface CallOutcome {
  status: string;
  /** Why it failed; null if it did not. */
  error: string | null;
  /** The carrier's own record. */
  carrier: Readonly<Record<string, unknown>> | null;
}

type Ended = Pick<SessionReport, 'status' | 'faults' | 'faultReasons'>;

/** The fault of a session whose agent has neither a language model nor a script; its reason says what to do. */
export const NO_MODEL_FAULT = 'llm.missing';

/** The fault of sessions whose process died. */
export const DAEMON_STOPPED = 'daemon.stopped';

/** Faults that end a session, the most likely first: what failed, and what to do. */
const ENDING_FAULTS: readonly [fault: string, what: string, remedy: string][] = [
  [DAEMON_STOPPED, 'The daemon stopped while the call went on', 'Its log tells why.'],
  ['transport.failed', 'The line broke', "The network or the other side's device failed; the call can be made again."],
  ['ears.failed', 'Speech recognition was lost', "Check the recogniser's key, quota and address."],
  ['llm.failed', 'The language model did not answer', "Check the model's key, quota and address."],
  ['thread.lost', 'The thread of the conversation ended', "The daemon's log tells why; the call can be made again."],
  ['tts.failed', 'The voice could not speak', "Check the voice provider's key and quota, and the agent's voice."],
];

/** The content of a network announcement, by the session's end status. */
const ANNOUNCED: Readonly<Partial<Record<EndStatus, string>>> = {
  failed: 'A network announcement said that the number is not in service. Check the number.',
  busy: 'An announcement said that all lines are busy. Call again later.',
  'no-answer': 'An announcement said that the person cannot be reached. Call again later.',
};

/** Why a call failed, for someone who can fix it; null for a successful one. */
export function endReason(report: Ended, outcome: CallOutcome | null): string | null {
  const announced = ANNOUNCED[report.status];
  if (announced !== undefined) return announced;
  const status = outcome?.status ?? report.status;
  if (status === 'error') return brokenOff(report, outcome);
  const why = outcome === null ? null : unconnected(outcome);
  if (why !== null || report.faults[NO_MODEL_FAULT] === undefined) return why;
  return report.faultReasons?.[NO_MODEL_FAULT] ?? 'The agent has no language model and no script.';
}

/** Like `endReason`, for a call without a session. */
export function unconnected({ status, error, carrier }: CallOutcome): string | null {
  switch (status) {
    case 'busy':
      return 'The line was busy. Call again later.';
    case 'no-answer':
      return 'Nobody answered. Call again later, or let it ring for longer.';
    case 'failed': {
      const why = sentence('The call was not connected', error);
      // parley's own failures say what to do; an inbound caller's number is not ours to fix.
      return error === reasonOfCarrier(carrier) && carrier?.['direction'] !== 'inbound'
        ? `${why} ${remedyFor(error)}`
        : why;
    }
    default:
      return error;
  }
}

/** What helps after a refusal, by the status of SIP (RFC 3261, 21) that begins its reason. */
function remedyFor(reason: string | null): string {
  const status = Number(/^([3-6]\d\d)\b/.exec(reason ?? '')?.[1] ?? 0);
  if ([404, 410, 416, 484, 485, 604].includes(status)) return 'Check the number.';
  if ([401, 402, 403, 407].includes(status)) return 'Check the account with the carrier, and what it may call from.';
  if ([415, 488, 606].includes(status)) return 'Check the codecs and the encryption of the trunk.';
  if ([600, 603, 607, 608].includes(status)) return 'The other side declined the call; it may accept a later one.';
  if (status >= 500 && status < 600) return 'The carrier or the network had a fault. Call again later.';
  return 'Check the number, and the account with the carrier.';
}

function reasonOfCarrier(carrier: CallOutcome['carrier']): unknown {
  const end = carrier?.['end'];
  return typeof end === 'object' && end !== null ? Reflect.get(end, 'reason') : null;
}

function brokenOff({ faults, faultReasons = {} }: Ended, outcome: CallOutcome | null): string {
  for (const [fault, what, remedy] of ENDING_FAULTS) {
    if (faults[fault] !== undefined) return `${sentence(what, faultReasons[fault] ?? null)} ${remedy}`;
  }
  const names = Object.keys(faults).join(', ');
  return `${sentence('The session broke off', names || (outcome?.error ?? null))} Its trace tells what came before.`;
}

function sentence(what: string, reason: string | null): string {
  return reason === null ? `${what}.` : `${what}: ${reason.replace(/[.\s]+$/, '')}.`;
}
