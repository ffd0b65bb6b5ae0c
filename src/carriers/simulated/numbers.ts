import { readFile } from 'node:fs/promises';
import { parseWith } from '../../config/issues.js';
import { ParleyError, reasonOf } from '../../errors.js';
import { packageFile } from '../../package-files.js';
import { networkSchema, type SimulatedNumber } from './script.js';

/** The numbers that parley's own network has. */
export const STOCK_NUMBERS = packageFile('data/phone-network.json');

/**
 * Reads a file of simulated numbers.
 * @throws ParleyError FILE_NOT_READABLE; InvalidConfigError naming every fault
 */
export async function readNumbers(file: URL = STOCK_NUMBERS): Promise<readonly SimulatedNumber[]> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new ParleyError('FILE_NOT_READABLE', { path: file.pathname, reason: reasonOf(error) }, { cause: error });
  }
  return parseWith(networkSchema, value).numbers;
}
