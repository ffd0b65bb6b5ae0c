import { randomBytes } from 'node:crypto';
import type { SocketCarrierOptions } from './socket-carrier.js';
import type { Engine } from '../../../engine/engine.js';
import { ParleyError } from '../../../base/errors.js';

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Base URL of a carrier's webhooks and media sockets, without a trailing slash.
 * @param apiUrl of the carrier; only one on this machine can use an address without TLS, or a loopback address
 * @throws ParleyError CONFIG_INVALID without an address that the carrier can reach
 */
export function callbackRoot(publicUrl: string | null, carrier: string, apiUrl: string): string {
  if (publicUrl === null || !URL.canParse(publicUrl)) {
    throw new ParleyError('CONFIG_INVALID', {
      reason: `${carrier} needs the setting publicUrl: the public address of this daemon`,
    });
  }
  const { protocol, hostname } = new URL(publicUrl);
  if (!LOOPBACK.has(new URL(apiUrl).hostname)) {
    if (protocol !== 'https:') {
      throw new ParleyError('CONFIG_INVALID', {
        reason: `${carrier} opens media sockets only over TLS: publicUrl should begin with https://, not ${protocol}//`,
      });
    }
    if (LOOPBACK.has(hostname)) {
      throw new ParleyError('CONFIG_INVALID', {
        reason: `${carrier} cannot reach ${hostname}: publicUrl should be the public address of this daemon`,
      });
    }
  }
  return publicUrl.replace(/\/+$/, '');
}

/** The common options of carriers with an account. */
export interface CarrierAccount {
  engine: Engine;
  /** Public address of this process, or of several ones together. */
  publicUrl: string | null;
  /** Public address of this process alone, for media sockets. Default `publicUrl`. */
  ownPublicUrl?: string | null;
  /** What the tokens of calls begin with, so that others know whose they are. Default nothing. */
  tokenPrefix?: () => string;
  /** Initial own numbers among the account's numbers. */
  owned?: readonly string[];
  onError?: (error: unknown) => void;
  onRefused?: SocketCarrierOptions['onRefused'];
}

/** A resource to close. */
interface Closing {
  close(): Promise<void>;
}

const TOKEN_BYTES = 18;

/**
 * The common options of carriers with media sockets, on the engine's clock.
 * @param carrier its display name
 * @param apiUrl of its API
 * @throws ParleyError CONFIG_INVALID without an address that the carrier can reach
 */
export function accountOptions(
  {
    engine,
    publicUrl,
    ownPublicUrl = publicUrl,
    tokenPrefix = () => '',
    owned = [],
    onError,
    onRefused,
  }: CarrierAccount,
  carrier: string,
  apiUrl: string,
): SocketCarrierOptions & { publicUrl: string; mediaUrl: string } {
  return {
    clock: engine.clock,
    publicUrl: callbackRoot(publicUrl, carrier, apiUrl),
    mediaUrl: callbackRoot(ownPublicUrl ?? publicUrl, carrier, apiUrl),
    owned,
    token: () => `${tokenPrefix()}${randomBytes(TOKEN_BYTES).toString('base64url')}`,
    onError,
    onRefused,
  };
}

/** A carrier whose close also closes its connections. */
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
