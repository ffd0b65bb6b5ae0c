import * as z from 'zod';

const milliseconds = z.number().min(0).max(600_000);
const text = z.string().min(1).max(2000);
const keys = z.string().regex(/^[0-9*#A-Dw]+$/, 'keys are 0-9, *, #, A-D; w waits half a second');
/** Words that a text contains, or `/…/` for a regular expression. */
export const pattern = z.string().min(1).max(1000);

/** One step of a scripted caller: an object with one key that names it. */
export const callerStepSchema = z.union([
  z.strictObject({ say: text }).describe("Waits for the end of the agent's turn, then speaks."),
  z
    .strictObject({ play: z.string().min(1), text: text.optional() })
    .describe("Waits for the end of the agent's turn, then plays a WAV file. `text` is what it says, for text mode."),
  z
    .strictObject({ interrupt: text, after_ms: milliseconds.optional() })
    .describe('Speaks over the agent, `after_ms` (default 1000) after it starts its next utterance.'),
  z.strictObject({ press: keys }).describe("Waits for the end of the agent's turn, then presses keys."),
  z
    .strictObject({ wait_for: pattern, within_s: z.number().min(0.1).max(600).optional() })
    .describe('Listens until the agent has said this. The case fails if it does not within `within_s` (default 30).'),
  z.strictObject({ beep: z.literal(true) }).describe('Sounds the tone of a mailbox. Text mode leaves it out.'),
  z.strictObject({ wait_ms: milliseconds }).describe('Stays silent.'),
  z.strictObject({ listen: z.literal(true) }).describe("Lets the agent's next turn pass without an answer."),
  z.strictObject({ hang_up: z.literal(true) }).describe('Hangs up at once.'),
]);

const fact = z.union([
  z.string().min(1).max(500),
  z.number(),
  z.boolean(),
  z.strictObject({
    value: z.union([z.string().min(1).max(500), z.number(), z.boolean()]),
    say: text.optional().describe('How the caller says it. Default the value.'),
    asked: z
      .array(pattern)
      .min(1)
      .max(20)
      .optional()
      .describe("What the agent's question contains. Default: words for the fact's name."),
    changes_to: z
      .union([z.string().min(1).max(500), z.number()])
      .optional()
      .describe('With the manner `changes_mind`: the value in the end.'),
  }),
]);

export const MANNERS = ['impatient', 'hesitant', 'talks_over', 'digresses', 'mumbles_numbers', 'changes_mind'] as const;

export const personaSchema = z.strictObject({
  goal: text.describe('What the caller wants, such as "book a table for four on Saturday".'),
  opening: text.optional().describe("The caller's first words. Default: made from the goal."),
  facts: z
    .record(z.string().regex(/^[a-z][a-z0-9_]*$/), fact)
    .optional()
    .describe('What the caller knows and tells when asked.'),
  manner: z.array(z.enum(MANNERS)).optional(),
  keys: z
    .record(pattern, keys)
    .optional()
    .describe('Keys to press when the agent says this, such as {"for sales": "2"}.'),
  answers: z.record(pattern, text).optional().describe('What to answer when the agent says this. Goes before facts.'),
  language: z.string().min(2).max(20).optional().describe("Default the agent's language."),
  silent: z.boolean().optional().describe('The caller never says anything. Default false.'),
  stop: z
    .strictObject({
      when_said: pattern.optional().describe('The caller is done when the agent has said this.'),
      max_turns: z.number().int().min(1).max(200).optional().describe('Default 30.'),
      hang_up: z.boolean().optional().describe('Hangs up when done, without a goodbye. Default false.'),
    })
    .optional(),
  model: z
    .string()
    .min(1)
    .optional()
    .describe('A configured language model that plays the persona. Default `embedded`: rules, without a model.'),
});

/** Who calls. */
export const callerSchema = z
  .union([
    z.strictObject({ script: z.array(callerStepSchema).min(1).max(200) }),
    z.strictObject({ persona: personaSchema }),
    z.strictObject({
      recording: z
        .string()
        .min(1)
        .describe("A WAV file with the caller's side of a whole call, relative to the suite."),
      text: z.array(text).min(1).optional().describe("The caller's turns, for text mode."),
    }),
  ])
  .describe('A fixed script, a persona, or a recording of a whole call.');

export type CallerStep = z.infer<typeof callerStepSchema>;
export type Persona = z.infer<typeof personaSchema>;
export type Manner = (typeof MANNERS)[number];
