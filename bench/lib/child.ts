import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * Runs this benchmark again in a process of its own and takes the one line of JSON that it prints, so that no case
 * inherits another's heap, threads and compiled code.
 * @param flags for Node
 */
export function measureInChild<T>(args: readonly string[], flags: readonly string[] = []): Promise<T> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, process.argv[1] ?? '', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let last = '';
    createInterface({ input: child.stdout }).on('line', (line) => (last = line));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(last) as T);
      else reject(new Error(`the measuring process ended with code ${String(code)}`));
    });
  });
}
