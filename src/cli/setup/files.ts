import { existsSync } from 'node:fs';
import { copyFile, readFile, rename, writeFile } from 'node:fs/promises';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { readJsonFile } from '../../schema/json-file.js';
import type { SettingsFile } from '../../settings/settings.js';

/** Members that a new setup replaces or removes. */
const MEMBERS = ['stt', 'sttModel', 'tts', 'voiceId', 'turnModelPath', 'llmModel', 'language'] as const;

/**
 * Writes the settings file. An existing one keeps its other members; its text is kept in `FILE.bak`.
 * @throws ParleyError FILE_NOT_WRITABLE, CONFIG_INVALID for an existing file that is no JSON object
 */
export async function writeSettings(path: string, members: SettingsFile): Promise<void> {
  const before = existsSync(path) ? ((await readJsonFile(path, { comments: true })) as Record<string, unknown>) : {};
  const kept = Object.entries(before).filter(([name]) => !(MEMBERS as readonly string[]).includes(name));
  await written(path, async () => {
    if (existsSync(path)) await copyFile(path, `${path}.bak`);
    await replace(path, `${JSON.stringify({ ...Object.fromEntries(kept), ...members }, null, 2)}\n`, 0o644);
  });
}

/** Adds keys to a file of environment variables that only its owner can read. Other lines stay. */
export async function writeKeys(path: string, keys: Readonly<Record<string, string>>): Promise<void> {
  await written(path, async () => {
    const before = existsSync(path) ? (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '') : [];
    const others = before.filter((line) => !Object.keys(keys).some((name) => line.startsWith(`${name}=`)));
    const lines = [
      ...others,
      ...Object.entries(keys).map(([name, key]) => `${name}='${key.replaceAll("'", "'\\''")}'`),
    ];
    await replace(path, `${lines.join('\n')}\n`, 0o600);
  });
}

/** A reader sees the old file or the new one, never a part. */
async function replace(path: string, text: string, mode: number): Promise<void> {
  await writeFile(`${path}.new`, text, { mode });
  await rename(`${path}.new`, path);
}

async function written(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
}
