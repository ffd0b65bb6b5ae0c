import type { ConfigChanges, ConversationConfig } from '../../../agent/flow/conversation-config.js';
import type { Replayed } from '../../../replay/replay.js';
import type { WhatIf } from '../../../replay/what-if.js';

/** Requests to the worker: first the log, once, then changed settings. */
export type ReplayRequest = { type: 'log'; text: string } | { type: 'changes'; id: number; changes: ConfigChanges };

/** The worker's answers; a fault is for people. */
export type ReplayAnswer =
  | { type: 'ready'; config: ConversationConfig; again: Replayed }
  | { type: 'played'; id: number; result: WhatIf }
  | { type: 'fault'; id: number | null; message: string };
