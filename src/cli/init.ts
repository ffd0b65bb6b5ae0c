import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ParleyError, reasonOf } from '../base/errors.js';
import { packageFile, packageVersion } from '../package-files.js';
import { Questions } from './shared/ask.js';
import { agentSlug } from '../agent/agent-file.js';
import { type CommandIo, defineCommand, UsageError } from './shared/command.js';

/** The files of a new project, and where `examples/starter` has them: npm leaves some names out of packages. */
const FILES: Readonly<Record<string, string>> = {
  'agent.jsonc': 'agent.jsonc',
  'functions.js': 'functions.js',
  'suite.yaml': 'suite.yaml',
  'settings.jsonc': 'settings.jsonc',
  'jsconfig.json': 'jsconfig.json',
  'README.md': 'README.md',
  '.gitignore': 'gitignore',
  '.vscode/settings.json': 'vscode/settings.json',
  '.vscode/extensions.json': 'vscode/extensions.json',
  '.github/workflows/test.yml': 'github/test.yml',
};

const PACKAGE = '@parley-voice/parley';
/** The name of the agent in `examples/starter`. */
const EXAMPLE_NAME = 'The bakery';
const FOLDER = 'my-agent';

export const init = defineCommand({
  about: `
    Writes a project to start from: an agent, a function in code, a test suite, settings, schemas for editors and a CI
    workflow. It runs without a key. Asks in a terminal for what is not given. Files that are there are kept.`,
  args: [{ name: 'DIR', help: `folder of the project (default: ${FOLDER})`, optional: true }],
  flags: {
    name: { value: 'NAME', help: `name of the agent (default: ${EXAMPLE_NAME})` },
    package: {
      value: 'SPEC',
      help: 'what npm installs as parley: a version, or the path of a package or of a checkout',
    },
    yes: { help: 'ask nothing', short: 'y' },
    force: { help: 'replace files that are there' },
  },
  examples: [['parley init my-agent --yes', 'writes a project into a new folder']],
  async run({ values, positionals: [dir] }, io) {
    const questions = values.yes || io.stdin.isTTY !== true ? null : new Questions(io);
    try {
      const folder = dir ?? (await answerTo(questions, 'Folder of the project', FOLDER));
      const name = values.name ?? (await answerTo(questions, 'Name of the agent', EXAMPLE_NAME));
      if (name.length > 200) throw new UsageError('--name must have at most 200 characters');
      const spec = values.package === undefined ? ownSpec(folder) : specOf(values.package, folder);
      const replaces = async (file: string): Promise<boolean> =>
        values.force || ((await questions?.confirm(`Replace ${join(folder, file)}?`, false)) ?? false);
      const written = await writeProject({ folder, name, spec, replaces, io });
      const kept = values.package === undefined ? written : await takesPackage(folder, spec, written, io);
      io.stderr.write(nextSteps(folder, kept, spec));
      return 0;
    } finally {
      questions?.close();
    }
  },
});

async function answerTo(questions: Questions | null, question: string, byDefault: string): Promise<string> {
  const answer = await questions?.ask(`${question} [${byDefault}]: `);
  return answer === undefined || answer === '' ? byDefault : answer;
}

interface Project {
  folder: string;
  /** The agent's name. */
  name: string;
  /** What npm installs as parley. */
  spec: string;
  /** Whether a file that is there is replaced. */
  replaces: (file: string) => Promise<boolean>;
  io: Pick<CommandIo, 'stdout'>;
}

/** @returns the files that were there and are kept. @throws ParleyError FILE_NOT_WRITABLE */
async function writeProject({ folder, name, spec, replaces, io }: Project): Promise<string[]> {
  const kept: string[] = [];
  const texts = Object.entries(FILES).map(([file, from]): [string, string] => [file, starterText(from, name)]);
  for (const [file, text] of [['package.json', manifestText(folder, spec)], ...texts] as const) {
    const path = join(folder, file);
    const isThere = existsSync(path);
    if (isThere && readFileSync(path, 'utf8') === text) continue;
    if (isThere && !(await replaces(file))) {
      kept.push(file);
      continue;
    }
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    } catch (error) {
      throw new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
    }
    io.stdout.write(`${isThere ? 'replaced' : 'wrote'} ${path}\n`);
  }
  return kept;
}

