import { randomBytes } from 'node:crypto';
import type { PlivoCarrier } from '../carriers/plivo/carrier.js';
import type { PlivoSettings } from '../config/plivo-settings.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError } from '../errors.js';
import { callbackRoot } from './callback-root.js';

export interface PlivoCarrierParts {
  engine: Engine;
  settings: PlivoSettings;
  authToken: string | null;
  /** Where Plivo reaches this process. */
  publicUrl: string | null;
  /** Of the account's numbers, the ones that are ours from the start. */
  owned?: readonly string[];
  onError?: (error: unknown) => void;
}

const TOKEN_BYTES = 18;

/**
 * The carrier of an account with Plivo, on an engine's clock. Its `request` and `admit` want a web server; the daemon has
 * one.
 * @throws ParleyError CONFIG_INVALID
 */
export async function plivoCarrier(
  parts: PlivoCarrierParts,
): Promise<{ carrier: PlivoCarrier; close: () => Promise<void> }> {
  const { engine, settings, authToken, owned = [], onError } = parts;
  const { authId, machineDetection } = settings;
  const publicUrl = callbackRoot(parts.publicUrl, 'Plivo');
  if (authId === null || authToken === null) {
    throw new ParleyError('CONFIG_INVALID', { reason: 'Plivo needs both plivo.authId and plivoAuthToken' });
  }
  // Loaded late: who has no account does not wait for it.
  const [{ PlivoCarrier }, { openRest }] = await Promise.all([
    import('../carriers/plivo/carrier.js'),
    import('../carriers/media-socket/rest.js'),
  ]);
  const authorization = `Basic ${Buffer.from(`${authId}:${authToken}`).toString('base64')}`;
  const api = openRest({ carrier: 'plivo', baseUrl: settings.apiUrl, headers: { authorization } });
  const carrier = new PlivoCarrier({
    ...{ clock: engine.clock, authId, authToken, publicUrl, owned, rest: api.rest },
    detectsMachines: machineDetection === 'answer',
    token: () => randomBytes(TOKEN_BYTES).toString('base64url'),
    ...(onError !== undefined && { onError }),
  });
  const close = async (): Promise<void> => {
    await carrier.close();
    await api.close();
  };
  return { carrier, close };
}
