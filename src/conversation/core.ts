import type { ToolCall, ToolSpec } from '../agent/chat.js';
import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import type { ConversationEffect, PlayoutPosition } from './events.js';
import { isSpeakable } from './speech/sentences.js';
import type { ConversationState, DeadlineName, ReplyState } from './state.js';

export const NOT_PLAYING: PlayoutPosition = { utteranceId: null, heardChars: 0 };

interface ActionBase {
  /** The tool's name. No tool of an agent may have it. */
  readonly name: string;
  /** Whether a call of this name is the action's. Otherwise it is a tool's. */
  isEnabled(config: ConversationConfig): boolean;
  /** As the model is offered it; null = it is not. Asked only where the action is enabled. */
  tool(config: ConversationConfig): ToolSpec | null;
  /** Tells the model what the system prompt does not know yet; null = nothing. */
  promptNote?(core: Core): string | null;
  /** The agent falls silent for good, or for a message that cannot wait. */
  abandon?(core: Core): void;
}

/** Ends the agent's part. It begins only where the model makes no other calls in the round. */
export interface FinalAction extends ActionBase {
  readonly kind: 'final';
  begin(core: Core, reply: ReplyState, call: ToolCall): void;
}

/** Runs beside the agent's tools. */
export interface RunningAction extends ActionBase {
  readonly kind: 'running';
  /** It has the line to itself: it starts when all has been said, and nothing is said until it is done. */
  readonly takesLine: boolean;
  /** The model has asked for it. */
  onCall?(reply: ReplyState, call: ToolCall): void;
  /** Carries it out. */
  start(core: Core, call: ToolCall): void;
  /** The result of a call that is done or refused at once; null = a `tool.result` follows. */
  resultAtOnce(core: Core, call: ToolCall): string | null;
}

/** Something that the agent itself can do on the line, and that the model asks for as it asks for a tool. */
export type ConversationAction = FinalAction | RunningAction;

/** What a machine works with during one step: the state, the moment, and where its effects go. */
export class Core {
  readonly config: ConversationConfig;
  readonly state: ConversationState;
  readonly actions: readonly ConversationAction[];
  position: PlayoutPosition = NOT_PLAYING;
  effects: ConversationEffect[] = [];

  constructor(config: ConversationConfig, state: ConversationState, actions: readonly ConversationAction[]) {
    this.config = config;
    this.state = state;
    this.actions = actions;
  }

  get nowMs(): number {
    return this.state.nowMs;
  }

  /** What is spoken now. */
  get language(): string {
    return this.state.language ?? this.config.language;
  }

  /** The action that a call asks for; null = it is a tool's. */
  actionOf({ name }: ToolCall): ConversationAction | null {
    return this.actions.find((action) => action.name === name && action.isEnabled(this.config)) ?? null;
  }

  /** An action has the line to itself: the agent's own tones are on it. */
  get isLineTaken(): boolean {
    return this.state.tools.some(({ call, afterUtterance }) => {
      const action = this.actionOf(call);
      return afterUtterance === null && action?.kind === 'running' && action.takesLine;
    });
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

  /** One of several phrases, in turn, so that none comes twice running; null if there is none that can be spoken. */
  choose(list: string, phrases: readonly string[]): string | null {
    const speakable = [...new Set(phrases)].filter(isSpeakable);
    if (speakable.length === 0) return null;
    const count = this.state.rotation[list] ?? 0;
    this.state.rotation[list] = count + 1;
    return speakable[count % speakable.length] ?? null;
  }
}
