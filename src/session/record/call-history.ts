import type { AgentConfig } from '../../agent/agent.js';
import type { LeaveReason, ParticipantMode, ParticipantRecord } from '../../conversation/control/command.js';
import type { ListeningPeriod } from '../../conversation/control/listeners.js';
import type { ChatMessage, ToolCall } from '../../agent/chat.js';
import { parseJson } from '../../base/json.js';
import { redactAgentConfig } from '../../agent/redact.js';
import { wholeAgentConfig } from '../../agent/whole-agent.js';
import { type CallOutcome, endReason } from './end-reason.js';
import type { LineStats } from '../../transports/transport.js';
import type { Percentiles } from './session-metrics.js';
import type { FunctionCall, SessionReport, TransferAttempt } from './session-report.js';
import type { SessionUsage } from './usage.js';

/** Facts about a session that its report does not have. */
export interface CallFacts {
  agentId: string | null;
  agentConfig: AgentConfig;
  callId: string | null;
  campaignId: string | null;
  /** Start, in milliseconds since 1970. */
  startUnixMs: number;
  metadata: Readonly<Record<string, unknown>>;
  /** Null if it was not a phone call. */
  phones: { readonly from: string; readonly to: string } | null;
  direction: 'inbound' | 'outbound';
  /** How the call ended; null if the session's own end applies. */
  outcome: CallOutcome | null;
  recordingUrl: string | null;
  /** No words or other information about the user may be stored. */
  optOut: boolean;
}

/** A call in the format of `/call-logs` and `session_data_webhook`. Unknown members are null. */
export interface CallHistoryItem {
  agent_id: string | null;
  /** Only a call of a stored agent has it. */
  agent_version?: number;
  /** Without secrets. */
  agent_config: AgentConfig;
  /** Seconds. */
  duration: number;
  /** Unix seconds, with a fraction. */
  ts: number;
  /** JSON text of an array of messages. */
  chat: string;
  chars_used: number;
  session_id: string;
  call_id: string | null;
  cost_breakdown: readonly CostItem[];
  voip: Readonly<Record<string, unknown>> | null;
  recording: { recording_url: string } | null;
  metadata: Readonly<Record<string, unknown>>;
  function_calls: readonly HistoryFunctionCall[];
  call_status: string;
  campaign_id: string | null;
  error_message: string | null;
  call_metrics: CallMetrics;
  carrier_call_log: Readonly<Record<string, unknown>> | null;
  /** Only a call that came to a queue has it. */
  queue?: QueueFacts;
  /** Who has listened in. Only a call with listeners has it. */
  listeners?: HistoryListener[];
  /** Who has joined the user and the agent. Only a call with participants has it. */
  participants?: HistoryParticipant[];
  /** The steps of the flow that it was in. Only a call of an agent with a flow has it. */
  steps?: HistoryStep[];
  /** Which agent spoke when. Only a call that was handed over has it. */
  agents?: HistoryAgent[];
  /** Only a test call has it: the run that held the call. */
  eval?: EvalCallFacts;
}

/** How a call has fared in a queue. */
export interface QueueFacts {
  id: string;
  /** Its place when it came, counted from 1; 0 = it did not wait, because the queue was closed or full. */
  position: number;
  /** As last set. */
  priority: number;
  /** Seconds in the queue; null = it still waits. */
  waited: number | null;
  /** How it has left; null = it still waits. */
  left: QueueExit | null;
}

/**
 * - `answered`: by the agent.
 * - `abandoned`: the caller has hung up.
 * - `callback`: the caller has hung up and is called back.
 * - `voicemail`, `transferred`: a message was recorded, or another number connected, because of an overflow or the hours.
 * - `overflow`: the queue was full, the wait too long, or the daemon shut down; `closed`: outside the opening hours.
 * - `removed`: by a program.
 * - `failed`: the line could not be opened.
 */
export const QUEUE_EXITS = [
  'answered',
  'abandoned',
  'callback',
  'voicemail',
  'transferred',
  'overflow',
  'closed',
  'removed',
  'failed',
] as const;
export type QueueExit = (typeof QUEUE_EXITS)[number];

export interface HistoryListener {
  key_id: string;
  /** Calls of earlier versions have none. */
  name?: string;
  /** Seconds since the line opened. */
  from: number;
  to: number;
}

export interface HistoryParticipant {
  participant_id: string;
  name: string;
  channel: string;
  key_id: string | null;
  /** The last one. */
  mode: ParticipantMode;
  /** All that they have had, in order; calls of earlier versions have none. */
  modes?: { mode: ParticipantMode; from: number }[];
  /** Seconds since the line opened. */
  from: number;
  to: number;
  /** Why they left; null = the call ended with them. */
  left: LeaveReason | null;
}

