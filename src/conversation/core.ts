import type { ConversationConfig } from './config.js';
import type { ConversationEffect, PlayoutPosition } from './events.js';
import type { ConversationState, DeadlineName } from './state.js';

/** What a machine works with during one step: the state, the moment, and where its effects go. */
export class Core {
  readonly config: ConversationConfig;
  readonly state: ConversationState;
  nowMs = 0;
  position: PlayoutPosition = { utteranceId: null, heardChars: 0 };
  effects: ConversationEffect[] = [];

  constructor(config: ConversationConfig, state: ConversationState) {
    this.config = config;
    this.state = state;
  }

  emit(effect: ConversationEffect): void {
    this.effects.push(effect);
  }

  trace(name: string, data: Readonly<Record<string, string | number | boolean | null>> = {}): void {
    this.emit({ type: 'trace', name, data });
  }

  /** Sets or moves a deadline. */
  arm(name: DeadlineName, atMs: number): void {
    this.state.deadlines[name] = atMs;
  }

  disarm(...names: DeadlineName[]): void {
    for (const name of names) delete this.state.deadlines[name];
  }

  newId(): number {
    return this.state.nextId++;
  }
}
