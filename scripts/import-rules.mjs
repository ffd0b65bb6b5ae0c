/**
 * Who may import whom below `src` (the table of CONTRIBUTING.md). `npm run lint` runs this file; it prints one line
 * for each import that breaks a rule and fails if there is any.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Files of `src` itself that everything may import. */
const GROUND = ['errors', 'json', 'native', 'package-files', 'random', 'secret', 'undici', 'webassembly'];

const BASE = ['audio', 'clock', 'config'];

/** What a session knows of those it drives: their interfaces, not their makers. */
const INTERFACES = [
  'providers/llm/llm',
  'providers/stt/stt',
  'providers/tts/tts',
  'providers/turn/turn',
  'providers/vad/speech-detector',
  'providers/vad/vad',
  'tools/tool',
  'transports/transport',
];

const MEDIA = ['transports', 'rtp', 'sip', 'carriers'];
const LIBRARY = [...BASE, 'conversation', 'net', 'providers', 'session', 'tools', ...MEDIA, 'store'];

/**
 * For each folder of `src` the folders, or single files, that it may import besides itself and the ground.
 * @type {Record<string, readonly string[]>}
 */
export const MAY_IMPORT = {
  audio: BASE,
  clock: BASE,
  config: BASE,
  conversation: ['config'],
  net: BASE,
  providers: BASE,
  tools: ['net', 'config', 'clock'],
  transports: ['audio', 'clock', 'rtp/packet', 'rtp/srtp', 'rtp/srtp-keys'],
  rtp: ['transports/transport', 'transports/telephone-event', 'transports/webrtc/reported-loss', 'audio', 'clock'],
  sip: ['clock'],
  carriers: ['sip', 'rtp', 'transports', 'audio', 'clock', 'config'],
  session: [...BASE, 'conversation', ...INTERFACES],
  store: ['config', 'clock', 'tools', 'session'],
  engine: LIBRARY,
  calls: [...LIBRARY, 'engine'],
  testing: [...LIBRARY, 'engine', 'calls'],
  benchmark: [...LIBRARY, 'engine', 'testing'],
  'media-threads': [...LIBRARY, 'engine'],
  daemon: [...LIBRARY, 'engine', 'calls', 'testing', 'media-threads'],
  cli: [...LIBRARY, 'engine', 'calls', 'testing', 'benchmark', 'daemon'],
  web: [
    'session/call-story',
    'session/ledger',
    'testing/merge-config',
    'testing/replay/read-log',
    'testing/replay/replay',
    'testing/replay/what-if',
  ],
  index: [...LIBRARY, 'engine', 'calls'],
};

/** Type-only imports that are allowed besides: messages that both ends of a socket share. */
const MAY_IMPORT_TYPES_OF = {
  web: ['daemon', 'transports', 'session', 'conversation', 'config', 'testing'],
  store: ['daemon'],
};

/**
 * The rules that a file's imports break, in words.
 * @param {string} path below `src`, with forward slashes, such as `tools/tool.ts`
 * @param {string} source
 * @returns {string[]}
 */
export function brokenRules(path, source) {
  const folder = owner(path);
  const allowed = MAY_IMPORT[folder];
  if (allowed === undefined) return GROUND.includes(folder) ? [] : [`src/${path}: "${folder}" is not in the table`];
  return importsOf(source).flatMap(({ specifier, typeOnly }) => {
    if (!specifier.startsWith('.')) return [];
    const target = posix.join(dirname(path), specifier).replace(/\.[jt]s$/, '');
    const into = owner(target);
    const types = typeOnly ? (MAY_IMPORT_TYPES_OF[/** @type {'web'} */ (folder)] ?? []) : [];
    const fine =
      into === folder || GROUND.includes(target) || [...allowed, ...types].some((it) => it === into || it === target);
    return fine ? [] : [`src/${path}: ${folder} may not import ${target}. It may import ${list(allowed)}`];
  });
}

/**
 * Static, dynamic and re-exporting imports alike.
 * @param {string} source
 */
function importsOf(source) {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const pattern =
    /\b(?:import|export)(\s+type)?\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;
  return [...code.matchAll(pattern)].map((match) => ({
    specifier: match[2] ?? match[3] ?? '',
    typeOnly: match[1] !== undefined,
  }));
}

/** @param {string} path */
function owner(path) {
  return (path.split('/')[0] ?? '').replace(/\.[jt]s$/, '');
}

/** @param {readonly string[]} names */
function list(names) {
  return names.length === 0 ? 'nothing of ours' : names.join(', ');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const src = fileURLToPath(new URL('../src/', import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const broken = files.flatMap((file) => brokenRules(file.replaceAll('\\', '/'), readFileSync(src + file, 'utf8')));
  for (const line of broken) console.error(line);
  if (broken.length > 0) process.exitCode = 1;
}
