import { readFileSync } from 'node:fs';

/**
 * Where the package's own files lie, from source and from the build alike: this file is one folder below the
 * package's root in both.
 */

/** A file of the package by its path from the root, such as `data/silero-vad-v6-16k.bin`. */
export function packageFile(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}

/** The built entry of a worker thread, by its path below `src` without extension. Threads always run the build. */
export function workerFile(path: string): URL {
  return packageFile(`dist/${path}.js`);
}

/** The version in package.json. */
export function packageVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
