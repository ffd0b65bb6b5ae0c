import * as z from 'zod';

/** The first file of a backup. It lists the others, so that a restore checks them before it replaces anything. */
export const manifestSchema = z.strictObject({
  format: z.literal('parley-backup'),
  version: z.literal(1),
  /** The version of parley that made the backup. */
  parley: z.string(),
  created_at: z.int(),
  files: z.array(
    z.strictObject({
      name: z.string().regex(/^(?:parley\.db|knowledge\.db|secret\.key|signing\.key|recordings\/[\w.-]{1,80})$/),
      bytes: z.int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
  /** All recordings of the data folder. `files` has them only if the backup includes them. */
  recordings: z.array(z.strictObject({ name: z.string(), bytes: z.int().min(0) })),
});

export type Manifest = z.infer<typeof manifestSchema>;

export const MANIFEST_NAME = 'manifest.json';

/** The databases of a data folder. */
export const DATABASES = ['parley.db', 'knowledge.db'] as const;
/** Keys that the daemon generated. Without them, nothing encrypted can be read and no signed link is valid. */
export const KEY_FILES = ['secret.key', 'signing.key'] as const;
