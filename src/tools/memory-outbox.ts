import type { Delivery, OutboxStore } from './outbox.js';

interface Kept {
  delivery: Delivery;
  dueUnixMs: number;
}

/** An in-memory outbox store; messages are lost when the process ends. */
export class MemoryOutboxStore implements OutboxStore {
  /** In insertion order. */
  readonly #open = new Map<string, Kept>();

  add(delivery: Delivery): void {
    this.#open.set(delivery.id, { delivery: { ...delivery }, dueUnixMs: delivery.createdUnixMs });
  }

  due(unixMs: number): Delivery[] {
    return this.#heads()
      .filter(({ dueUnixMs }) => dueUnixMs <= unixMs)
      .sort((a, b) => a.dueUnixMs - b.dueUnixMs)
      .map(({ delivery }) => ({ ...delivery }));
  }

  nextDueUnixMs(): number | null {
    const heads = this.#heads();
    return heads.length === 0 ? null : Math.min(...heads.map(({ dueUnixMs }) => dueUnixMs));
  }

  delivered(id: string): void {
    this.#open.delete(id);
  }

  failed(id: string, _reason: string, retryUnixMs: number | null): void {
    const kept = this.#open.get(id);
    if (kept === undefined) return;
    kept.delivery.attempts++;
    if (retryUnixMs === null) this.#open.delete(id);
    else kept.dueUnixMs = retryUnixMs;
  }

  /** The oldest message of each session. */
  #heads(): Kept[] {
    const heads = new Map<string, Kept>();
    for (const kept of this.#open.values()) {
      if (!heads.has(kept.delivery.sessionId)) heads.set(kept.delivery.sessionId, kept);
    }
    return [...heads.values()];
  }
}
