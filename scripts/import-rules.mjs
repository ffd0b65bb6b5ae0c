/**
 * Who may import whom below `src` (the table of CONTRIBUTING.md). `npm run lint` runs this file; it prints one line
 * for each import that breaks a rule and fails if there is any.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Files of `src` itself that everything may import. */
const GROUND = ['package-files'];

export const BASE = ['base', 'schema', 'agent', 'settings', 'audio'];

/** What a session knows of those it drives: their interfaces, not their makers. */
export const INTERFACES = [
  'providers/llm/llm',
  'providers/outcome',
  'providers/stt/stt',
  'providers/tts/tts',
  'providers/turn/turn',
  'providers/vad/speech-detector',
  'providers/vad/vad',
  'tools/tool',
  'transports/transport',
];

export const LIBRARY = [
  ...BASE,
  'settings/carriers',
  'conversation',
  'net',
  'providers',
  'session',
  'tools',
  'transports',
  'transports/rtp',
  'transports/webrtc',
  'transports/loopback',
  'telephony/sip',
  'telephony/carriers',
  'store',
];

/**
 * For each room of `src`, which is a folder, or a file with rules of its own, the rooms or single files that it may
 * import besides itself and the ground. A room inside another one is not part of it. The table has no cycle.
 * @type {Record<string, readonly string[]>}
 */
export const MAY_IMPORT = {
  base: [],
  audio: ['base'],
  schema: ['base'],
  agent: ['base', 'schema'],
  'settings/carriers': ['schema'],
  settings: ['base', 'schema', 'agent', 'settings/carriers'],
  conversation: ['base', 'agent'],
  net: ['base', 'settings'],
  providers: [...BASE],
  tools: ['base', 'schema', 'agent', 'settings', 'net'],
  transports: ['base', 'audio'],
  'transports/rtp': ['base', 'audio', 'transports'],
  'transports/webrtc': ['base', 'audio', 'transports', 'transports/rtp'],
  'transports/loopback': ['base', 'audio', 'transports', 'transports/rtp', 'transports/webrtc'],
  'telephony/sip': ['base'],
  session: ['base', 'audio', 'agent', 'conversation', ...INTERFACES, 'tools/define-tool'],
  store: ['base', 'agent', 'settings', 'tools', 'session'],
  engine: [...BASE, 'conversation', 'net', 'providers', 'session', 'tools', 'transports'],
  'telephony/carriers': [
    'base',
    'schema',
    'agent',
    'settings/carriers',
    'audio',
    'net',
    'transports',
    'transports/rtp',
    'engine',
    'telephony/sip',
  ],
  'telephony/calls': [
    'base',
    'schema',
    'agent',
    'conversation',
    'session',
    'transports',
    'engine',
    'telephony/sip',
    'telephony/carriers',
  ],
  lines: [...LIBRARY, 'engine', 'telephony/calls'],
  stage: ['agent', 'conversation'],
  replay: ['agent', 'base', 'conversation', 'session', 'stage'],
  testing: [...LIBRARY, 'engine', 'telephony/calls', 'stage', 'replay', 'eval'],
  benchmark: [...LIBRARY, 'engine', 'testing'],
  eval: [...LIBRARY, 'engine'],
  plugins: [...LIBRARY, 'engine'],
  'threads/wire': [...LIBRARY, 'engine'],
  threads: [...LIBRARY, 'engine', 'plugins', 'threads/wire'],
  daemon: [...LIBRARY, 'engine', 'plugins', 'telephony/calls', 'replay', 'eval', 'threads', 'threads/wire'],
  cli: [...LIBRARY, 'engine', 'plugins', 'telephony/calls', 'replay', 'testing', 'benchmark', 'eval', 'daemon'],
  web: [
    'agent/flow/conversation-config',
    'session/record/transcript',
    'session/record/session-metrics',
    'replay/read-log',
    'replay/replay',
    'replay/what-if',
  ],
  index: [...LIBRARY, 'engine', 'plugins', 'telephony/calls'],
};

const NAMED_ZOD = /^import \{[^}]*\bz\b[^}]*\} from 'zod'/m;

/** Type-only imports that are allowed besides: messages that both ends of a socket share. */
const MAY_IMPORT_TYPES_OF = {
  web: ['daemon', 'transports', 'session', 'conversation', 'agent', 'replay'],
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
  // esbuild cannot drop a part of the object `z`, which has the messages of all languages: 430 kB that each start reads.
  const zod = NAMED_ZOD.test(source)
    ? [`src/${path}: the bundle keeps all of zod: write import * as z from 'zod'`]
    : [];
  const rooms = importsOf(source).flatMap(({ specifier, typeOnly }) => {
    if (!specifier.startsWith('.')) return [];
    const target = posix.join(dirname(path), specifier).replace(/\.[jt]s$/, '');
    const into = owner(target);
    const types = typeOnly ? (MAY_IMPORT_TYPES_OF[/** @type {'web'} */ (folder)] ?? []) : [];
    const fine =
      into === folder || GROUND.includes(target) || [...allowed, ...types].some((it) => it === into || it === target);
    return fine ? [] : [`src/${path}: ${folder} may not import ${target}. It may import ${list(allowed)}`];
  });
  return [...zod, ...rooms];
}

/**
 * Static, dynamic and re-exporting imports alike.
 * @param {string} source
 */
export function importsOf(source) {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const pattern =
    /\b(?:import|export)(\s+type)?\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;
  return [...code.matchAll(pattern)].map((match) => ({
    specifier: match[2] ?? match[3] ?? '',
    typeOnly: match[1] !== undefined,
  }));
}

const ROOMS = Object.keys(MAY_IMPORT).toSorted((one, other) => other.length - one.length);

/**
 * The innermost room that a file belongs to.
 * @param {string} path
 */
function owner(path) {
  const module = path.replace(/\.[jt]s$/, '');
  const room = ROOMS.find((it) => module === it || module.startsWith(`${it}/`));
  return room ?? module.split('/')[0] ?? '';
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