export interface HistoryStep {
  step: string;
  /** Seconds since the line opened. */
  from: number;
  to: number;
  /** The step that followed; null = the call ended in this one. */
  next: string | null;
}

export interface HistoryAgent {
  agent_id: string | null;
  name: string;
  /** Seconds since the line opened. */
  from: number;
  to: number;
  /** What it has used: a part of the call's. */
  cost_breakdown: CostItem[];
}

/** What a test call belongs to. */
export interface EvalCallFacts {
  run_id: string;
  suite_id: string;
  suite_version: number;
  /** The name of its case. */
  case: string;
  mode: 'text' | 'voice';
  /** Index of the run within its case, from 0. */
  run: number;
  passed: boolean;
}

export interface HistoryFunctionCall {
  name: string;
  /** The arguments; text if they were not JSON. */
  params: unknown;
  result: string;
  run_after_call: boolean;
}

/** Usage and its cost by the operator's prices; 0 without a price. */
export type CostItem =
  | { type: 'stt'; provider: string; credit: number; model: string | null; seconds: number }
  | {
      type: 'llm';
      provider: string;
      credit: number;
      model: string;
      /** Total, including tokens read from or written to the vendor's cache. */
      prompt_tokens: number;
      cached_tokens: number;
      cache_write_tokens: number;
      completion_tokens: number;
      /** Audio tokens among them; left out if the model neither hears nor speaks. */
      audio_prompt_tokens?: number;
      audio_cached_tokens?: number;
      audio_completion_tokens?: number;
    }
  | { type: 'tts'; provider: string; credit: number; model: string | null; chars: number }
  /** A phone call, from the answer to the end, as the carrier bills it. */
  | { type: 'voip'; provider: string; credit: number; minutes: number };

export type ModelCostItem = Extract<CostItem, { type: 'llm' }>;

/** Milliseconds; null if no turn had the stage. */
export interface CallMetrics {
  /** From the end of the user's speech to the first audio of the answer. */
  utterance_latency: Percentiles | null;
  /** Part of it until the turn was over. */
  end_of_turn: Percentiles | null;
  /** From then to the model's first piece. */
  llm_first: Percentiles | null;
  first_sentence: Percentiles | null;
  /** From that sentence to its first audio. */
  tts_first: Percentiles | null;
  turns: number;
  /** Answers that the user has interrupted. Calls of earlier releases do not have it. */
  interruptions?: number;
  /** Functions that failed. Calls of earlier releases do not have it. */
  tool_errors?: number;
  /** Packet statistics of the line; null if it has none. */
  line: LineMetrics | null;
}

/** `LineStats` in the clients' format. */
export interface LineMetrics {
  received: number;
  lost: number;
  late: number;
  duplicate: number;
  reordered: number;
  jitter_ms: number;
  patience_ms: number;
  sent: number;
  reported_loss: number | null;
  codec: string | null;
  concealed_ms: number | null;
  round_trip_ms: number | null;
}

export function callHistoryItem(report: SessionReport, facts: CallFacts): CallHistoryItem {
  const { outcome, optOut } = facts;
  const item: CallHistoryItem = {
    agent_id: facts.agentId,
    agent_config: redactAgentConfig(facts.agentConfig),
    duration: report.durationMs / 1000,
    ts: facts.startUnixMs / 1000,
    chat: optOut ? '[]' : JSON.stringify(report.messages.map(wireMessage)),
    chars_used: report.ttsChars,
    session_id: report.sessionId,
    call_id: facts.callId,
    cost_breakdown: costs(report.usage),
    voip: voipOf(report, facts),
    recording: optOut || facts.recordingUrl === null ? null : { recording_url: facts.recordingUrl },
    metadata: facts.metadata,
    function_calls: report.functionCalls.map((call) => functionCall(call, optOut)),
    call_status: outcome?.status ?? report.status,
    campaign_id: facts.campaignId,
    error_message: endReason(report, outcome),
    call_metrics: metricsOf(report),
    carrier_call_log: outcome?.carrier ?? null,
  };
  if (report.listeners.length > 0) item.listeners = report.listeners.map((one) => listener(one, report.durationMs));
  if (report.steps.length > 0) {
    item.steps = report.steps.map(({ step, fromMs, toMs, to: next }) => {
      return { step, from: fromMs / 1000, to: (toMs ?? report.durationMs) / 1000, next };
    });
  }
  if (report.participants.length > 0) {
    item.participants = report.participants.map((one) => participant(one, report.durationMs));
  }
  if (report.agents.length > 0) {
    item.agents = report.agents.map(({ agentId, name, fromMs, toMs, usage }) => {
      return { agent_id: agentId, name, from: fromMs / 1000, to: toMs / 1000, cost_breakdown: costs(usage) };
    });
  }
  return item;
}

