import { readFile, stat } from 'node:fs/promises';
import { ParleyError, reasonOf } from '../base/errors.js';
import { isJson, jsonSource, type Source } from './source.js';

/** Largest file in bytes. */
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * Reads a text file of at most 10 MiB.
 * @throws ParleyError CONFIG_INVALID naming the file and the fault
 */
export async function readTextFile(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MAX_BYTES) throw new Error(`it is larger than ${String(MAX_BYTES)} bytes`);
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ParleyError(
      'CONFIG_INVALID',
      { reason: `${path}: cannot be read: ${reasonOf(error)}` },
      { cause: error },
    );
  }
}

/** Reads a JSON file. @throws ParleyError CONFIG_INVALID naming the file and the fault */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = await readTextFile(path);
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch (error) {
    throw new ParleyError('CONFIG_INVALID', { reason: `${path}: not JSON: ${reasonOf(error)}` }, { cause: error });
  }
}

/**
 * Reads a file of at most 10 MiB, in the format that `isJson` finds.
 * @throws InvalidConfigError with the line and column of each fault; ParleyError CONFIG_INVALID if it cannot be read
 */
export async function readSource(path: string): Promise<Source> {
  return parseSource(await readTextFile(path), path);
}

/** The value of a text. @throws InvalidConfigError with the line and column of each fault */
export async function parseSource(text: string, name: string): Promise<Source> {
  if (isJson(text, name)) return jsonSource(text, name);
  // Few agent files are YAML, and its parser is large.
  const { yamlSource } = await import('./yaml-source.js');
  return yamlSource(text, name);
}
