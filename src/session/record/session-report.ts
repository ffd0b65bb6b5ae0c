import type { ChatMessage } from '../../agent/chat.js';
import type { EndStatus } from '../../conversation/events.js';
import type { LineStats, TransferFailure } from '../../transports/transport.js';
import {
  latencySummary,
  type LatencySummary,
  type SessionMetrics,
  type SpeculationReport,
  type TurnMetrics,
} from './session-metrics.js';
import type { SessionUsage } from './usage.js';
import { blank } from './privacy.js';

export interface FunctionCall {
  name: string;
  /** JSON text of an object, as the model gave it. */
  arguments: string;
  ok: boolean;
  /** What the model was told. */
  result: string;
  tookMs: number;
  /** It ran when the call was over. */
  runAfterCall: boolean;
}

export interface PlayoutStats {
  /** Frames that ran dry in the middle of an utterance. */
  underruns: number;
  /** Milliseconds of the agent's speech given to the line. */
  speechMs: number;
  /** Frames that were never pulled because this machine was too late: the line had nothing in their place. */
  skippedFrames: number;
}

export interface TransferAttempt {
  /** The number or address that the user was to be connected to. */
  target: string;
  ok: boolean;
  /** Null where it worked. */
  reason: TransferFailure | null;
  /** Why it was refused or broke off, in words; null where the line has no more to say. */
  detail: string | null;
  tookMs: number;
  /** They were asked first. */
  attended: boolean;
}

/** What is left of a session when it is over. */
export interface SessionReport {
  sessionId: string;
  status: EndStatus;
  durationMs: number;
  /** What both sides said, the agent's part as far as it was heard. */
  messages: readonly ChatMessage[];
  turns: readonly TurnMetrics[];
  latency: LatencySummary;
  functionCalls: readonly FunctionCall[];
  /** The user has asked not to be called again. */
  doNotCall: boolean;
  /** In the order in which they were tried; only the last can have worked. */
  transfers: readonly TransferAttempt[];
  /** Characters given to the voice. */
  ttsChars: number;
  speculation: Readonly<SpeculationReport>;
  promptTokens: number;
  completionTokens: number;
  /** The same by provider; fallbacks count under their own names. */
  usage: SessionUsage;
  playout: Readonly<PlayoutStats>;
  /** What became of the line's packets; null for lines that have none. */
  line: Readonly<LineStats> | null;
  /** Where the recording is; null = there is none. */
  recording: string | null;
  /** Faults by name, with how often each occurred. */
  faults: Readonly<Record<string, number>>;
  /** The last reason of each; none where the user has opted out of data collection. */
  faultReasons?: Readonly<Record<string, string>>;
  /** The last stack of those that an exception in the code of a provider has caused. */
  faultCauses?: Readonly<Record<string, string>>;
}

type Figures = 'turns' | 'latency' | 'speculation' | 'promptTokens' | 'completionTokens' | 'usage';

export interface ReportParts extends Omit<SessionReport, Figures> {
  metrics: SessionMetrics;
  /** Nothing that was said may be kept. */
  optOut: boolean;
}

/** What is left of a session. */
export function reportOf({ metrics, optOut, ...parts }: ReportParts): SessionReport {
  const { turns, usage, speculation } = metrics;
  const { promptTokens, completionTokens } = usage.tokens;
  const report: SessionReport = {
    ...parts,
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
