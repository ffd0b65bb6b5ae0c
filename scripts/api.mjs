/**
 * The public types, as a report for each entry point in `api`. `npm run api` writes the reports from the declarations of
 * the last build; `npm run api -- --check` fails where one differs. Both fail on a type of a public signature that no
 * entry point exports, because users could not name it.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'api');
const check = process.argv.includes('--check');

/** The first one is the engine's: what it exports need not be exported by the others. */
const ENTRIES = ['index', 'daemon', 'lines', 'providers', 'testing'];

/** Constants, which a public type is computed from: users need the type only. */
const CONSTANT = /^([a-z]|[A-Z][A-Z_]+$)/;

/** Names in private parts, in constructors that users do not call, and those that a public type is computed from. */
const INTERNAL = new Set([
  'Actor',
  'AgentStore',
  'ArgumentsOf',
  'CallEndpoint',
  'Figures',
  'MethodOf',
  'Parts',
  'PhoneStore',
  'Polyphase',
  'SessionMetrics',
  'SimulatedLine',
  'RecordingOptions',
  'SessionRecorder',
  'SimulatedCallOptions',
]);

/** Generated from the schema; its parts have a name as `NonNullable<AgentConfig['flow']>`. */
const AGENT_TYPES = /[\\/]agent-types\.d\.ts$/;

const compilerOptions = {
  module: 'nodenext',
  target: 'es2023',
  // Without the DOM's, the report has no declaration for AbortSignal, which @types/node leaves to it.
  lib: ['ES2023', 'DOM'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
};

/** @param {string} entry */
function declarations(entry) {
  return join(root, 'dist', entry === 'index' ? 'index.d.ts' : `${entry}/index.d.ts`);
}

/**
 * @param {string} entry
 * @param {string} temporary folder of the report
 */
function configOf(entry, temporary) {
  return ExtractorConfig.prepare({
    configObjectFullPath: join(root, 'api-extractor.json'),
    packageJsonFullPath: join(root, 'package.json'),
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: declarations(entry),
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, files: ENTRIES.map(declarations) } },
      apiReport: {
        enabled: true,
        reportFileName: `${entry}.api.md`,
        reportFolder: temporary,
        reportTempFolder: join(temporary, 'new'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.None },
          'ae-forgotten-export': { logLevel: ExtractorLogLevel.Error },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
  });
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const temporary = mkdtempSync(join(tmpdir(), 'parley-api-'));
/** @type {string[]} */
const faults = [];
/** @type {CompilerState | undefined} */
let compilerState;
/** @type {Set<string>} */
let engineTypes = new Set();
for (const entry of ENTRIES) {
  const config = configOf(entry, temporary);
  compilerState ??= CompilerState.create(config, { additionalEntryPoints: ENTRIES.map(declarations) });
  /** @type {[name: string, fault: string][]} */
  const forgotten = [];
  Extractor.invoke(config, {
    compilerState,
    localBuild: true,
    messageCallback: (message) => {
      message.handled = true;
      const name = /^The symbol "(\w+)"/.exec(message.text)?.[1]?.replace(/_\d+$/, '');
      if (message.messageId !== 'ae-forgotten-export') {
        if (message.logLevel === ExtractorLogLevel.Error) faults.push(`${entry}: ${message.text}`);
      } else if (
        name !== undefined &&
        !CONSTANT.test(name) &&
        !INTERNAL.has(name) &&
        !AGENT_TYPES.test(message.sourceFilePath ?? '')
      ) {
        forgotten.push([name, `${entry}: ${message.text} (${message.sourceFilePath?.slice(root.length)})`]);
      }
    },
  });
  const report = read(join(temporary, `${entry}.api.md`));
  if (entry === 'index') {
    engineTypes = new Set(
      [...report.matchAll(/^export (?:declare |abstract )*(?:class|const|function|interface|type) (\w+)/gm)].map(
        ([, name = '']) => name,
      ),
    );
  }
  faults.push(...forgotten.flatMap(([name, fault]) => (engineTypes.has(name) ? [] : [fault])));
  const committed = join(folder, `${entry}.api.md`);
  if (!check) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(committed, report);
  } else if (read(committed) !== report) {
    faults.push(`api/${entry}.api.md differs from the build: "npm run api" writes it. Read what has changed.`);
  }
}
rmSync(temporary, { recursive: true });
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
