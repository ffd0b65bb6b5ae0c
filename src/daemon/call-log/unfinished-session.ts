import type { ParticipantRecord } from '../../conversation/control/command.js';
import { type ListeningPeriod, noteListener, noteParticipant } from '../../conversation/control/listeners.js';
import type { AgentRef } from '../../agent/flow/handover.js';
import type { StepPassed } from '../../conversation/steps/machine.js';
import { Conversation } from '../../conversation/conversation.js';
import type { EndStatus, PlayoutPosition } from '../../conversation/events.js';
import { historyMessages } from '../../conversation/speech/history.js';
import type { LeftSession, UnfinishedChat } from '../../engine/unfinished-session.js';
import { DAEMON_STOPPED } from '../../session/record/end-reason.js';
import type { LogEntry } from '../../session/record/event-log.js';
import { SessionMetrics } from '../../session/record/session-metrics.js';
import type { FunctionCall, ReportParts, SessionReport, TransferAttempt } from '../../session/record/session-report.js';
import type { UsageNote } from '../../session/record/usage.js';
import { mergeConfig } from '../../agent/flow/conversation-config.js';
import type { EventLog } from '../../replay/read-log.js';

/** The remaining data of a session whose process died. */
export interface LeftSessionSources {
  sessionId: string;
  /** Its event log; null = there is none. */
  trace: EventLog | null;
  /** The chat so far; null = it was a voice session. */
  chat: UnfinishedChat | null;
  recording: { path: string; durationMs: number } | null;
  optOut: boolean;
  /** Whether it may have run even without a trace and a recording. */
  mayHaveRun: boolean;
}

const UNANSWERED = 'The daemon stopped before there was an answer.';

/** Rebuilds a session up to the death of its process: its messages, function calls and usage. */
export function leftSession({
  sessionId,
  trace,
  chat,
  recording,
  optOut,
  mayHaveRun,
}: LeftSessionSources): LeftSession {
  const parts = trace === null ? emptyParts(sessionId, optOut) : tracedParts(sessionId, trace, optOut);
  const { messages = parts.messages, functionCalls = parts.functionCalls, durationMs = 0 } = chat ?? {};
  return {
    parts: {
      ...parts,
      messages,
      functionCalls,
      // Silence logs no events, but the recording grows.
      durationMs: Math.max(parts.durationMs, recording?.durationMs ?? 0, durationMs),
      recording: recording?.path ?? null,
    },
    systemPrompt: optOut ? null : (trace?.start.config.systemPrompt ?? null),
    ran: trace !== null || recording !== null || chat !== null || mayHaveRun,
  };
}

function emptyParts(sessionId: string, optOut: boolean): ReportParts {
  return {
    sessionId,
    optOut,
    status: 'error',
    durationMs: 0,
    messages: [],
    functionCalls: [],
    doNotCall: false,
    transfers: [],
    ttsChars: 0,
    metrics: new SessionMetrics(() => undefined),
    playout: { underruns: 0, speechMs: 0, skippedFrames: 0 },
    line: null,
    recording: null,
    steps: [],
    listeners: [],
    participants: [],
    faults: { [DAEMON_STOPPED]: 1 },
    faultReasons: {},
    faultCauses: {},
  };
}

function tracedParts(sessionId: string, { start, entries }: EventLog, optOut: boolean): ReportParts {
  const empty = emptyParts(sessionId, optOut);
  const { metrics } = empty;
  const texts = new Map<number, string>();
  let position: PlayoutPosition = { utteranceId: null, heardChars: 0 };
  let durationMs = 0;
  let ttsChars = 0;
  let doNotCall = false;
  let status: EndStatus | null = null;
  const listeners: ListeningPeriod[] = [];
  const participants = new Map<string, ParticipantRecord>();
  const faults: Record<string, number> = {};
  const faultReasons: Record<string, string> = {};
  const faultCauses: Record<string, string> = {};
  for (const entry of entries) {
    const { t } = entry;
    durationMs = Math.max(durationMs, t);
    if (entry.kind === 'event') {
      const { event } = entry;
      if (entry.position.utteranceId !== null) ({ position } = entry);
      if (event.type === 'utterance.started') metrics.turns.audible(event.utteranceId, t);
      if (event.type === 'utterance.finished') {
        metrics.turns.said(event.utteranceId, texts.get(event.utteranceId) ?? '');
      }
      metrics.onEvent(event, t);
    } else if (entry.kind === 'effect') {
      const { effect } = entry;
      if (effect.type === 'speak') texts.set(effect.utteranceId, effect.text);
      if (effect.type === 'speak.more') {
        texts.set(effect.utteranceId, (texts.get(effect.utteranceId) ?? '') + effect.text);
      }
      if (effect.type === 'playout.drop' && position.utteranceId !== null) {
        const { utteranceId, heardChars } = position;
        metrics.turns.said(utteranceId, texts.get(utteranceId)?.slice(0, heardChars) ?? '');
      }
      if (effect.type === 'line.participant') noteParticipant(participants, effect.participant, t);
      if (effect.type === 'doNotCall') doNotCall = true;
      if (effect.type === 'trace' && effect.name === 'listener') {
        const { by, name, on } = effect.data;
        noteListener(listeners, {
          by: String(by),
          name: name === undefined ? name : String(name),
          on: on === true,
          nowMs: t,
        });
      }
      if (effect.type === 'trace' && effect.name === 'ended') status = effect.data['status'] as EndStatus;
      metrics.onEffect(effect, t);
    } else if (entry.kind === 'note') {
      const { name, data } = entry;
      if (name === 'usage') {
        const used = data as UsageNote;
        metrics.used(used, t);
        if (used.stage === 'tts') ttsChars += used.chars;
      } else if (name === 'voice.first') metrics.turns.firstAudio(Number(data['utteranceId']), t);
      else if (typeof data['reason'] === 'string') {
        faults[name] = (faults[name] ?? 0) + 1;
        faultReasons[name] = data['reason'];
        if (typeof data['cause'] === 'string') faultCauses[name] = data['cause'];
      }
    }
  }
  return {
    ...empty,
    durationMs,
    ttsChars,
    steps: stepsIn(entries),
    listeners,
    participants: [...participants.values()],
    doNotCall,
    faultReasons,
    faultCauses,
    status: status ?? 'error',
    faults: status === null ? { ...faults, [DAEMON_STOPPED]: 1 } : faults,
    messages: optOut ? [] : saidIn(start, entries),
    functionCalls: callsIn(entries),
    transfers: transfersIn(entries),
  };
}

