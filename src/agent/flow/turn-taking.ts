import * as z from 'zod';
import { optional } from '../../schema/field.js';
import { phraseSchema, phrasesSchema } from '../../schema/text.js';
import { type Fill, filledPhrases } from '../variables.js';

/** How the conversation opens. */
export interface OpeningConfig {
  /** Null = the model opens the conversation. */
  firstMessage: string | null;
  /** The agent waits for the user to speak first, but no longer than `userStartTimeoutMs`. */
  userStarts: boolean;
  userStartTimeoutMs: number;
  /** `earlier` is the beginning of this same call, whose line broke: the agent does not greet again. Default false. */
  resumes?: boolean;
}

export const userStartFirstSchema = optional(
  z.boolean(),
  'Whether the user speaks first; the first message is then not said.',
  { default: false },
);

export function resolveOpening(
  userStartFirst: z.infer<typeof userStartFirstSchema>,
  firstMessage: string | null | undefined,
  fill: Fill,
): OpeningConfig {
  return {
    firstMessage: fill(firstMessage) || null,
    userStarts: userStartFirst ?? false,
    userStartTimeoutMs: 8000,
  };
}

export const interruptionSchema = z
  .strictObject({
    allowed: optional(z.boolean(), 'Whether the user may interrupt the agent.', { default: true }),
    keep_interruption_message: optional(
      z.boolean(),
      'Interruption allowed: true keeps the interrupted message in the history, cut to what was heard; false drops ' +
        'it. Not allowed: true keeps what the user said over the agent for the next turn; false discards it.',
      { default: true },
    ),
    first_messsage: optional(z.boolean(), 'Whether the opening message may be interrupted (spelled with three s).', {
      default: true,
    }),
  })
  .meta({ id: 'Interruption', description: 'What happens when the user speaks over the agent.' });

/** What happens when the user speaks over the agent. */
export interface InterruptionConfig {
  allowed: boolean;
  /**
   * Interruption allowed: keep the interrupted message in the history, cut to what was heard. Not allowed: keep
   * what the user said over the agent as the next turn.
   */
  keepMessage: boolean;
  /** Whether the opening message may be interrupted. */
  openingAllowed: boolean;
  /**
   * Speech of this length over the agent interrupts it if no transcript has come yet, or none that is trusted. If the
   * transcript is an acknowledgement, the agent continues.
   */
  maxHoldMs: number;
  /** Longest wait for the words of speech that has stopped. */
  wordsAfterStopMs: number;
}

export function resolveInterruption(
  interruption: z.infer<typeof interruptionSchema> | null | undefined,
): InterruptionConfig {
  return {
    allowed: interruption?.allowed ?? true,
    keepMessage: interruption?.keep_interruption_message ?? true,
    openingAllowed: interruption?.first_messsage ?? true,
    maxHoldMs: 2000,
    wordsAfterStopMs: 500,
  };
}

/** A minute: longer waits within a conversation are mistakes. */
const delayMsSchema = z.int().min(0).max(60_000);

export const responseDelaySchema = z.union([
  delayMsSchema,
  z
    .strictObject({
      generic_delay: optional(delayMsSchema, 'Least silence before any turn of the user counts as over.', {
        unit: 'ms',
        default: 0,
      }),
      number_input_delay: optional(
        delayMsSchema,
        'Extra wait while the user is giving digits: a phone number, an identifier.',
        { unit: 'ms', default: 0 },
      ),
    })
    .meta({ id: 'ResponseDelay', description: 'Waits before the agent takes its turn.' }),
]);

/** When the user's turn is over. */
export interface EndpointingConfig {
  /** The least wait after the end of speech. */
  responseDelayMs: number;
  /** Added while the user is dictating digits. */
  numberInputDelayMs: number;
  /** Silence that ends a turn whose words are surely complete; 2.7 times as much ends one without words. */
  minSilenceMs: number;
  /** Silence that ends any turn. */
  maxSilenceMs: number;
  /** Longest wait for the final transcript after the end of speech; then the interim one is used. */
  finalTranscriptMs: number;
  /** Speech without any transcript closes the turn after this time. */
  stuckMs: number;
}

export function resolveEndpointing(
  responseDelay: z.infer<typeof responseDelaySchema> | null | undefined,
): EndpointingConfig {
  const delays = typeof responseDelay === 'number' ? { generic_delay: responseDelay } : responseDelay;
  return {
    responseDelayMs: delays?.generic_delay ?? 0,
    numberInputDelayMs: delays?.number_input_delay ?? 0,
    minSilenceMs: 240,
    maxSilenceMs: 1800,
    finalTranscriptMs: 1200,
    stuckMs: 12_000,
  };
}

export const autoFillResponsesSchema = z
  .strictObject({
    response_gap_threshold: optional(
      z.number().min(0).max(60_000),
      "From the decision that the user's turn is over until a filler is spoken, if the reply has not begun. 0 = at once.",
      { unit: 'ms', default: 0 },
    ),
    messages: optional(phrasesSchema, 'Fillers to choose from.', {
      default: "short phrases in the conversation's language",
    }),
  })
  .meta({ id: 'AutoFillResponses', description: 'Short phrases that bridge a slow reply.' });

/** Short phrases that bridge a slow reply. */
export interface FillerConfig {
  /** Wait from the end of the turn until a filler is spoken; null = only when a stage stalls. */
  afterMs: number | null;
  /** Empty = short default phrases in the conversation's language. */
  messages: readonly string[];
}

export function resolveFiller(
  fillers: z.infer<typeof autoFillResponsesSchema> | null | undefined,
  fill: Fill,
): FillerConfig {
  return {
    afterMs: fillers == null ? null : (fillers.response_gap_threshold ?? 0),
    messages: filledPhrases(fillers?.messages, fill),
  };
}

export const inactivityHandlingSchema = z
  .strictObject({
    idle_time: optional(z.number().min(0).max(86_400), 'Silence of both sides before the agent asks again. 0 = off.', {
      unit: 's',
      default: 'off',
    }),
    message: optional(phraseSchema, 'What it says then.', {
      default: "a short question in the conversation's language",
    }),
  })
  .meta({ id: 'InactivityHandling', description: 'A user who says nothing.' });

/** The agent asking whether the user is still there. */
export interface InactivityConfig {
  /** Silence of both sides before the agent asks. */
  idleMs: number;
  /** Null = a stock question. */
  message: string | null;
}

export function resolveInactivity(
  inactivity: z.infer<typeof inactivityHandlingSchema> | null | undefined,
  fill: Fill,
): InactivityConfig | null {
  if (!inactivity?.idle_time) return null;
  return { idleMs: inactivity.idle_time * 1000, message: fill(inactivity.message) || null };
}
