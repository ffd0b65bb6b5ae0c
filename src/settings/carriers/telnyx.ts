import * as z from 'zod';
import { baseUrlSchema, setting } from '../../schema/setting.js';

/** An account with Telnyx, whose numbers agents can have. */
export const telnyxSchema = z.strictObject({
  connectionId: setting(
    z
      .string()
      .regex(/^\d{1,30}$/, 'Input should be the id of a Voice API application: digits')
      .nullable(),
    'Voice API application that calls go through, see [Telnyx](telnyx.md); the key is `telnyxApiKey`. Unset = none.',
  ),
  publicKey: setting(
    z
      .string()
      .regex(/^[A-Za-z0-9+/]{43}=$/, 'Input should be a public key: 44 characters of base64')
      .nullable(),
    "The account's public key, which webhooks are proven by.",
  ),
  codec: setting(
    z.enum(['PCMU', 'PCMA', 'L16']),
    'How sound goes over the media socket: as a telephone has it (PCMU in America and Japan, PCMA elsewhere), or at 16 ' +
      'kHz (L16), which only calls with a wider band gain by.',
  ),
  machineDetection: setting(
    z.enum(['off', 'answer', 'greeting-end', 'premium']),
    "Whether calls have Telnyx's own answering machine detection as well, which is paid for: who answered, that and the " +
      "end of a machine's greeting, or both by its better one. It is in the call's record; parley decides by its own.",
  ),
  apiUrl: setting(baseUrlSchema, "Root of Telnyx's API."),
});

export type TelnyxSettings = Required<z.infer<typeof telnyxSchema>>;

export const DEFAULT_TELNYX: TelnyxSettings = {
  connectionId: null,
  publicKey: null,
  codec: 'PCMU',
  machineDetection: 'off',
  apiUrl: 'https://api.telnyx.com/v2',
};
