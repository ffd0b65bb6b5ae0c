import * as z from 'zod';

/** What an endpoint answers that has nothing to tell. */
export const success = z.strictObject({ success: z.boolean() }).meta({ id: 'Success' });
