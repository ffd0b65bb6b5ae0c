import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/package-files.js';

export interface SippCall {
  /** Its exit code. */
  done: Promise<number | null>;
  port: number;
  callId: string;
  /** What it sent and got. */
  output: () => string;
}

/**
 * sipp with a scenario: one call.
 * @param scenario the path of a file, or a name in scripts/sip/scenarios
 * @param folder with a file TONE (mulaw), which scenarios with sound play
 */
export function sippCall(
  scenario: string,
  port: number,
  place: string,
  args: readonly string[] = [],
  folder = tmpdir(),
): SippCall {
  const callId = randomUUID();
  const known = packageFile(`scripts/sip/scenarios/${scenario}.xml`);
  const file = isAbsolute(scenario) ? scenario : fileURLToPath(known);
  const own = ['-sf', file, '-i', '127.0.0.1', '-mi', '127.0.0.1', '-p', String(port), '-m', '1', '-nostdin'];
  const limits = ['-timeout', '60', '-timeout_error', '-cid_str', callId];
  const child = spawn('sipp', [...own, ...limits, ...args, place], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: folder,
  });
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  child.stderr.on('data', (text: Buffer) => (output += text.toString()));
  const done = once(child, 'close').then(([code]) => code as number | null);
  return { done, port, callId, output: () => output };
}
