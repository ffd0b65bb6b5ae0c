import { readFile } from 'node:fs/promises';
import { parseWith } from '../../../schema/issues.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { packageFile } from '../../../package-files.js';
import { type NetworkDirectory, networkSchema } from './script.js';

/** parley's own simulated numbers. */
export const STOCK_DIRECTORY = packageFile('data/phone-network.json');

/**
 * Reads a file of simulated numbers and callers.
 * @throws ParleyError FILE_NOT_READABLE; InvalidConfigError naming every fault
 */
export async function readDirectory(file: URL = STOCK_DIRECTORY): Promise<NetworkDirectory> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new ParleyError('FILE_NOT_READABLE', { path: file.pathname, reason: reasonOf(error) }, { cause: error });
  }
  return parseWith(networkSchema, value);
}
