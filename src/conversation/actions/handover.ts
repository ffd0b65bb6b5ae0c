import type { AgentRef, HandoverConfig, HandoverTarget } from '../../agent/flow/handover.js';
import { WHOLE_CONTEXT } from '../../agent/flow/handover.js';
import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import { dropSpeculation } from '../reply/early.js';
import { releaseHold } from '../control/release-hold.js';
import type { CommandOf, CommandRefusal, NextAgent } from '../control/command.js';
import { open, refuse } from '../control/outcome.js';
import type { Core, FinalAction } from '../core.js';
import { armFiller } from '../reply/filler.js';
import { startSteps } from '../reply/opening.js';
import { mayBegin } from '../steps/steps.js';
import { becomeNextAgent } from '../reply/next-agent.js';
import { cancelReply, nextRound, replyEntry } from '../reply/reply.js';
import { addAssistantMessage, addToolCall, setToolResult } from '../speech/history.js';
import type { ConversationState, HandoverState, ReplyState } from '../state.js';
import { isOpen } from '../turn/user-turn.js';
import { argumentOf, textArgument } from './call-arguments.js';

/**
 * Hand-over to another agent: it is prepared while the line goes on, and answers in the same reply. If that fails, the
 * agent so far answers, and is told why.
 */

/** The result of a call that came to nothing. */
export const FAILED = (reason: string): string => `The hand-over failed: ${reason}. The conversation is still yours.`;
/** Longest wait for an agent that is prepared. */
const PREPARE_MS = 6000;

/** The model hands the conversation over to another agent. */
export const handOver: FinalAction = {
  kind: 'final',
  name: 'hand_over',
  isEnabled: ({ handover }) => handover != null, // logs of older versions do not have it
  tool: ({ handover }) => (handover === null || handover.targets.length === 0 ? null : handOverTool(handover)),
  begin: (core, reply, call) => {
    const config = core.config.handover;
    const target = config === null ? null : targetNamed(config, call);
    const refused = config === null || target === null ? 'there is no such agent' : whyNot(core, config, target);
    if (target === null || refused !== null) {
      refuseCall(core, reply, call, refused ?? '');
      return;
    }
    const { agent, plan, messages, variables, announcement, mayReturn } = target;
    begin(core, reply, call, { agent, plan, messages, variables, announcement, mayReturn, back: false });
  },
  abandon,
};

/** The model hands the conversation back to the agent from whom it came. */
export const handBack: FinalAction = {
  kind: 'final',
  name: 'hand_back',
  isEnabled: (_, { handovers }) => returnTo(handovers) !== null,
  tool: (_, { state }) => handBackTool(returnTo(state.handovers)?.name ?? ''),
  begin: (core, reply, call) => {
    const agent = returnTo(core.state.handovers);
    if (agent === null || core.state.handover !== null) {
      refuseCall(core, reply, call, 'the conversation is being handed over already');
      return;
    }
    begin(core, reply, call, { ...WHOLE_CONTEXT, agent, announcement: null, mayReturn: false, back: true });
  },
};

/** A program hands the conversation over to an agent that is prepared. */
export function handOverByCommand(core: Core, { id, order, ...ready }: CommandOf<'command.handover'>): void {
  const why = whyNotByCommand(core);
  if (why !== null) {
    refuse(core, id, why);
    return;
  }
  open(core, id, 'other');
  releaseHold(core);
  const callId = `handover-${String(core.newId())}`;
  const entry = addAssistantMessage(core);
  const args = JSON.stringify({ agent: ready.agent.name });
  addToolCall(core, entry, { id: callId, name: handOver.name, arguments: args });
  const back = core.state.handovers.at(-1)?.returns[0]?.id === ready.agent.id && ready.agent.id !== null;
  core.state.handover = {
    ...order,
    agent: ready.agent,
    back,
    entry,
    callId,
    requestId: null,
    command: id ?? null,
    ready,
  };
  takeUp(core);
}

/** The agent is prepared. */
export function onHandoverReady(core: Core, callId: string, ready: NextAgent): void {
  const { handover } = core.state;
  if (handover?.callId !== callId || handover.ready !== null) return;
  handover.ready = ready;
  core.disarm('handover');
  takeUp(core);
}

export function onHandoverFailed(core: Core, callId: string, reason: string): void {
  if (core.state.handover?.callId === callId && core.state.handover.ready === null) fail(core, reason);
}

