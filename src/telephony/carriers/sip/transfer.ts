import { encodeUrlText } from '../../../base/url-text.js';
import { type Clock, delay } from '../../../base/clock.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallMediaHost } from './call-media-host.js';
import type { SipCall } from './call.js';
import { failureOfEnd, failureOfStatus } from './end-cause.js';
import { type Addressing, addressToCall } from './numbers.js';

/**
 * How calls are transferred:
 * - `auto`: by REFER if the other side supports it, otherwise over a second call, whose media parley relays.
 * - `refer`: only by REFER.
 * - `bridge`: always over a second call.
 */
export type TransferMode = 'auto' | 'refer' | 'bridge';

export interface TransferOptions {
  mode: TransferMode;
  clock: Clock;
  addressing: Addressing;
  mediaHost: CallMediaHost;
  /** Places a call for a call's transfer. @throws ParleyError */
  place: (call: SipCall, target: string) => SipCall;
}

const FAILED: TransferOutcome = { ok: false, reason: 'failed' };
const UNSUPPORTED: TransferOutcome = { ok: false, reason: 'unsupported' };
/** A live end sends several packets in this time. */
const SAMPLE_MS = 200;
const FLOWING = 4;
/** A far end that was put on hold for the transfer returns within this time, or is gone. */
const GONE_MS = 3000;
/**
 * In a NOTIFY these concern the transfer itself: bad request, unauthorized, forbidden, not found, proxy authentication,
 * method not allowed.
 */
const UNABLE: ReadonlySet<number> = new Set([400, 401, 403, 405, 407]);
/** Maximum time for ringing at the target and its reports (NOTIFY). */
const REFER_MS = 60_000;

/** Blind transfer: connects the far end of a call with a target. */
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
    const outcome = await referred(call, address, signal, options);
    if (outcome !== 'unable') return outcome;
    if (options.mode === 'refer') return UNSUPPORTED;
    if (signal.aborted) return { ok: false, reason: 'no-answer' };
  } else if (options.mode === 'refer') return UNSUPPORTED;
  return bridgedToNew(call, target, signal, options);
}

/** Connects the far ends of two calls. */
export async function connectCalls(
  call: SipCall,
  other: SipCall,
  signal: AbortSignal,
  options: TransferOptions,
): Promise<TransferOutcome> {
  const leg = other.leg;
  if (call === other || call.state !== 'answered' || other.state !== 'answered' || leg === null) return FAILED;
  if (mayRefer(call, options.mode)) {
    // The far end calls the other one and replaces parley's call with it (RFC 3891, RFC 5589).
    const address = `${bare(leg.dialog.target)}?Replaces=${encodeUrlText(leg.dialog.replaces)}`;
    const outcome = await referred(call, address, signal, options);
    if (outcome !== 'unable') {
      if (outcome.ok) {
        other.handedAway();
        other.hangUp();
      }
      return outcome;
    }
  }
  if (options.mode === 'refer') return UNSUPPORTED;
  return bridged(call, other, options.mediaHost);
}

function mayRefer(call: SipCall, mode: TransferMode): boolean {
  return mode === 'refer' || (mode === 'auto' && call.leg?.allows('REFER') === true);
}

/** `unable`: the other side does not support it, and the far end is still connected. */
async function referred(
  call: SipCall,
  address: string,
  signal: AbortSignal,
  { clock }: TransferOptions,
): Promise<TransferOutcome | 'unable'> {
  const wasHeard = await hasSound(call, SAMPLE_MS, clock);
  const outcome = await call.leg?.refer(address, signal, REFER_MS);
  if (outcome?.kind === 'done') {
    call.handedAway();
    return { ok: true };
  }
  if (outcome?.kind === 'refused') return 'unable';
  const status = outcome?.kind === 'failed' ? outcome.status : null;
  const failure: TransferOutcome = {
    ok: false,
    reason: outcome?.kind === 'failed' ? failureOfStatus(status) : 'no-answer',
  };
  // Some PBXs, such as Asterisk, connect the far end to the target at once and never return it.
  if (wasHeard && !(await hasSound(call, GONE_MS, clock))) {
    call.farLost('the far end is gone after a transfer that failed');
    return failure;
  }
  return status !== null && isUnable(status) ? 'unable' : failure;
}

/** Whether the other side cannot transfer, as opposed to a target that does not take the call. */
function isUnable(status: number): boolean {
  return UNABLE.has(status) || (status >= 500 && status < 600);
}

/** Whether packets arrive from the far end within this time. */
async function hasSound(call: SipCall, forMs: number, clock: Clock): Promise<boolean> {
  const before = await clock.settle(call.line.received(), clock.nowMs());
  for (let passedMs = 0; passedMs < forMs && !call.isOver; passedMs += SAMPLE_MS) {
    await delay(clock, SAMPLE_MS);
    if ((await clock.settle(call.line.received(), clock.nowMs())) - before >= FLOWING) return true;
  }
  return false;
}

async function bridgedToNew(
  call: SipCall,
  target: string,
  signal: AbortSignal,
  { place, mediaHost }: TransferOptions,
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
  return outcome.ok ? bridged(call, other, mediaHost) : outcome;
}

function bridged(call: SipCall, other: SipCall, mediaHost: CallMediaHost): TransferOutcome {
  const areThere = call.state === 'answered' && other.state === 'answered';
  const bridge = areThere ? mediaHost.bridge(call.line, other.line) : null;
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

/** An address without parameters that only apply to this connection. */
function bare(uri: string): string {
  return uri.split('?', 1)[0] ?? uri;
}
