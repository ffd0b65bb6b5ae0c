import type { FlowData, StepsConfig } from '../../agent/flow/steps.js';
import type { ExpectedAnswer } from '../../agent/expected-answer.js';
import type { ChatMessage, ToolCall } from '../../agent/chat.js';
import { setRecording } from '../control/recording.js';
import type { Core, RunningAction } from '../core.js';
import { phrasesFor } from '../language/phrases.js';
import * as speech from '../speech/agent-speech.js';
import { addAssistantMessage, lastSpoken } from '../speech/history.js';
import { type ConversationState, OPENING_TURN } from '../state.js';
import { CONFIRM_DATA, NEXT_STEP, SET_DATA } from './functions.js';
import { type StepPassed, Steps, type StepsHost, type StepsState } from './machine.js';

/** The steps of a flow in a spoken conversation. */

/** Functions that exist only in agents with a flow. */
export const STEP_FUNCTIONS: readonly string[] = [SET_DATA, CONFIRM_DATA, NEXT_STEP];
/** What the recogniser listens for. */
const EXPECTED: Readonly<Record<FlowData['type'], ExpectedAnswer | null>> = {
  text: null,
  name: 'name',
  number: 'number',
  date: 'date',
  time: 'time',
  email: 'letters',
  phone: 'digits',
  card: 'digits',
  yes_no: 'yes-no',
  choice: null,
};
/** Offered in every step: the law asks for it. */
export const ALWAYS: readonly string[] = ['do_not_call', 'hand_over', 'hand_back'];

/** The steps now; null = the agent has none, or they have not begun. */
export function stepsOf(core: Core): Steps | null {
  const { steps: config } = core.config;
  const { steps: state } = core.state;
  return config == null || state == null ? null : new Steps(config, state, hostOf(core));
}

/** Whether the agent has steps that have not begun. */
export function mayBegin(core: Core): boolean {
  return core.config.steps != null && core.state.steps == null;
}

/** Enters the first step, or continues where `earlier` messages have left the conversation. */
export function begin(core: Core): ReturnType<Steps['advance']> {
  const { steps: config } = core.config;
  if (config == null) return 'model';
  const restored = core.config.opening.resumes ? restoredSteps(config, core.config.earlier) : null;
  core.state.steps = restored ?? Steps.initialState(config);
  const steps = new Steps(config, core.state.steps, hostOf(core));
  if (restored !== null) return 'model';
  steps.begin();
  return steps.advance();
}

/** The steps of the agent of the beginning, to which the call belongs, whoever speaks in the end. */
export function firstPassed({ steps, handovers }: ConversationState): readonly StepPassed[] {
  const first = handovers[0]?.from.id;
  const isBack = handovers.at(-1)?.to.id === first; // also where nobody has handed over
  return (isBack ? steps : handovers.findLast(({ from }) => from.id === first)?.steps)?.passed ?? [];
}

/** What follows when all calls of a round have their results. */
export function follow(core: Core): ReturnType<Steps['advance']> {
  return stepsOf(core)?.advance() ?? 'model';
}

export function noteResult(core: Core, tool: string, ok: boolean, content: string): void {
  stepsOf(core)?.noteResult(tool, ok, content);
}

/** Names of the tools that a request may use; null = all. */
export function allowedTools(core: Core, only: readonly string[] | undefined): readonly string[] | null {
  const names = stepsOf(core)?.toolNames ?? null;
  if (names === null) return only ?? null;
  const own = [...names, ...ALWAYS];
  return only === undefined ? own : own.filter((name) => only.includes(name));
}

