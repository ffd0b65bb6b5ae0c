import * as z from 'zod';
import { baseUrlSchema, setting } from '../../schema/setting.js';

/** An account with Twilio, whose numbers agents can have. */
export const twilioSchema = z.strictObject({
  accountSid: setting(
    z
      .string()
      .regex(/^AC[0-9a-f]{32}$/i, 'Input should be an account SID: AC and 32 hexadecimal digits')
      .nullable(),
    'Account with Twilio, see [Twilio](twilio.md); its token is `twilioAuthToken`. Unset = none.',
  ),
  machineDetection: setting(
    z.enum(['off', 'answer', 'greeting-end']),
    "Whether calls have Twilio's own answering machine detection as well, which is paid for: who answered, or that and " +
      "the end of a machine's greeting. It is in the call's record; parley decides by its own.",
  ),
  apiUrl: setting(
    baseUrlSchema,
    "Root of Twilio's API; its regions have others (`https://api.dublin.ie1.twilio.com`).",
  ),
  pricingUrl: setting(baseUrlSchema, 'Root of the API that tells what numbers cost.'),
});

export type TwilioSettings = Required<z.infer<typeof twilioSchema>>;

export const DEFAULT_TWILIO: TwilioSettings = {
  accountSid: null,
  machineDetection: 'off',
  apiUrl: 'https://api.twilio.com',
  pricingUrl: 'https://pricing.twilio.com/v1',
};
