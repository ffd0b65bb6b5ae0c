import { readFile } from 'node:fs/promises';
import { reasonOf } from '../base/errors.js';
import type { ValidationIssue } from '../schema/issues.js';

type Texts = Readonly<Record<string, string | undefined>>;

/** Largest file of a secret, in bytes. */
const MAX_BYTES = 65_536;

/**
 * Adds secrets from files to the environment: `NAME_FILE` holds the path of a file with the value of `NAME`, as with
 * secrets of Docker and Kubernetes and systemd credentials. White space around the value is removed.
 * @param names variables that hold secrets
 */
export async function withSecretFiles(
  env: Texts,
  names: readonly string[],
): Promise<{ env: Texts; issues: readonly ValidationIssue[] }> {
  const values: Record<string, string> = {};
  const issues: ValidationIssue[] = [];
  for (const name of names) {
    const variable = `${name}_FILE`;
    const path = env[variable] ?? '';
    if (path === '') continue;
    const fault = (msg: string): void => void issues.push({ loc: [variable], msg, type: 'secret_file' });
    if ((env[name] ?? '') !== '') {
      fault(`${name} is set, too; set only one of the two`);
      continue;
    }
    try {
      const bytes = await readFile(path);
      const text = bytes.toString('utf8').trim();
      if (bytes.length > MAX_BYTES) fault(`${path} is larger than ${String(MAX_BYTES)} bytes`);
      else if (text === '') fault(`${path} is empty`);
      else values[name] = text;
    } catch (error) {
      fault(`${path} cannot be read: ${reasonOf(error)}`);
    }
  }
  return { env: { ...env, ...values }, issues };
}
