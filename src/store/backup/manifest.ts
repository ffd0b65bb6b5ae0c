import * as z from 'zod';

/** What a backup begins with: what is in it, so that it can be checked before anything is replaced. */
export const manifestSchema = z.strictObject({
  format: z.literal('parley-backup'),
  version: z.literal(1),
  /** Of the parley that made it. */
  parley: z.string(),
  created_at: z.int(),
  files: z.array(
    z.strictObject({
      name: z.string().regex(/^(?:parley\.db|knowledge\.db|secret\.key|signing\.key|recordings\/[\w.-]{1,80})$/),
      bytes: z.int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
  /** The recordings that there were; in `files` only where they were asked for. */
  recordings: z.array(z.strictObject({ name: z.string(), bytes: z.int().min(0) })),
});

export type Manifest = z.infer<typeof manifestSchema>;

export const MANIFEST_NAME = 'manifest.json';

/** The databases of a data folder. */
export const DATABASES = ['parley.db', 'knowledge.db'] as const;
/** Keys that the daemon has made: what is encrypted or signed is worth nothing without them. */
export const KEY_FILES = ['secret.key', 'signing.key'] as const;
