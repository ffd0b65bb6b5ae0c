import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ParleyError, reasonOf } from '../base/errors.js';
import { type ParleyPlugin, pluginFault, sharedName } from './plugin.js';

/**
 * Loads plug-ins from ES modules, each the default export of its file.
 * @param files paths, relative to the working folder; a file that is named twice is loaded once
 * @throws ParleyError PLUGIN_INVALID naming the file
 */
export async function loadPlugins(files: readonly string[]): Promise<ParleyPlugin[]> {
  const paths = [...new Set(files.map((file) => resolve(file)))];
  const plugins: ParleyPlugin[] = [];
  for (const path of paths) plugins.push(await loadPlugin(path));
  const shared = sharedName(plugins, ({ file, name }) => file ?? name);
  if (shared !== null) throw new ParleyError('PLUGIN_INVALID', { file: paths.at(-1) ?? '', reason: shared });
  return plugins;
}

async function loadPlugin(file: string): Promise<ParleyPlugin> {
  const invalid = (reason: string, cause?: unknown): ParleyError =>
    new ParleyError('PLUGIN_INVALID', { file, reason }, { cause });
  if (!existsSync(file)) throw invalid('there is no such file');
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(pathToFileURL(file).href)) as typeof module;
  } catch (error) {
    throw invalid(`it cannot be loaded: ${reasonOf(error)}${hintFor(error)}`, error);
  }
  const { default: plugin } = module;
  if (plugin === undefined) {
    const others = Object.keys(module).join(', ');
    const found = others === '' ? 'it exports nothing' : `it exports ${others}`;
    throw invalid(`it has no default export (${found}). Write: export default definePlugin({ name: "acme", … })`);
  }
  const fault = pluginFault(plugin);
  if (fault !== null) throw invalid(fault);
  return { ...(plugin as ParleyPlugin), file };
}

function hintFor(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return '. This version of Node does not load TypeScript: use Node 22.18 or newer, or compile the file';
  }
  if (code === 'ERR_MODULE_NOT_FOUND') {
    return (
      '. Install the package beside the plug-in. parley itself need not be there: a plain object is a plug-in, too, ' +
      'without definePlugin and defineTool'
    );
  }
  return '';
}
