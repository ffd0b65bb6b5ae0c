import { randomUUID } from 'node:crypto';

/** What others know of a node: rows carry its id, requests go to its address. */
export interface NodeIdentity {
  /** New at each start, and after others have declared the node dead. */
  readonly id: string;
  /** Where other nodes reach it: scheme, authority and base path; '' = nowhere. */
  readonly address: string;
}

/** The identity of this process. */
export class ThisNode implements NodeIdentity {
  #id: string = randomUUID();
  address = '';

  get id(): string {
    return this.#id;
  }

  /** Takes another id. Rows with the earlier one belong to whoever has taken over. */
  become(id: string): void {
    this.#id = id;
  }
}
