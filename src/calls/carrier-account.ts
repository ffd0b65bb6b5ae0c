import { randomBytes } from 'node:crypto';
import type { SocketCarrierOptions } from '../carriers/media-socket/socket-carrier.js';
import type { Engine } from '../engine/engine.js';
import { callbackRoot } from './callback-root.js';

/** What the carrier of an account is made of, whichever it is. */
export interface CarrierAccount {
  engine: Engine;
  /** Where the carrier reaches this process. */
  publicUrl: string | null;
  /** Of the account's numbers, the ones that are ours from the start. */
  owned?: readonly string[];
  onError?: (error: unknown) => void;
}

/** What is to be closed in the end. */
interface Closing {
  close(): Promise<void>;
}

const TOKEN_BYTES = 18;

/**
 * The options that carriers with media sockets have in common, on the engine's clock.
 * @param carrier its name, for people
 * @param apiUrl of its API
 * @throws ParleyError CONFIG_INVALID where there is no address that the carrier could reach
 */
export function accountOptions(
  { engine, publicUrl, owned = [], onError }: CarrierAccount,
  carrier: string,
  apiUrl: string,
): SocketCarrierOptions & { publicUrl: string } {
  return {
    ...{ clock: engine.clock, publicUrl: callbackRoot(publicUrl, carrier, apiUrl), owned },
    token: () => randomBytes(TOKEN_BYTES).toString('base64url'),
    ...(onError !== undefined && { onError }),
  };
}

/** A carrier, and what closes it and then its connections. */
export function closingAll<C extends Closing>(
  carrier: C,
  ...apis: Closing[]
): { carrier: C; close: () => Promise<void> } {
  const close = async (): Promise<void> => {
    await carrier.close();
    await Promise.all(apis.map((api) => api.close()));
  };
  return { carrier, close };
}
