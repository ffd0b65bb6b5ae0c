import type { ToolCall, ToolSpec } from '../agent/chat.js';
import { type AgentRef, UNNAMED_AGENT } from '../agent/flow/handover.js';
import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import type { AgentSettings } from './control/command.js';
import type { ConversationEffect, PlayoutPosition } from './events.js';
import { isSpeakable } from './speech/sentences.js';
import { type ConversationState, type DeadlineName, isTakenOver, isTalkedOver, type ReplyState } from './state.js';

export const NOT_PLAYING: PlayoutPosition = { utteranceId: null, heardChars: 0 };

interface ActionBase {
  /** The tool's name, reserved: agents cannot use it for their own tools. */
  readonly name: string;
  /** Whether a call of this name belongs to the action. Otherwise it belongs to one of the agent's tools. */
  isEnabled(config: ConversationConfig, state: ConversationState): boolean;
  /** The tool as the model sees it; null = not available. Called only if the action is enabled. */
  tool(config: ConversationConfig, core: Core): ToolSpec | null;
  /** Information for the model that is not in the system prompt yet; null = none. */
  promptNote?(core: Core): string | null;
  /** The agent stops speaking for good, or for an urgent message. */
  abandon?(core: Core): void;
}

/** Ends the agent's part. It starts only if the model makes no other calls in the round. */
export interface FinalAction extends ActionBase {
  readonly kind: 'final';
  begin(core: Core, reply: ReplyState, call: ToolCall): void;
}

/** Runs in parallel with the agent's tools. */
export interface RunningAction extends ActionBase {
  readonly kind: 'running';
  /**
   * Uses the line exclusively: it starts when all queued speech has been heard, and the agent is silent until it is
   * done.
   */
  readonly takesLine: boolean;
  /** Called when the model requests the action. */
  onCall?(reply: ReplyState, call: ToolCall): void;
  start(core: Core, call: ToolCall): void;
  /** The result of a call that completes or is refused at once; null = a `tool.result` follows. */
  resultAtOnce(core: Core, call: ToolCall): string | null;
}

/** A built-in action of the agent on the line, which the model calls like a tool. */
export type ConversationAction = FinalAction | RunningAction;

/** What a machine gets for one step: the state, the current time, and a place for effects. */
export class Core {
  /** The settings now. */
  config: ConversationConfig;
  /** Those of the beginning. */
  readonly first: ConversationConfig;
  readonly state: ConversationState;
  readonly actions: readonly ConversationAction[];
  position: PlayoutPosition = NOT_PLAYING;
  effects: ConversationEffect[] = [];

  constructor(config: ConversationConfig, state: ConversationState, actions: readonly ConversationAction[]) {
    const own = state.agentConfig ?? config;
    this.first = config;
    this.config = { ...own, ...changed(own, state.settings) };
    this.state = state;
    this.actions = actions;
  }

  /** Other settings from now on. */
  change(settings: AgentSettings): void {
    this.state.settings = { ...this.state.settings, ...settings };
    this.config = { ...this.config, ...changed(this.config, settings) };
    if (settings.steps !== undefined) this.state.steps = null; // another flow begins at its start
  }

  /** Another agent from now on. */
  become(config: ConversationConfig): void {
    this.state.agentConfig = config;
    this.state.settings = {};
    if (this.state.steps?.paused === true) {
      // The step that asked for a card is over.
      this.state.recordingPaused = false;
      this.emit({ type: 'recording.pause', on: false });
    }
    this.state.steps = null;
    this.state.language = null;
    this.config = config;
  }

  /** Who speaks now. */
  get agent(): AgentRef {
    return this.state.handovers.at(-1)?.to ?? this.first.agent ?? UNNAMED_AGENT;
  }

  get nowMs(): number {
    return this.state.nowMs;
  }

  /** The language spoken now. */
  get language(): string {
    return this.state.language ?? this.config.language;
  }

  /** The built-in action of a call; null = the call is for one of the agent's tools. */
  actionOf({ name }: ToolCall): ConversationAction | null {
    return this.actions.find((action) => action.name === name && action.isEnabled(this.config, this.state)) ?? null;
  }

  /** An action uses the line exclusively: the agent's own tones are on it. */
  get isLineTaken(): boolean {
    if (this.state.press?.callId != null) return true;
    return this.state.tools.some(({ call, afterUtterance }) => {
      const action = this.actionOf(call);
      return afterUtterance === null && action?.kind === 'running' && action.takesLine;
    });
  }

  get isTakenOver(): boolean {
    return isTakenOver(this.state);
  }

  get isTalkedOver(): boolean {
    return isTalkedOver(this.state);
  }

  /** The agent says nothing and asks no model: a program has muted it, or a participant has taken over. */
  get isSilenced(): boolean {
    return this.state.muted.agent || this.isTakenOver;
  }

  emit(effect: ConversationEffect): void {
    this.effects.push(effect);
  }

  trace(name: string, data: Readonly<Record<string, string | number | boolean | null>> = {}): void {
    this.emit({ type: 'trace', name, data });
  }

  /** The earliest deadline, null if none is set. */
  get nextDeadline(): DeadlineName | null {
    const { deadlines } = this.state;
    let next: DeadlineName | null = null;
    let nextMs = Infinity;
    for (const name in deadlines) {
      const atMs = deadlines[name as DeadlineName];
      if (atMs === null || atMs >= nextMs) continue;
      next = name as DeadlineName;
      nextMs = atMs;
    }
    return next;
  }

  /** Sets or moves a deadline. */
  arm(name: DeadlineName, atMs: number): void {
    this.state.deadlines[name] = atMs;
  }

  disarm(...names: DeadlineName[]): void {
    for (const name of names) this.state.deadlines[name] = null;
  }

  newId(): number {
    return this.state.nextId++;
  }

  /** One of several phrases, in rotation, so that none repeats twice in a row; null if none can be spoken. */
  choose(list: string, phrases: readonly string[]): string | null {
    const speakable = [...new Set(phrases)].filter(isSpeakable);
    if (speakable.length === 0) return null;
    const count = this.state.rotation[list] ?? 0;
    this.state.rotation[list] = count + 1;
    return speakable[count % speakable.length] ?? null;
  }
}

function changed(config: ConversationConfig, { systemPrompt, toolSpeech, toolMs, steps }: AgentSettings) {
  return {
    systemPrompt: systemPrompt ?? config.systemPrompt,
    toolSpeech: toolSpeech ?? config.toolSpeech,
    steps: steps === undefined ? config.steps : steps,
    deadlines: { ...config.deadlines, toolMs: toolMs ?? config.deadlines.toolMs },
  };
}
