import type { TransferOutcome } from '../../transports/transport.js';
import type { AgentLines } from './agent-line.js';
import type { SipCall } from './call.js';
import { failureOfEnd, failureOfStatus } from './end-cause.js';
import { type Addressing, addressToCall } from './numbers.js';

/**
 * How calls are handed on:
 * - `auto`: by REFER where the other side takes it, else over a second call, whose media we relay.
 * - `refer`: by REFER or not at all.
 * - `bridge`: always over a second call.
 */
export type TransferMode = 'auto' | 'refer' | 'bridge';

export interface TransferOptions {
  mode: TransferMode;
  addressing: Addressing;
  lines: AgentLines;
  /** Calls somebody on behalf of a call. @throws ParleyError */
  place: (call: SipCall, target: string) => SipCall;
}

const FAILED: TransferOutcome = { ok: false, reason: 'failed' };
/** Ringing at the target, and what is told of it. */
const REFER_MS = 60_000;

/** Connects the far end of a call with somebody else, who is called for it. */
export async function transferBlindly(
  call: SipCall,
  target: string,
  signal: AbortSignal,
  options: TransferOptions,
): Promise<TransferOutcome> {
  const address = addressToCall(target, options.addressing);
  const leg = call.leg;
  if (address === null || leg === null || leg.isOver || call.state !== 'answered') return FAILED;
  if (mayRefer(call, options.mode)) {
    const outcome = await referred(call, address, signal);
    if (outcome !== 'refused') return outcome;
    if (options.mode === 'refer') return { ok: false, reason: 'unsupported' };
    if (signal.aborted) return { ok: false, reason: 'no-answer' };
  } else if (options.mode === 'refer') return { ok: false, reason: 'unsupported' };
  return bridgedToNew(call, target, signal, options);
}

/** Connects the far ends of two calls of ours. */
export async function connectCalls(
  call: SipCall,
  other: SipCall,
  signal: AbortSignal,
  options: TransferOptions,
): Promise<TransferOutcome> {
  const leg = other.leg;
  if (call === other || call.state !== 'answered' || other.state !== 'answered' || leg === null) return FAILED;
  if (mayRefer(call, options.mode)) {
    // The far end calls the other one, and takes the place of our call with it (RFC 3891, RFC 5589).
    const address = `${bare(leg.dialog.target)}?Replaces=${encodeURIComponent(leg.dialog.replaces)}`;
    const outcome = await referred(call, address, signal);
    if (outcome !== 'refused') {
      if (outcome.ok) {
        other.handedAway();
        other.hangUp();
      }
      return outcome;
    }
  }
  if (options.mode === 'refer') return { ok: false, reason: 'unsupported' };
  return bridged(call, other, options.lines);
}

function mayRefer(call: SipCall, mode: TransferMode): boolean {
  return mode === 'refer' || (mode === 'auto' && call.leg?.allows('REFER') === true);
}

async function referred(call: SipCall, address: string, signal: AbortSignal): Promise<TransferOutcome | 'refused'> {
  const outcome = await call.leg?.refer(address, signal, REFER_MS);
  switch (outcome?.kind) {
    case 'done':
      call.handedAway();
      return { ok: true };
    case 'failed':
      return { ok: false, reason: failureOfStatus(outcome.status) };
    case 'refused':
      return 'refused';
    case 'silent':
    case undefined:
      return { ok: false, reason: 'no-answer' };
  }
}

async function bridgedToNew(
  call: SipCall,
  target: string,
  signal: AbortSignal,
  { place, lines }: TransferOptions,
): Promise<TransferOutcome> {
  let other: SipCall;
  try {
    other = place(call, target);
  } catch {
    return FAILED;
  }
  const outcome = await new Promise<TransferOutcome>((resolve) => {
    const giveUp = (): void => other.hangUp();
    signal.addEventListener('abort', giveUp, { once: true });
    other.onState((state) => {
      if (state === 'answered') resolve({ ok: true });
      if (state === 'ended') resolve({ ok: false, reason: failureOfEnd(other.end) });
      if (state === 'answered' || state === 'ended') signal.removeEventListener('abort', giveUp);
    });
    if (signal.aborted) giveUp();
  });
  return outcome.ok ? bridged(call, other, lines) : outcome;
}

function bridged(call: SipCall, other: SipCall, lines: AgentLines): TransferOutcome {
  const areThere = call.state === 'answered' && other.state === 'answered';
  const bridge = areThere ? lines.bridge(call.line, other.line) : null;
  if (bridge === null) {
    other.hangUp();
    return FAILED;
  }
  call.bridgedTo(() => {
    bridge.close();
    other.drop();
  });
  other.bridgedTo(() => {
    bridge.close();
    call.drop();
  });
  other.hangUp(); // the agent's part of it
  return { ok: true };
}

/** An address without what only says how to write to it here. */
function bare(uri: string): string {
  return uri.split('?', 1)[0] ?? uri;
}
