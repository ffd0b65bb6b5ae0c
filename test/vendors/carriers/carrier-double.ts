import type { FarCall } from './far-call.js';
import type { Habits, Person } from './people.js';
import type { CarrierFaults } from './rest-faults.js';

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