function participant(
  { id, name, channel, by, mode, modes, fromMs, toMs, left }: ParticipantRecord,
  durationMs: number,
): HistoryParticipant {
  const times = { from: fromMs / 1000, to: (toMs ?? durationMs) / 1000 };
  const all = modes.map((one) => ({ mode: one.mode, from: one.fromMs / 1000 }));
  return { participant_id: id, name, channel, key_id: by, mode, modes: all, ...times, left };
}

function listener({ by, name, fromMs, toMs }: ListeningPeriod, durationMs: number): HistoryListener {
  const times = { from: fromMs / 1000, to: (toMs ?? durationMs) / 1000 };
  return name === undefined ? { key_id: by, ...times } : { key_id: by, name, ...times };
}

/** In the format of answers and webhooks: with every member that an agent's configuration can have. */
export function shownItem(item: CallHistoryItem): CallHistoryItem {
  return { ...item, agent_config: wholeAgentConfig(item.agent_config) };
}

/** In the format of the API's chat messages. */
export function wireMessage(message: ChatMessage): Readonly<Record<string, unknown>> {
  const { role, content } = message;
  if (role === 'tool') return { role, content, tool_call_id: message.toolCallId };
  if (role === 'assistant' && message.toolCalls !== undefined) {
    const called = { role, content, tool_calls: message.toolCalls.map(wireToolCall) };
    return message.name === undefined ? called : { ...called, name: message.name };
  }
  if (role !== 'system' && message.name !== undefined) return { role, content, name: message.name };
  return { role, content };
}

function wireToolCall({ id, name, arguments: args }: ToolCall): Readonly<Record<string, unknown>> {
  return { id, type: 'function', function: { name, arguments: args } };
}

/** Arguments and results are the user's data, too. */
function functionCall({ name, arguments: args, result, runAfterCall }: FunctionCall, optOut: boolean) {
  const visible = optOut ? { params: {}, result: '' } : { params: parsed(args), result };
  return { name, ...visible, run_after_call: runAfterCall };
}

function parsed(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** One item per used provider. */
function costs(usage: SessionUsage): CostItem[] {
  const credit = 0;
  const heard = usage.stt.map((used) => ({ type: 'stt' as const, credit, ...used }));
  const thought = usage.llm.map(modelItem);
  const said = usage.tts.map((used) => ({ type: 'tts' as const, credit, ...used }));
  return [...heard, ...thought, ...said];
}

/** A model's usage as an item without its cost. */
export function modelItem({ provider, model, ...tokens }: SessionUsage['llm'][number]): ModelCostItem {
  const { audio } = tokens;
  const item: ModelCostItem = {
    type: 'llm',
    provider,
    credit: 0,
    model,
    prompt_tokens: tokens.promptTokens,
    cached_tokens: tokens.cachedTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    completion_tokens: tokens.completionTokens,
  };
  if (audio !== undefined) {
    item.audio_prompt_tokens = audio.promptTokens;
    item.audio_cached_tokens = audio.cachedTokens;
    item.audio_completion_tokens = audio.completionTokens;
  }
  return item;
}

function voipOf({ transfers }: SessionReport, { phones, direction }: CallFacts): CallHistoryItem['voip'] {
  const last = transfers.at(-1);
  const transfer = last === undefined ? null : transferOf(last);
  if (phones === null) return transfer === null ? null : { from: null, to: null, direction, transfer };
  return { from: phones.from, to: phones.to, direction, transfer };
}

function transferOf({ target, ok, reason, detail, attended }: TransferAttempt): Record<string, unknown> {
  return { to: target, ok, reason, detail, attended };
}

function metricsOf({ latency, turns, functionCalls, line }: SessionReport): CallMetrics {
  return {
    utterance_latency: latency.responseMs,
    end_of_turn: latency.endOfTurnMs,
    llm_first: latency.llmFirstMs,
    first_sentence: latency.firstSentenceMs,
    tts_first: latency.ttsFirstMs,
    turns: turns.length,
    interruptions: turns.filter(({ interrupted }) => interrupted).length,
    tool_errors: functionCalls.filter(({ ok }) => !ok).length,
    line: line === null ? null : lineMetrics(line),
  };
}

function lineMetrics({
  jitterMs: jitter_ms,
  patienceMs: patience_ms,
  reportedLoss,
  codec,
  concealedMs,
  roundTripMs,
  ...counts
}: LineStats): LineMetrics {
  return {
    ...counts,
    jitter_ms,
    patience_ms,
    reported_loss: reportedLoss,
    codec: codec ?? null,
    concealed_ms: concealedMs ?? null,
    round_trip_ms: roundTripMs ?? null,
  };
}
