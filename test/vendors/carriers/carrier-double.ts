import type { FarStream } from './far-stream.js';
import type { Habits, Person } from './people.js';
import type { CarrierFaults } from './rest-faults.js';
import type { Sounding } from './sound-ticks.js';

/** A call, or a leg of one, at a carrier's side. */
export interface FarCall extends Sounding {
  /** The carrier's own. */
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly person: Person;
  /** Null while there is none. */
  readonly stream: FarStream | null;
  /** The far end hangs up. */
  hangUp(): void;
  /** The media socket breaks off: the network's fault. */
  breakSocket(): void;
}

/** What tests want of the double of a carrier. */
export interface CarrierDouble {
  readonly faults: CarrierFaults;
  /** By their numbers, as the latest call to each has them. */
  readonly people: ReadonlyMap<string, Person>;
  /** Requests that the carrier would refuse, and why. */
  readonly violations: readonly string[];
  /** Every request, its method and its path. */
  readonly requests: readonly string[];
  /** All calls so far. */
  farCalls(): FarCall[];
  /** Numbers of the account. */
  ownNumbers(): string[];
  /** Somebody calls a number of the account. */
  callIn(from: string, to: string, habits: Habits): FarCall;
}
