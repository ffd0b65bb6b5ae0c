import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { PROSODIC_FEATURES, type ProsodicFeatures } from '../../audio/dsp/prosody.js';
import { ParleyError, reasonOf } from '../../base/errors.js';

/** A line of `parley turn export`: a pause, its label and what the voice was like before it. No words. */
export const pauseRowSchema = z.object({
  /** Who must not be in training and test at once: the session's id, unless another tool knows better. */
  speaker: z.string().min(1),
  /** Ms of the session. */
  atMs: z.number(),
  label: z.enum(['finished', 'continued']),
  /** Until the user spoke on; null where they had finished. */
  pauseMs: z.number().positive().nullable(),
  // The type of an object with computed names has none of them.
  features: z.object(
    Object.fromEntries(PROSODIC_FEATURES.map((name) => [name, z.number()])),
  ) as unknown as z.ZodType<ProsodicFeatures>,
});

export type PauseRow = z.infer<typeof pauseRowSchema>;

/** @throws ParleyError FILE_NOT_READABLE, CONFIG_INVALID naming the line */
export async function readPauseRows(path: string): Promise<PauseRow[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
  });
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const place = `${path}, line ${String(index + 1)}`;
    try {
      const row = pauseRowSchema.parse(JSON.parse(line));
      if ((row.label === 'continued') !== (row.pauseMs !== null)) throw new Error('pauseMs does not fit the label');
      return [row];
    } catch (error) {
      const [issue] = error instanceof z.ZodError ? error.issues : [];
      const reason = issue === undefined ? reasonOf(error) : `${issue.path.join('.')}: ${issue.message}`;
      throw new ParleyError('CONFIG_INVALID', { reason: `${place}: ${reason}` }, { cause: error });
    }
  });
}
