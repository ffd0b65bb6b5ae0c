import * as z from 'zod';
import { argumentsSchema } from './expectation-schema.js';

const reply = {
  result: z.unknown().optional().describe('What the model gets: text, or a value to send as JSON.'),
  error: z.string().min(1).max(2000).optional().describe('The call fails with this text.'),
  delay_ms: z.number().min(0).max(120_000).optional().describe('How long it takes. Default 100.'),
};

/** What stands in for a tool: one reply, or replies in sequence (the last one repeats). */
export const toolMockSchema = z.union([
  z.strictObject({
    ...reply,
    when: argumentsSchema.optional().describe('Only for calls with such arguments; others fail, and fail the case.'),
  }),
  z.strictObject({
    sequence: z
      .array(z.strictObject({ ...reply, when: argumentsSchema.optional() }))
      .min(1)
      .max(100)
      .describe('Replies to the first, second … call. With `when`: the first reply whose arguments match.'),
  }),
  z.strictObject({ real: z.literal(true) }).describe('Calls the real tool.'),
]);

export type ToolMock = z.infer<typeof toolMockSchema>;
export type MockReply = Extract<ToolMock, { sequence: unknown }>['sequence'][number];
