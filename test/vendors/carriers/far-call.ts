import type { FarStream } from './far-stream.js';
import type { Person } from './people.js';
import type { Sounding } from './sound-ticks.js';

export interface FarCallFacts {
  /** The carrier's own. */
  id: string;
  from: string;
  to: string;
  person: Person;
}

/** A call, or a leg of one, at a carrier's side. */
export abstract class FarCall<F extends FarCallFacts = FarCallFacts> implements Sounding {
  readonly facts: F;
  /** What a caller hears who is refused. */
  refusal: 'busy' | 'rejected' | null = null;
  /** Null while there is none. */
  abstract stream: FarStream | null;
  readonly #onOver: (() => void)[] = [];

  constructor(facts: F) {
    this.facts = facts;
  }

  abstract get isOver(): boolean;

  get id(): string {
    return this.facts.id;
  }

  get from(): string {
    return this.facts.from;
  }

  get to(): string {
    return this.facts.to;
  }

  get person(): Person {
    return this.facts.person;
  }

  /** 20 ms pass. */
  abstract tick(): void;
  /** The far end hangs up. */
  abstract hangUp(): void;
  /** The media socket breaks off: the network's fault. */
  abstract breakSocket(): void;
  /** The connection dies, of which our end does not learn; the carrier goes on without that stream. */
  abstract loseSocket(): void;

  onOver(listener: () => void): void {
    this.#onOver.push(listener);
  }

  protected tellOver(): void {
    for (const tell of this.#onOver.splice(0)) tell();
  }
}
