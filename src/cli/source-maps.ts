import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const BUILD = new URL('..', import.meta.url).href;

/**
 * Makes stack traces of this thread name files and lines of src. Each map is read on first use: Node's
 * --enable-source-maps parses all maps at load, which slows the start by 15 % and takes 20 MB.
 */
export function mapStackTraces(): void {
  const maps = new Map<string, SourceMap | null>();
  Error.prepareStackTrace = (error, frames) => {
    const lines = frames.map((frame) => `\n    at ${mapped(frame, maps)}`);
    return `${heading(error)}${lines.join('')}`;
  };
}

/** V8's frames have `toString`, which Node's types omit. */
interface Frame extends NodeJS.CallSite {
  toString(): string;
}

/** The frame as V8 prints it, with its place in the source. */
function mapped(frame: Frame, maps: Map<string, SourceMap | null>): string {
  const text = frame.toString();
  const url = frame.getFileName();
  const line = frame.getLineNumber();
  const column = frame.getColumnNumber();
  if (!url?.startsWith(BUILD) || line === null || column === null) return text;
  let map = maps.get(url);
  if (map === undefined) maps.set(url, (map = readMap(url)));
  const entry = map?.findEntry(line - 1, column - 1);
  if (entry === undefined || !('originalSource' in entry)) return text;
  const source = fileURLToPath(new URL(entry.originalSource, url));
  const place = `${pathToFileURL(source).href}:${String(entry.originalLine + 1)}:${String(entry.originalColumn + 1)}`;
  return text.replace(`${url}:${String(line)}:${String(column)}`, () => place);
}

function readMap(url: string): SourceMap | null {
  const file = `${fileURLToPath(url)}.map`;
  if (!existsSync(file)) return null;
  try {
    return new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as ConstructorParameters<typeof SourceMap>[0]);
  } catch {
    return null; // a trace without a map is better than none
  }
}

function heading(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
}
