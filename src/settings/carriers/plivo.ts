import * as z from 'zod';
import { baseUrlSchema, setting } from '../../schema/setting.js';

/** An account with Plivo, whose numbers agents can have. */
export const plivoSchema = z.strictObject({
  authId: setting(
    z
      .string()
      .regex(/^[MS]A[A-Z0-9]{18}$/, 'Input should be an Auth ID: MA or SA and 18 capital letters and digits')
      .nullable(),
    'Account with Plivo, see [Plivo](plivo.md); its token is `plivoAuthToken`. Unset = none.',
  ),
  machineDetection: setting(
    z.enum(['off', 'answer']),
    "Whether calls have Plivo's own answering machine detection as well, which is paid for: it tells of a machine. It is " +
      "in the call's record; parley decides by its own.",
  ),
  apiUrl: setting(baseUrlSchema, "Root of Plivo's API."),
});

export type PlivoSettings = Required<z.infer<typeof plivoSchema>>;

export const DEFAULT_PLIVO: PlivoSettings = {
  authId: null,
  machineDetection: 'off',
  apiUrl: 'https://api.plivo.com',
};
