import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { WavWriter } from '../../audio/files/wav-writer.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { fileNameOf } from './file-name.js';
import type { RecordingFile, RecordingSink } from './recording.js';

/** Maximum number of sessions with the same id. */
const MAX_SAME_ID = 10_000;

/**
 * A folder of recordings: `<session id>.wav`, 16 bits, user left and agent right. The folder is created on first use;
 * only this user may read it. A file is readable at any time, also after a crash. Files are never overwritten: a second
 * one of the same id is `<session id>-2.wav`.
 */
export function recordingFolder(path: string): RecordingSink {
  return {
    async open({ sessionId, sampleRateHz }) {
      const name = fileNameOf(sessionId);
      try {
        await mkdir(path, { recursive: true, mode: 0o700 });
        return await create(join(path, name), sampleRateHz);
      } catch (error) {
        throw new ParleyError('FILE_NOT_WRITABLE', { path: join(path, `${name}.wav`), reason: reasonOf(error) });
      }
    },
  };
}

/** The recording of the last session with this id that could not report it; null = none. */
export function recordingLeftIn(path: string, sessionId: string): string | null {
  const stem = join(path, fileNameOf(sessionId));
  let left: string | null = null;
  for (let copy = 1; copy <= MAX_SAME_ID && existsSync(nameOf(stem, copy)); copy++) left = nameOf(stem, copy);
  return left;
}

function nameOf(stem: string, copy: number): string {
  return copy === 1 ? `${stem}.wav` : `${stem}-${String(copy)}.wav`;
}

async function create(stem: string, sampleRateHz: number): Promise<RecordingFile> {
  for (let copy = 1; ; copy++) {
    const path = nameOf(stem, copy);
    try {
      const writer = await WavWriter.create(path, { sampleRateHz, channels: 2, exclusive: true, mode: 0o600 });
      return { path, write: (user, agent) => writer.write(user, agent), close: () => writer.close() };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || copy === MAX_SAME_ID) throw error;
    }
  }
}