export function onHandoverDue(core: Core): void {
  const { handover } = core.state;
  if (handover === null) return;
  core.trace('handover.timeout');
  core.emit({ type: 'agent.prepare.cancel', callId: handover.callId });
  fail(core, `${handover.agent.name} was not there in time`);
}

/** A program does not want its hand-over any more. */
export function withdrawHandover(core: Core, id: number): void {
  const { handover } = core.state;
  if (handover?.command !== id) return;
  setToolResult(core, handover.entry, handover.callId, FAILED('it was called off'));
  core.state.handover = null;
  core.disarm('handover');
  refuse(core, id, 'withdrawn');
}

function begin(
  core: Core,
  reply: ReplyState,
  call: ToolCall,
  to: Pick<HandoverState, 'agent' | 'plan' | 'messages' | 'variables' | 'announcement' | 'mayReturn' | 'back'>,
): void {
  const entry = replyEntry(core, reply);
  reply.phase = 'tools';
  reply.acted = true;
  addToolCall(core, entry, call);
  dropSpeculation(core, 'a hand-over');
  const { requestId } = reply;
  const reason = textArgument(call.arguments, 'reason');
  const own = textArgument(call.arguments, 'summary');
  core.state.handover = { ...to, reason, entry, callId: call.id, requestId, command: null, ready: null };
  core.arm('handover', core.nowMs + PREPARE_MS);
  armFiller(core);
  core.emit({
    type: 'agent.prepare',
    callId: call.id,
    agent: to.agent,
    summary: to.plan === 'summary' ? (own ?? true) : false,
    variables: givenVariables(call, to.variables),
  });
}

/** The next agent speaks, as soon as no other answer is under way. */
export function takeUp(core: Core): void {
  const { handover, reply } = core.state;
  if (handover?.ready == null) return;
  if (handover.announcement !== null && isOpen(core) && !core.state.turn.waiting) return; // the user has the floor
  const isOwn = reply !== null && reply.phase === 'tools' && reply.requestId === handover.requestId;
  const isUnsaid = reply?.phase === 'thinking' && reply.asked === null;
  if (reply !== null && reply.phase !== 'done' && !isOwn && !isUnsaid) return; // it is said first
  becomeNextAgent(core);
  if (reply === null || reply.phase === 'done') return;
  // Who speaks is answered when their turn is over.
  if (isOpen(core) || core.isSilenced || core.state.hold !== null) {
    cancelReply(core);
    return;
  }
  if (mayBegin(core)) {
    const { turnText, turnNumber, userEntry } = reply;
    cancelReply(core);
    core.state.hasUnreportedResults = false; // the first step says what is due
    startSteps(core, { text: turnText, number: turnNumber, entry: userEntry, interrupts: false });
    return;
  }
  if (isUnsaid) core.emit({ type: 'llm.cancel', requestId: reply.requestId });
  reply.round = 0;
  nextRound(core, reply);
}

/** It has come to nothing: the agent so far answers. */
function fail(core: Core, reason: string): void {
  const { handover, reply } = core.state;
  if (handover === null) return;
  core.trace('handover.failed', { to: handover.agent.name, reason });
  setToolResult(core, handover.entry, handover.callId, FAILED(reason));
  core.state.handover = null;
  core.disarm('handover');
  core.state.hasUnreportedResults = true;
  if (reply?.phase !== 'tools' || reply.requestId !== handover.requestId) return;
  if (isOpen(core)) reply.phase = 'done';
  else nextRound(core, reply);
}

/** The call ends before. */
function abandon(core: Core): void {
  const { handover } = core.state;
  if (handover === null) return;
  setToolResult(core, handover.entry, handover.callId, FAILED('the call ended'));
  if (handover.ready === null) core.emit({ type: 'agent.prepare.cancel', callId: handover.callId });
  core.state.handover = null;
  core.disarm('handover');
}

function refuseCall(core: Core, reply: ReplyState, call: ToolCall, reason: string): void {
  const entry = replyEntry(core, reply);
  reply.phase = 'tools';
  addToolCall(core, entry, call);
  core.trace('handover.refused', { reason });
  setToolResult(core, entry, call.id, FAILED(reason));
  nextRound(core, reply);
}

function whyNot(core: Core, { maxHops }: HandoverConfig, { agent }: HandoverTarget): string | null {
  const { handover, handovers, turn } = core.state;
  if (handover !== null) return 'the conversation is being handed over already';
  const thisTurn = handovers.filter((one) => one.turn === turn.number);
  return whyNotTo(agent, { self: core.agent, hops: handovers.length, maxHops, thisTurn });
}

