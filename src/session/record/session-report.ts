import type { ListeningPeriod } from '../../conversation/control/listeners.js';
import type { ParticipantRecord } from '../../conversation/control/command.js';
import type { ChatMessage } from '../../agent/chat.js';
import type { StepPassed } from '../../conversation/steps/machine.js';
import type { EndStatus } from '../../conversation/events.js';
import type { LineStats, TransferFailure } from '../../transports/transport.js';
import {
  latencySummary,
  type LatencySummary,
  type SessionMetrics,
  type SpeculationReport,
  type TurnMetrics,
} from './session-metrics.js';
import type { AgentPeriod, SessionUsage } from './usage.js';
import { blank } from './privacy.js';

export interface FunctionCall {
  name: string;
  /** JSON text of an object, as the model gave it. */
  arguments: string;
  ok: boolean;
  /** The result that the model got. */
  result: string;
  tookMs: number;
  /** It ran after the call. */
  runAfterCall: boolean;
}

export interface PlayoutStats {
  /** Frames without audio in the middle of an utterance. */
  underruns: number;
  /** Milliseconds of speech sent to the line. */
  speechMs: number;
  /** Frames that were never pulled because the machine was too slow; the line had nothing in their place. */
  skippedFrames: number;
}

export interface TransferAttempt {
  /** The target's number or address. */
  target: string;
  ok: boolean;
  /** Null if it succeeded. */
  reason: TransferFailure | null;
  /** Details of the failure; null if the line reports none. */
  detail: string | null;
  tookMs: number;
  /** An attended transfer. */
  attended: boolean;
}

/** The record of a finished session. */
export interface SessionReport {
  sessionId: string;
  status: EndStatus;
  durationMs: number;
  /** Messages of both sides; the agent's as far as they were heard. */
  messages: readonly ChatMessage[];
  turns: readonly TurnMetrics[];
  latency: LatencySummary;
  functionCalls: readonly FunctionCall[];
  /** The user has asked not to be called again. */
  doNotCall: boolean;
  /** In order; only the last can have succeeded. */
  transfers: readonly TransferAttempt[];
  /** Characters sent to the voice. */
  ttsChars: number;
  speculation: Readonly<SpeculationReport>;
  promptTokens: number;
  completionTokens: number;
  /** Usage by provider; fallbacks have their own entries. */
  usage: SessionUsage;
  playout: Readonly<PlayoutStats>;
  /** Packet statistics of the line; null if it has none. */
  line: Readonly<LineStats> | null;
  /** Path of the recording; null = none. */
  recording: string | null;
  /** The steps of the flow that it was in, in order; empty if the agent has none. */
  steps: readonly StepPassed[];
  /** Who has listened in, in order. */
  listeners: readonly ListeningPeriod[];
  /** Who has joined the user and the agent, in order. */
  participants: readonly ParticipantRecord[];
  /** Which agent spoke when; empty if there was no hand-over. */
  agents: readonly AgentPeriod[];
  /** Number of occurrences of each fault. */
  faults: Readonly<Record<string, number>>;
  /** The last reason of each; none if the user has opted out of data collection. */
  faultReasons?: Readonly<Record<string, string>>;
  /** The last stack of faults caused by an exception in a provider's code. */
  faultCauses?: Readonly<Record<string, string>>;
}

type Figures = 'agents' | 'turns' | 'latency' | 'speculation' | 'promptTokens' | 'completionTokens' | 'usage';

export interface ReportParts extends Omit<SessionReport, Figures> {
  metrics: SessionMetrics;
  /** No words may be stored. */
  optOut: boolean;
}

export function reportOf({ metrics, optOut, ...parts }: ReportParts): SessionReport {
  const { turns, usage, speculation, agents } = metrics;
  const { promptTokens, completionTokens } = usage.tokens;
  const report: SessionReport = {
    ...parts,
    agents: agents.until(parts.durationMs),
    turns: turns.turns,
    latency: latencySummary(turns.turns),
    speculation,
    promptTokens,
    completionTokens,
    usage: usage.usage(parts.durationMs),
  };
  return optOut ? reportWithoutText(report) : report;
}

/** A report without any text. */
export function reportWithoutText(report: SessionReport): SessionReport {
  return {
    ...report,
    messages: [],
    faultReasons: {},
    faultCauses: {},
    turns: report.turns.map((turn) => blank(turn)),
    functionCalls: report.functionCalls.map((call) => ({ ...call, arguments: '{}', result: '' })),
  };
}
