import { RealClock, nowUnixMs } from '../../base/real-clock.js';
import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import { type FileLocation, fileLocation } from '../../settings/file-location.js';
import type { Settings } from '../../settings/settings.js';
import { S3Files } from '../../store/files/s3/s3-files.js';
import type { FileDeletions } from './file-deletions.js';

/** The store that has the files of all nodes, and their deletion. */
export interface RemoteFiles {
  readonly store: Pick<S3Files, 'open' | 'remove' | 'list' | 'uploads' | 'abort' | 'link' | 'name'>;
  readonly location: Pick<FileLocation, 'redirects'>;
  readonly deletions: Pick<FileDeletions, 'remove'>;
}

export type FileSettings = Pick<Settings, 'files' | 'filesAccessKeyId' | 'filesSecretAccessKey' | 'filesSessionToken'>;

/**
 * The store of the settings; null = files stay in the data folder.
 * @throws ParleyError CONFIG_INVALID without an access key
 */
export function openFileStore(
  settings: FileSettings,
  { clock = new RealClock(), seed = 1 }: { clock?: Clock; seed?: number } = {},
): S3Files | null {
  const { files, filesAccessKeyId: id, filesSecretAccessKey: secret, filesSessionToken: sessionToken } = settings;
  if (files === null) return null;
  if (id === null || secret === null) {
    const missing = [
      ...(id === null ? ['AWS_ACCESS_KEY_ID (filesAccessKeyId)'] : []),
      ...(secret === null ? ['AWS_SECRET_ACCESS_KEY (filesSecretAccessKey)'] : []),
    ];
    throw new ParleyError('CONFIG_INVALID', { reason: `PARLEY_FILES needs ${missing.join(' and ')}` });
  }
  return new S3Files({ location: fileLocation(files), key: { id, secret, sessionToken }, clock, nowUnixMs, seed });
}