/**
 * Why the conversation must not go to an agent; null = it may. Each agent gets a turn of the user once: they do not pass
 * the user around.
 */
export function whyNotTo(
  agent: AgentRef,
  {
    self,
    hops,
    maxHops,
    thisTurn,
  }: { self: AgentRef; hops: number; maxHops: number; thisTurn: readonly { to: AgentRef }[] },
): string | null {
  if (agent.id === self.id) return 'you are that agent';
  if (hops >= maxHops) return 'the conversation has been handed over too often';
  const hadIt = thisTurn.some(({ to }) => to.id === agent.id);
  return hadIt ? `${agent.name} has had what the user said last, and has handed it on` : null;
}

function whyNotByCommand({ state, isTakenOver }: Core): CommandRefusal | null {
  const { ending, transfer, commanded, voicemail, handover } = state;
  if (ending !== null) return 'ending';
  if (transfer !== null || (commanded !== null && commanded.target !== null)) return 'transferring';
  if (voicemail?.phase === 'greeting' || voicemail?.phase === 'message') return 'machine';
  if (handover !== null) return 'handingOver';
  return isTakenOver ? 'takenOver' : null;
}

function returnTo(handovers: ConversationState['handovers']) {
  return handovers.at(-1)?.returns[0] ?? null;
}

/** By id or name; the only one if the call names none. */
export function targetNamed({ targets }: HandoverConfig, call: ToolCall): HandoverTarget | null {
  const wanted = textArgument(call.arguments, 'agent');
  if (wanted === null) return targets.length === 1 ? (targets[0] ?? null) : null;
  const name = wanted.toLowerCase();
  return (
    targets.find(({ agent }) => agent.id === wanted) ??
    targets.find(({ agent }) => agent.name.toLowerCase() === name) ??
    null
  );
}

/** The values that the model gives; null = it gives none. */
export function givenVariables(call: ToolCall, names: readonly string[]): Readonly<Record<string, string | null>> {
  const given = argumentOf(call.arguments, 'variables');
  const values = typeof given === 'object' && given !== null ? (given as Readonly<Record<string, unknown>>) : {};
  return Object.fromEntries(
    names.map((name) => {
      const value = Object.hasOwn(values, name) ? values[name] : null;
      return [name, value == null ? null : typeof value === 'string' ? value : JSON.stringify(value)];
    }),
  );
}

const REASON = { type: 'string', description: 'Why, and what the next agent should know, in one sentence.' };

export function handOverTool({ targets }: HandoverConfig): ToolSpec {
  const names = targets.map(({ agent }) => agent.name);
  const isPlain = new Set(names.map((name) => name.toLowerCase())).size === names.length;
  const called = ({ agent }: HandoverTarget): string => (isPlain ? agent.name : agent.id);
  const list = targets.map((target) => {
    const { when, announcement } = target;
    const told = announcement === null ? 'the user is not told, so do not mention it' : 'the user is told for you';
    return `${called(target)}${when === null ? '' : `: ${when}`} (${told})`;
  });
  const variables = [...new Set(targets.flatMap((target) => target.variables))];
  const isSummed = targets.some(({ plan }) => plan === 'summary');
  return {
    name: handOver.name,
    description: `Hands the conversation over to another agent, who goes on with the user in your place. ${list.join('; ')}.`,
    parameters: {
      type: 'object',
      properties: {
        agent: { type: 'string', enum: targets.map(called), description: 'Whom to hand over to.' },
        reason: REASON,
        ...(isSummed
          ? {
              summary: { type: 'string', description: 'The conversation so far in a few sentences: facts, not words.' },
            }
          : {}),
        ...(variables.length > 0
          ? {
              variables: {
                type: 'object',
                properties: Object.fromEntries(variables.map((name) => [name, { type: 'string' }])),
                additionalProperties: false,
                description: 'What you have learned; leave out what is not known.',
              },
            }
          : {}),
      },
      required: targets.length > 1 ? ['agent'] : undefined,
      additionalProperties: false,
    },
  };
}

export function handBackTool(name: string): ToolSpec {
  return {
    name: handBack.name,
    description:
      `Hands the conversation back to ${name}, from whom you have it, when your part is done or the user wants something ` +
      'that is not your subject.',
    parameters: { type: 'object', properties: { reason: REASON }, additionalProperties: false },
  };
}