/** A package.json that is there gets another parley, and keeps the rest. @returns the files that are kept */
async function takesPackage(
  folder: string,
  spec: string,
  kept: string[],
  io: Pick<CommandIo, 'stdout'>,
): Promise<string[]> {
  const path = join(folder, 'package.json');
  if (!kept.includes('package.json')) return kept;
  const manifest = parsed(path);
  const dependencies = manifest?.['dependencies'] ?? {};
  if (manifest === null || typeof dependencies !== 'object' || !Object.hasOwn(dependencies, PACKAGE)) return kept;
  if (Reflect.get(dependencies, PACKAGE) !== spec) {
    manifest['dependencies'] = { ...dependencies, [PACKAGE]: spec };
    await writeFile(path, `${JSON.stringify(manifest, null, 2)}\n`);
    io.stdout.write(`changed ${path}: ${PACKAGE} is ${spec}\n`);
  }
  return kept.filter((file) => file !== 'package.json');
}

/** A JSON object, or null. */
function parsed(path: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

function starterText(from: string, name: string): string {
  const text = readFileSync(packageFile(`examples/starter/${from}`), 'utf8');
  // In JSON and YAML the name is written as JSON, which both can read.
  if (from.endsWith('.jsonc')) return text.replace(JSON.stringify(EXAMPLE_NAME), () => JSON.stringify(name));
  if (from.endsWith('.yaml')) return text.replace(`name: ${EXAMPLE_NAME}`, () => `name: ${JSON.stringify(name)}`);
  return text.replace(`# ${EXAMPLE_NAME}`, () => `# ${name}`);
}

const SETTINGS = '--config settings.jsonc';
const SCRIPTS = {
  start: `parley serve ${SETTINGS} --agent agent.jsonc`,
  talk: `parley talk --text ${SETTINGS} --agent agent.jsonc`,
  test: `parley eval suite.yaml ${SETTINGS}`,
  check: `parley agents check agent.jsonc ${SETTINGS}`,
  push: 'parley agents push agent.jsonc',
};

/**
 * What package.json needs for the scripts. npm warns of install scripts that `allowScripts` does not name, and a package
 * of a folder or an archive goes by its name and address.
 */
function neededMembers(spec: string): object {
  return {
    type: 'module',
    scripts: SCRIPTS,
    dependencies: { [PACKAGE]: spec },
    allowScripts: {
      [spec.startsWith('file:') ? `${PACKAGE}@${spec}` : PACKAGE]: true,
      'better-sqlite3': true,
      webrtcvad: true,
    },
  };
}

function manifestText(folder: string, spec: string): string {
  const name = agentSlug(basename(resolve(folder)));
  return `${JSON.stringify(Object.assign({ name, version: '0.1.0', private: true }, neededMembers(spec)), null, 2)}\n`;
}

/** What installs the parley that runs: the checkout that it runs from, or what npm installed it from. */
function ownSpec(folder: string): string {
  const root = fileURLToPath(packageFile(''));
  return existsSync(join(root, 'package-lock.json'))
    ? specOf(root, folder)
    : (installedSpec(root, folder) ?? `^${packageVersion()}`);
}

/**
 * The archive, folder or repository from which npm installed a package, by the lock file that npm keeps in
 * `node_modules`; null if that was a registry, or is unknown.
 * @param root the package's folder
 */
export function installedSpec(root: string, folder: string): string | null {
  const end = root.lastIndexOf('node_modules');
  if (end < 0) return null;
  const lock = parsed(join(root.slice(0, end), 'node_modules/.package-lock.json'));
  const packages = lock?.['packages'] as Readonly<Record<string, { resolved?: string }>> | undefined;
  const resolved = packages?.[root.slice(end).replaceAll('\\', '/').replace(/\/$/, '')]?.resolved ?? '';
  if (resolved.startsWith('git')) return resolved;
  if (!resolved.startsWith('file:')) return null;
  return specOf(resolve(root.slice(0, end), resolved.slice('file:'.length)), folder);
}

/** A path as package.json has it, relative to the project; anything else as it is given. */
function specOf(given: string, folder: string): string {
  if (!existsSync(given)) return given;
  return `file:${relative(resolve(folder), resolve(given)).replaceAll('\\', '/')}`;
}

function nextSteps(folder: string, kept: readonly string[], spec: string): string {
  const notes = kept.length === 0 ? '' : `\nKept as they were: ${kept.join(', ')}. --force replaces them.\n`;
  const manual = kept.includes('package.json') ? `package.json needs: ${JSON.stringify(neededMembers(spec))}\n` : '';
  const registry = spec.startsWith('^') ? `\n${notInRegistry(spec)}` : '';
  const enter = resolve(folder) === process.cwd() ? '' : `  cd ${folder}\n`;
  return `${notes}${manual}${registry}
Next:
${enter}  npm install
  npm start         # the daemon, with a page to talk to the agent
  npm test          # its test suite
`;
}

function notInRegistry(spec: string): string {
  return `package.json asks the npm registry for ${PACKAGE} ${spec}. Where npm install does not find it there (E404), name
the package that you have, such as the archive of "npm pack": parley init --package PATH changes package.json alone.
`;
}
