import { randomBytes } from 'node:crypto';
import type { TelnyxCarrier } from '../carriers/telnyx/carrier.js';
import type { TelnyxSettings } from '../config/telnyx-settings.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError } from '../errors.js';
import { callbackRoot } from './callback-root.js';

export interface TelnyxCarrierParts {
  engine: Engine;
  settings: TelnyxSettings;
  apiKey: string | null;
  /** Where Telnyx reaches this process. */
  publicUrl: string | null;
  /** The time of day, in milliseconds since 1970. */
  unixMs: () => number;
  /** Of the account's numbers, the ones that are ours from the start. */
  owned?: readonly string[];
  onError?: (error: unknown) => void;
}

const TOKEN_BYTES = 18;
const DETECTION = { off: null, answer: 'detect', 'greeting-end': 'greeting_end', premium: 'premium' } as const;

/**
 * The carrier of an account with Telnyx, on an engine's clock. Its `request` and `admit` want a web server; the daemon
 * has one.
 * @throws ParleyError CONFIG_INVALID
 */
export async function telnyxCarrier(
  parts: TelnyxCarrierParts,
): Promise<{ carrier: TelnyxCarrier; close: () => Promise<void> }> {
  const { engine, settings, apiKey, unixMs, owned = [], onError } = parts;
  const { connectionId, publicKey, codec, machineDetection } = settings;
  const publicUrl = callbackRoot(parts.publicUrl, 'Telnyx');
  if (connectionId === null || publicKey === null || apiKey === null) {
    const reason = 'Telnyx needs telnyx.connectionId, telnyx.publicKey and telnyxApiKey (PARLEY_TELNYX_API_KEY)';
    throw new ParleyError('CONFIG_INVALID', { reason });
  }
  // Loaded late: who has no account does not wait for it.
  const [{ TelnyxCarrier }, { openRest }] = await Promise.all([
    import('../carriers/telnyx/carrier.js'),
    import('../carriers/media-socket/rest.js'),
  ]);
  const headers = { authorization: `Bearer ${apiKey}` };
  const api = openRest({ carrier: 'telnyx', baseUrl: settings.apiUrl, headers });
  const carrier = new TelnyxCarrier({
    ...{ clock: engine.clock, unixMs, publicKey, connectionId, publicUrl, owned, codec, rest: api.rest },
    machineDetection: DETECTION[machineDetection],
    token: () => randomBytes(TOKEN_BYTES).toString('base64url'),
    ...(onError !== undefined && { onError }),
  });
  const close = async (): Promise<void> => {
    await carrier.close();
    await api.close();
  };
  return { carrier, close };
}