/** Those of the first agent, to which the call belongs. */
function stepsIn(entries: readonly LogEntry[]): StepPassed[] {
  const steps: StepPassed[] = [];
  let first: AgentRef | null = null;
  let hasCall = true;
  for (const entry of entries) {
    if (entry.kind !== 'effect') continue;
    if (entry.effect.type === 'agent.handover') {
      const { from, to } = entry.effect;
      first ??= from;
      hasCall = to.id === first.id;
      Object.assign(steps.at(-1) ?? {}, { toMs: hasCall ? null : entry.t });
    }
    if (!hasCall || entry.effect.type !== 'trace' || entry.effect.name !== 'step') continue;
    const step = String(entry.effect.data['step']);
    Object.assign(steps.at(-1) ?? {}, { toMs: entry.t, to: step });
    steps.push({ step, fromMs: entry.t, toMs: null, to: null });
  }
  return steps;
}

/** Replays the conversation up to its last event. The agent's last words count as far as they were played. */
function saidIn(start: EventLog['start'], entries: readonly LogEntry[]): SessionReport['messages'] {
  // Settings that are missing in a log of an earlier version get their defaults.
  const conversation = new Conversation(mergeConfig(start.config));
  let last: { t: number; position: PlayoutPosition } | null = null;
  for (const entry of entries) {
    if (entry.kind !== 'event') continue;
    conversation.step(entry.event, entry.t, entry.position);
    last = entry;
  }
  if (last !== null) conversation.step({ type: 'command.end' }, last.t, last.position);
  return historyMessages(conversation.state.history, { expected: false, keepInterrupted: true });
}

function callsIn(entries: readonly LogEntry[]): FunctionCall[] {
  const calls = new Map<string, { startMs: number; call: FunctionCall }>();
  for (const entry of entries) {
    if (entry.kind === 'effect' && entry.effect.type === 'tool.start') {
      const { id, name, arguments: given } = entry.effect.call;
      const unknown = { ok: false, result: UNANSWERED, tookMs: 0, runAfterCall: false };
      calls.set(id, { startMs: entry.t, call: { name, arguments: given, ...unknown } });
    } else if (entry.kind === 'event' && entry.event.type === 'tool.result') {
      const { callId, ok, content: result } = entry.event;
      const made = calls.get(callId);
      if (made !== undefined) made.call = { ...made.call, ok, result, tookMs: entry.t - made.startMs };
    }
  }
  return [...calls.values()].map(({ call }) => call);
}

function transfersIn(entries: readonly LogEntry[]): TransferAttempt[] {
  const attempts = new Map<string, { startMs: number; attempt: TransferAttempt }>();
  for (const entry of entries) {
    if (entry.kind === 'effect' && entry.effect.type === 'line.transfer') {
      const { callId, target, attended } = entry.effect;
      const open = { ok: false, reason: 'failed', detail: null, tookMs: 0 } as const;
      attempts.set(callId, { startMs: entry.t, attempt: { target, ...open, attended: attended !== undefined } });
    } else if (entry.kind === 'event' && entry.event.type === 'transfer.result') {
      const { callId, ok } = entry.event;
      const made = attempts.get(callId);
      const reason = ok ? null : 'failed';
      if (made !== undefined) made.attempt = { ...made.attempt, ok, reason, tookMs: entry.t - made.startMs };
    }
  }
  return [...attempts.values()].map(({ attempt }) => attempt);
}
