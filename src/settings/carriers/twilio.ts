import * as z from 'zod';
import { baseUrlSchema, setting } from '../../schema/field.js';

/** A Twilio account; agents can use its numbers. */
export const twilioSchema = z.strictObject({
  accountSid: setting(
    z
      .string()
      .regex(/^AC[0-9a-f]{32}$/i, 'Input should be an account SID: AC and 32 hexadecimal digits')
      .nullable(),
    'SID of the Twilio account, see [Twilio](twilio.md); its token is `twilioAuthToken`. Unset = no account.',
  ),
  machineDetection: setting(
    z.enum(['off', 'answer', 'greeting-end']),
    "Twilio's own answering machine detection, which Twilio charges for: `answer` reports who answered, `greeting-end` " +
      "also the end of a machine's greeting. The result is in the call's record; parley acts on its own detection.",
  ),
  apiUrl: setting(
    baseUrlSchema,
    "Base URL of Twilio's API; each region has its own (`https://api.dublin.ie1.twilio.com`).",
  ),
  pricingUrl: setting(baseUrlSchema, "Base URL of Twilio's pricing API."),
});

export type TwilioSettings = Required<z.infer<typeof twilioSchema>>;

export const DEFAULT_TWILIO: TwilioSettings = {
  accountSid: null,
  machineDetection: 'off',
  apiUrl: 'https://api.twilio.com',
  pricingUrl: 'https://pricing.twilio.com/v1',
};
