import * as z from 'zod';
import { baseUrlSchema, setting } from '../../schema/field.js';

/** A Telnyx account; agents can use its numbers. */
export const telnyxSchema = z.strictObject({
  connectionId: setting(
    z
      .string()
      .regex(/^\d{1,30}$/, 'Input should be the id of a Voice API application: digits')
      .nullable(),
    'Id of the Voice API application for calls, see [Telnyx](telnyx.md); the key is `telnyxApiKey`. Unset = no account.',
  ),
  publicKey: setting(
    z
      .string()
      .regex(/^[A-Za-z0-9+/]{43}=$/, 'Input should be a public key: 44 characters of base64')
      .nullable(),
    "The account's public key, which verifies webhooks.",
  ),
  codec: setting(
    z.enum(['PCMU', 'PCMA', 'L16']),
    'Codec on the media socket: PCMU (North America and Japan) or PCMA (other regions) at 8 kHz, or L16 at 16 kHz, which ' +
      'improves wideband calls only.',
  ),
  machineDetection: setting(
    z.enum(['off', 'answer', 'greeting-end', 'premium']),
    "Telnyx's own answering machine detection, which Telnyx charges for: `answer` reports who answered, `greeting-end` " +
      "also the end of a machine's greeting, `premium` both with better accuracy. The result is in the call's record; " +
      'parley acts on its own detection.',
  ),
  apiUrl: setting(baseUrlSchema, "Base URL of Telnyx's API."),
});

export type TelnyxSettings = Required<z.infer<typeof telnyxSchema>>;

export const DEFAULT_TELNYX: TelnyxSettings = {
  connectionId: null,
  publicKey: null,
  codec: 'PCMU',
  machineDetection: 'off',
  apiUrl: 'https://api.telnyx.com/v2',
};
