/** What one session with a user established. */
export interface Memory {
  /** Whose it is; agents do not see each other's. */
  agentId: string;
  /** The value of the agent's `memory.user_identifier_key`. */
  user: string;
  sessionId: string;
  text: string;
  /** When the session ended, in milliseconds since 1970. */
  unixMs: number;
}

/** Where memories are kept. The daemon's is in SQLite. */
export interface MemoryStore {
  /** The latest ones, newest first. */
  recall(agentId: string, user: string, limit: number): Promise<readonly Memory[]>;
  /** Another memory of the same session takes the place of the first. */
  keep(memory: Memory): Promise<void>;
}

/** Where a session leaves what it established. */
export interface MemoryKeeper {
  keep(text: string): Promise<void>;
}

/** Keeps memories as long as the process lives. */
export class InProcessMemories implements MemoryStore {
  #memories: Memory[] = [];

  async recall(agentId: string, user: string, limit: number): Promise<readonly Memory[]> {
    return this.#memories
      .filter((it) => it.agentId === agentId && it.user === user)
      .slice(-limit)
      .toReversed();
  }

  async keep(memory: Memory): Promise<void> {
    this.#memories = [...this.#memories.filter(({ sessionId }) => sessionId !== memory.sessionId), memory];
  }
}
