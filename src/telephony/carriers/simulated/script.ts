import * as z from 'zod';
import type { LineQuality } from './path.js';

/**
 * The behaviour of a simulated number as data: each step is an object whose one key names it. `parley numbers` lists
 * those in `data/phone-network.json`.
 */
export type ScriptStep =
  /** Speaks; `voice` is one of the network's speech maker. */
  | { say: string; voice?: string | undefined }
  /** Plays a WAV file, relative to the script's file. */
  | { play: string }
  /** Plays one or two frequencies; `levelDbfs` default -16. */
  | { tone: { hz: number[]; ms: number; levelDbfs?: number | undefined } }
  /** Waits, milliseconds. */
  | { wait: number }
  /**
   * Listens until the agent has spoken and then been silent for `quietMs` (default 900), or for `maxMs` (default 15
   * 000). `orMs`: gives up after this time without any speech.
   */
  | { listen: { quietMs?: number | undefined; maxMs?: number | undefined; orMs?: number | undefined } }
  /** Speaks, and waits `waitMs` (default 5000) for a key, which cuts the speech short. Other keys run `otherwise`. */
  | {
      menu: {
        say: string;
        options: Record<string, ScriptStep[]>;
        waitMs?: number | undefined;
        otherwise?: ScriptStep[] | undefined;
      };
    }
  /** Presses keys. */
  | { press: string }
  /** Records like a mailbox until `quietMs` of silence (default 5000) or for `maxMs` (default 60 000). */
  | { record: { quietMs?: number | undefined; maxMs?: number | undefined } }
  /** Adds a note to the call. */
  | { note: string }
  | { repeat: { times: number; steps: ScriptStep[] } }
  | { hangUp: true };

const steps: z.ZodType<ScriptStep[]> = z.lazy(() => z.array(step).max(200));
const ms = z.number().int().min(0).max(600_000);
const keys = z.string().regex(/^[0-9*#A-Dw]+$/);
const step: z.ZodType<ScriptStep> = z.union([
  z.strictObject({ say: z.string().min(1).max(2000), voice: z.string().optional() }),
  z.strictObject({ play: z.string().min(1) }),
  z.strictObject({
    tone: z.strictObject({
      hz: z.array(z.number().min(100).max(3800)).min(1).max(2),
      ms,
      levelDbfs: z.number().min(-60).max(0).optional(),
    }),
  }),
  z.strictObject({ wait: ms }),
  z.strictObject({ listen: z.strictObject({ quietMs: ms.optional(), maxMs: ms.optional(), orMs: ms.optional() }) }),
  z.strictObject({
    menu: z.strictObject({
      say: z.string().min(1).max(2000),
      options: z.record(z.string().regex(/^[0-9*#]$/), steps),
      waitMs: ms.optional(),
      otherwise: steps.optional(),
    }),
  }),
  z.strictObject({ press: keys }),
  z.strictObject({ record: z.strictObject({ quietMs: ms.optional(), maxMs: ms.optional() }) }),
  z.strictObject({ note: z.string().min(1).max(200) }),
  z.strictObject({ repeat: z.strictObject({ times: z.number().int().min(1).max(100), steps }) }),
  z.strictObject({ hangUp: z.literal(true) }),
]);

const qualitySchema: z.ZodType<LineQuality> = z.strictObject({
  codec: z.enum(['mulaw', 'alaw']).exactOptional(),
  delayMs: z.number().min(0).max(500).exactOptional(),
  jitterMs: z.number().min(0).max(300).exactOptional(),
  bufferMs: z.number().min(0).max(500).exactOptional(),
  loss: z.number().min(0).max(0.5).exactOptional(),
  noiseDbfs: z.number().min(-90).max(-10).exactOptional(),
});

const numberSchema = z.strictObject({
  number: z.string().regex(/^\+[1-9]\d{6,14}$/),
  /** A description for people. */
  name: z.string().min(1).max(80),
  does: z.string().min(1).max(300),
  /** `answers` after `ringMs`; the others never do. `rings` continues until the caller gives up. */
  picksUp: z.enum(['answers', 'busy', 'rejects', 'rings', 'fails']).default('answers'),
  ringMs: z.number().int().min(0).max(120_000).default(2000),
  /** Sends keys as tones in the audio and recognises only those, like the oldest lines. */
  inBandDigits: z.boolean().default(false),
  voice: z.string().default('slt'),
  line: qualitySchema.default({}),
  steps: steps.default([]),
});

/** A number of the network, and the party that answers. */
export type SimulatedNumber = z.infer<typeof numberSchema>;

/** People who call in: `number` is their own, `steps` start at the answer. */
const callerSchema = numberSchema.omit({ picksUp: true, ringMs: true });

/** Numbers that can be called, and people who call. */
export interface NetworkDirectory {
  numbers: readonly SimulatedNumber[];
  callers: readonly SimulatedNumber[];
}

const asNumber = (caller: z.infer<typeof callerSchema>): SimulatedNumber => ({
  ...caller,
  picksUp: 'rings',
  ringMs: 0,
});

export const networkSchema = z.strictObject({
  numbers: z.array(numberSchema).max(1000),
  callers: z.array(callerSchema.transform(asNumber)).max(1000).default([]),
});
