import * as z from 'zod';

const times = { startMs: z.number().min(0), endMs: z.number().min(0) };

/**
 * What is heard in a recording and when. All times are milliseconds from the first sample, with fractions.
 * `fixtures/README.md` documents the JSON form; `.lab` and `.rttm` files are read into the same shape.
 */
export const labelsSchema = z.object({
  /** Somebody speaks; in our own recordings silences under 150 ms do not split a stretch. */
  speech: z.array(z.strictObject({ ...times, speaker: z.string().optional() })),
  /** Absent where the words' times are not known. */
  words: z.array(z.strictObject({ ...times, word: z.string().min(1) })).optional(),
  /** Silences inside a turn, and those after which the turn is over. */
  pauses: z.array(z.strictObject({ ...times, kind: z.enum(['inside-turn', 'end-of-turn']) })).optional(),
  /** Digits in order, spoken or as DTMF keys. */
  digits: z
    .array(z.strictObject({ ...times, digit: z.string().regex(/^[0-9*#A-D]$/), how: z.enum(['spoken', 'keyed']) }))
    .optional(),
  /** Sounds that mean something and are neither speech nor keys. */
  events: z
    .array(z.strictObject({ ...times, kind: z.enum(['beep', 'ringback']), frequenciesHz: z.array(z.number()) }))
    .optional(),
  /** One entry a turn, where a recording holds several. */
  turns: z.array(z.strictObject({ ...times, text: z.string(), speaker: z.string().optional() })).optional(),
});

/** The labels of one of the project's own recordings, with what it is and how it was made. */
export const fixtureLabelsSchema = labelsSchema.extend({
  format: z.literal('parley-labels/1'),
  /** The recording, relative to `fixtures/audio`. */
  file: z.string(),
  sampleRateHz: z.number().int().positive(),
  encoding: z.enum(['pcm16', 'mulaw', 'alaw']),
  durationMs: z.number().positive(),
  /** What is said, as a transcript would write it. Empty where nobody speaks. */
  text: z.string(),
  voice: z.string().optional(),
  /** The file below `fixtures/recipes` that makes it, without extension. */
  recipe: z.string(),
  about: z.string(),
  /** `snrDb` is against the level of the speech, or of the keys; absent where there is noise alone. */
  noise: z.strictObject({ kind: z.string(), snrDb: z.number().optional() }).optional(),
  /** What the line did to the sound, such as `300-3400 Hz, GSM 06.10`. */
  line: z.string().optional(),
  /** What the agent had said, where the turn answers it. */
  after: z.string().optional(),
});

export type Labels = z.infer<typeof labelsSchema>;
export type FixtureLabels = z.infer<typeof fixtureLabelsSchema>;