/** After every event: nothing is recorded while a card number is said, and a step that hangs up does so in the end. */
export function settle(core: Core): void {
  const { state } = core;
  const steps = stepsOf(core);
  if (steps === null || state.steps == null) return;
  const { asks } = steps;
  state.steps.expects = asks === null ? null : EXPECTED[asks];
  const isSecret = steps.asksForCard;
  if (isSecret && !state.recordingPaused) {
    setRecording(core, false);
    state.steps.paused = true;
  } else if (!isSecret && state.steps.paused) {
    setRecording(core, true);
    state.steps.paused = false;
  }
  const { ending, commanded, transfer, reply, line } = state;
  const isIdle = line === 'open' && ending === null && commanded === null && transfer === null;
  if (steps.step.end?.action !== 'hang_up' || !isIdle || state.tools.length > 0) return;
  if (reply === null || reply.phase === 'done') state.commanded = { target: null };
}

/** The state after the calls that the messages hold; null = they hold none. */
export function restoredSteps(config: StepsConfig, messages: readonly ChatMessage[]): StepsState | null {
  const state = Steps.initialState(config);
  const host: StepsHost = {
    nowMs: 0,
    say: () => undefined,
    readBack: (value) => value,
    lastWords: () => '',
    onEntered: () => undefined,
    onEnd: () => undefined,
  };
  const steps = new Steps(config, state, host);
  steps.begin();
  steps.advance();
  let hasCalls = false;
  let open: ToolCall[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') open = [...(message.toolCalls ?? [])];
    if (message.role !== 'tool') continue;
    const call = open.find(({ id }) => id === message.toolCallId);
    open = open.filter((one) => one !== call);
    if (call === undefined) continue;
    if (STEP_FUNCTIONS.includes(call.name)) {
      hasCalls = true;
      steps.take(call.name, call.arguments);
    } else steps.noteResult(call.name, readsAsSuccess(message.content), message.content);
    if (open.length === 0) steps.advance();
  }
  return hasCalls ? state : null;
}

/** A result of which only the text is known. */
function readsAsSuccess(content: string): boolean {
  return !/^(?:The tool (?:failed|gave no answer)|There is no tool|HTTP [45]\d\d)/.test(content);
}

function hostOf(core: Core): StepsHost {
  const { config, state } = core;
  return {
    nowMs: core.nowMs,
    say: (text, whole) => {
      const { reply } = state;
      core.disarm('filler');
      if (reply !== null) reply.entry ??= addAssistantMessage(core);
      const isOpening = reply === null ? state.history.length === 0 : reply.turnNumber === OPENING_TURN;
      const { allowed, openingAllowed } = config.interruption;
      const interruptible = !whole && allowed && (openingAllowed || !isOpening);
      // An announcement that was not heard is said again.
      const kind = isOpening ? 'opening' : whole ? 'announcement' : 'reply';
      const options = { kind, interruptible, whole } as const;
      speech.say(core, text, reply?.entry == null ? options : { ...options, entry: reply.entry });
    },
    readBack: (value) => phrasesFor(core.language).readBack.replaceAll('{value}', value),
    lastWords: () => lastSpoken(core),
    onEntered: ({ step }) => core.trace('step', { step }),
    onEnd: ({ action, phone, summary }) => {
      if (action === 'hang_up') state.commanded = { target: null };
      else if (phone != null) state.commanded = { target: phone, own: true, summary: summary ?? null };
    },
  };
}

/** The functions with which the model follows the steps. */
function stepFunction(name: string, promptNote?: RunningAction['promptNote']): RunningAction {
  return {
    kind: 'running',
    name,
    takesLine: false,
    isEnabled: ({ steps }) => steps != null, // logs of older versions do not have it
    tool: (_config, core) =>
      stepsOf(core)
        ?.specs()
        .find((spec) => spec.name === name) ?? null,
    ...(promptNote === undefined ? {} : { promptNote }),
    start: () => undefined,
    resultAtOnce: (core, call) => stepsOf(core)?.take(name, call.arguments) ?? 'Nothing to do.',
  };
}

export const setData = stepFunction(SET_DATA, (core) => stepsOf(core)?.prompt() ?? null);
export const confirmData = stepFunction(CONFIRM_DATA);
export const nextStep = stepFunction(NEXT_STEP);
