import * as z from 'zod';
import { baseUrlSchema, setting } from '../../schema/field.js';

/** A Plivo account; agents can use its numbers. */
export const plivoSchema = z.strictObject({
  authId: setting(
    z
      .string()
      .regex(/^[MS]A[A-Z0-9]{18}$/, 'Input should be an Auth ID: MA or SA and 18 capital letters and digits')
      .nullable(),
    'Auth ID of the Plivo account, see [Plivo](plivo.md); its token is `plivoAuthToken`. Unset = no account.',
  ),
  machineDetection: setting(
    z.enum(['off', 'answer']),
    "Plivo's own answering machine detection, which Plivo charges for: `answer` reports whether a machine answered. The " +
      "result is in the call's record; parley acts on its own detection.",
  ),
  apiUrl: setting(baseUrlSchema, "Base URL of Plivo's API."),
});

export type PlivoSettings = Required<z.infer<typeof plivoSchema>>;

export const DEFAULT_PLIVO: PlivoSettings = {
  authId: null,
  machineDetection: 'off',
  apiUrl: 'https://api.plivo.com',
};
