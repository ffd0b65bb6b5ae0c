import * as z from 'zod';
import { pattern } from './caller-schema.js';

const limit = z.number().min(0);
const range = { min: limit.optional(), max: limit.optional() };

/** A condition on one value. A plain value has to be equal: texts without regard to case, numbers also as words. */
const matcher = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.null(),
  z.strictObject({
    equals: z.unknown().optional(),
    contains: z.string().optional(),
    matches: z.string().optional().describe('A regular expression, without slashes.'),
    one_of: z.array(z.unknown()).min(1).optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    exists: z.boolean().optional().describe('true: any value; false: the argument is missing.'),
  }),
]);

/** Conditions by argument name; arguments without one are free. */
export const argumentsSchema = z.record(z.string(), matcher);

const call = z.strictObject({
  name: z.string().min(1),
  arguments: argumentsSchema.optional(),
  times: z.number().int().min(1).max(100).optional().describe('How often exactly. Default at least once.'),
  ok: z.boolean().optional().describe('Whether the call succeeds. Default either.'),
});

/** One expectation: an object with one key that names it. */
export const expectationSchema = z.union([
  z.strictObject({ tool_called: z.union([z.string().min(1), call]) }).describe('The agent calls this tool.'),
  z
    .strictObject({ tool_not_called: z.union([z.string().min(1), call.omit({ times: true })]) })
    .describe('The agent never calls this tool (with such arguments).'),
  z.strictObject({ tools_called: z.array(z.string().min(1)) }).describe('Exactly these tools, in this order.'),
  z.strictObject({ said: pattern }).describe('The agent says this, as far as it is heard.'),
  z.strictObject({ not_said: pattern }).describe('The agent never says this.'),
  z
    .strictObject({
      said_like: z.strictObject({ text: z.string().min(1), at_least: z.number().min(0).max(1).optional() }),
    })
    .describe('The agent says something of this meaning: cosine similarity of embeddings, default at least 0.7.'),
  z.strictObject({ understood: pattern }).describe('The agent understands this of the caller.'),
  z
    .strictObject({ facts: z.union([z.array(z.string().min(1)).min(1), argumentsSchema]) })
    .describe(
      'Values that the agent has established, by name, in arguments of successful tool calls (during and after the call). A list names facts of the persona.',
    ),
  z
    .strictObject({
      ends: z.strictObject({
        status: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
        by: z.enum(['agent', 'caller', 'limit']).optional(),
        within_s: limit.optional(),
      }),
    })
    .describe('How and when the call ends.'),
  z
    .strictObject({ transferred: z.union([z.string().min(1), z.literal(false)]) })
    .describe('To whom the call is transferred; false: to nobody.'),
  z.strictObject({ pressed: z.string().min(1) }).describe('Keys that the agent presses.'),
  z.strictObject({ turns: z.strictObject(range) }).describe('Number of turns of the caller.'),
  z
    .strictObject({ talk_ratio: z.strictObject(range) })
    .describe("The agent's share of all speech, 0 to 1 (voice: time, text: words)."),
  z
    .strictObject({
      response_time: z.strictObject({ p50_ms: limit.optional(), p95_ms: limit.optional(), max_ms: limit.optional() }),
    })
    .describe("From the end of the caller's turn to the agent's voice, at most."),
  z
    .strictObject({ cut_offs: z.strictObject({ max: limit }) })
    .describe('Turns of the caller that the agent speaks into.'),
  z.strictObject({ dead_air: z.strictObject({ max_ms: limit }) }).describe('Longest silence of both sides.'),
  z
    .strictObject({ faults: z.strictObject({ max: limit }) })
    .describe('Faults of the session, such as a provider that fails.'),
  z.strictObject({ language: z.string().min(2) }).describe('The language that the agent speaks at the end.'),
  z
    .strictObject({
      judge: z.strictObject({
        rubric: z.string().min(1).max(10_000).describe('What has to be true of the conversation.'),
        model: z.string().min(1).optional(),
        votes: z.number().int().min(1).max(9).optional(),
      }),
    })
    .describe('A language model decides.'),
  z
    .strictObject({ check: z.string().min(1) })
    .describe('A function of the user: `./checks.js` (its default export) or `./checks.js#name`.'),
]);

export type Expectation = z.infer<typeof expectationSchema>;
export type ValueMatcher = z.infer<typeof matcher>;
export type ArgumentMatchers = z.infer<typeof argumentsSchema>;
export type ExpectedCall = z.infer<typeof call>;
