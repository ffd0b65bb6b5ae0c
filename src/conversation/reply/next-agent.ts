import { arrivalOf, handedOver, handoverNote } from '../../agent/flow/handover.js';
import { done, refuse } from '../control/outcome.js';
import type { NextAgent } from '../control/command.js';
import type { Core } from '../core.js';
import * as speech from '../speech/agent-speech.js';
import { isUnanswered, lastUserMessage, setToolResult, spokenText } from '../speech/history.js';
import { isSpeakable } from '../speech/sentences.js';
import type { Handover, HandoverState, HistoryEntry } from '../state.js';
import { isOpen } from '../turn/user-turn.js';
import { dropSpeculation } from './early.js';

/** Another agent goes on with the conversation. */

/** The agent of a hand-over is ready, and no reply of the other one is under way: it speaks from now on. */
export function becomeNextAgent(core: Core): void {
  const { handover, updates } = core.state;
  if (handover?.ready == null) return;
  const { ready, entry, callId, back, command } = handover;
  core.state.handover = null;
  core.disarm('handover', 'opening');
  dropSpeculation(core, 'another agent');
  for (const { id } of updates.splice(0)) refuse(core, id, 'handingOver');
  const from = core.agent;
  stayUntil(core.state.steps, core.nowMs);
  const waiting = waitingMessage(core);
  const announcement = sayAnnouncement(core, handover);
  const since = back ? (arrivalOf(core.state.handovers, handover.agent)?.since ?? 0) : firstSeen(core, handover, ready);
  setToolResult(core, entry, callId, handedOver(handover.agent));
  core.state.handovers.push({
    from,
    to: handover.agent,
    back,
    entry,
    callId,
    turn: core.state.turn.number,
    since,
    only: waiting,
    note: handoverNote({
      from,
      to: handover.agent,
      back,
      reason: handover.reason,
      summary: ready.summary,
      variables: ready.variables,
      announcement,
      isAsked: waiting !== null,
    }),
    steps: core.state.steps,
    returns: returnsOf(core, handover),
    atMs: core.nowMs,
  });
  const steps = back ? stepsLeft(core, handover) : null;
  stayUntil(steps, null); // it goes on
  takeOn(core, handover, ready, since);
  core.state.steps = steps;
  core.trace('handover', { from: from.name, to: handover.agent.name, back });
  core.emit({ type: 'agent.handover', from, to: handover.agent, back });
  core.state.hasUnreportedResults = true;
  done(core, command);
}

/** The settings of the agent. What belongs to the call stays as it began. */
function takeOn(core: Core, { plan, back }: HandoverState, { config }: NextAgent, since: number): void {
  const { direction, limits, earlier, modelHears } = core.first;
  core.become({
    ...config,
    direction,
    modelHears,
    earlier: since === 0 && (back || plan === 'all') ? earlier : [],
    limits: { ...config.limits, maxDurationMs: limits.maxDurationMs },
    voicemail: core.state.voicemail === null ? config.voicemail : core.config.voicemail,
  });
}

/** @returns what is said; null = nothing */
function sayAnnouncement(core: Core, { announcement, entry }: HandoverState): string | null {
  if (announcement === null || !isSpeakable(announcement)) return null;
  if (core.isSilenced || core.state.hold !== null) return null;
  if (isOpen(core) && !core.state.turn.waiting) return null; // the user has the floor
  speech.say(core, announcement, { kind: 'tool', entry });
  return announcement;
}

/** The index of the user's message that waits for an answer; null = none does. */
function waitingMessage(core: Core): number | null {
  const { reply } = core.state;
  if (reply !== null && reply.phase !== 'done') return reply.userEntry;
  return isUnanswered(core) ? lastUserMessage(core) : null;
}

/** An agent passes on no more than it sees itself. */
function firstSeen(core: Core, { plan, messages, entry }: HandoverState, { summary }: NextAgent): number {
  const own = core.state.handovers.at(-1)?.since ?? 0;
  if (plan === 'all') return own;
  if (plan === 'last' || (plan === 'summary' && summary === null))
    return Math.max(own, lastSaid(core, entry, messages));
  return entry + 1;
}

/** Index of the first of the last messages before an entry. */
function lastSaid(core: Core, before: number, count: number): number {
  let left = count;
  let at = before;
  while (at > 0 && left > 0) if (wasSaid(core.state.history[--at])) left--;
  return at;
}

function wasSaid(entry: HistoryEntry | undefined): boolean {
  if (entry === undefined || entry.role === 'added') return false;
  return (entry.role === 'assistant' ? spokenText(entry, true) : entry.content) !== '';
}

/** Where an agent that gets the conversation back was in its steps. */
function stepsLeft(core: Core, { agent }: HandoverState): Handover['steps'] {
  const left = core.state.handovers.findLast((one) => !one.back && one.from.id === agent.id);
  return left?.steps ?? null;
}

/** The agent leaves its present step, or is in it again. */
function stayUntil(steps: Handover['steps'], toMs: number | null): void {
  const last = steps?.passed.at(-1);
  if (last !== undefined) last.toMs = toMs;
}

function returnsOf(core: Core, { back, mayReturn }: HandoverState): Handover['returns'] {
  const known = core.state.handovers.at(-1)?.returns ?? [];
  if (back) return known.slice(1);
  return mayReturn ? [core.agent, ...known] : [];
}
