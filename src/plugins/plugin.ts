import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AgentConfig } from '../agent/agent.js';
import { PROVIDER_KINDS, type EnginePlugin } from '../engine/plugin.js';
import type { Clock } from '../base/clock.js';
import { ParleyError } from '../base/errors.js';
import type { Ticker } from '../base/ticker.js';
import type { SessionHandle } from '../engine/remote-line.js';
import type { Transport } from '../transports/transport.js';
import type { Carrier } from '../telephony/carriers/carrier.js';
import { ACTION_NAMES } from '../conversation/actions/actions.js';
import { STT_PROVIDERS } from '../providers/stt/registry.js';
import { TTS_ENTRIES } from '../providers/tts/registry.js';
import { VAD_PROVIDERS } from '../providers/vad/registry.js';
import { SCRIPTED_MODEL } from '../settings/models.js';
import { toolFault } from '../tools/define-tool.js';

/** What a carrier of a plug-in gets from the daemon. */
export interface CarrierHost {
  /** Its numbers in the daemon's store, E.164. */
  owned: readonly string[];
  clock: Clock;
  /** The ticker of the media thread. */
  ticker: Ticker;
  /** The setting `publicUrl`. */
  publicUrl: string | null;
  onError: (error: unknown) => void;
}

/** Opens a phone network. The daemon closes it. */
export type CarrierMaker = (host: CarrierHost) => Carrier | Promise<Carrier>;

/** What a transport of a plug-in gets from the daemon. */
export interface TransportHost {
  clock: Clock;
  /** The ticker of the media thread. */
  ticker: Ticker;
  /** The setting `publicUrl`. */
  publicUrl: string | null;
  /**
   * Lets an agent talk on a line, and runs the session. It is in the call log, and counts as one of the daemon's.
   * @throws ParleyError NOT_FOUND, AGENT_DISABLED, SESSIONS_FULL, DAEMON_DRAINING, as `Engine.createSession`; then close
   * the line
   */
  begin: (line: Transport, request: TransportRequest) => Promise<SessionHandle>;
  onError: (error: unknown) => void;
}

/** Who talks on a line of a plug-in. */
export interface TransportRequest {
  agentId: string;
  /** Overrides fields of the agent's configuration. */
  agentConfig?: AgentConfig;
  /** Variables of the prompt, and of the call's record. */
  metadata?: Readonly<Record<string, unknown>>;
}

/** A transport of a plug-in. */
export interface OpenedTransport {
  /**
   * Takes requests below `/transports/NAME/`. Nobody has checked a key, and nobody counts requests by key: the transport
   * has to know its clients.
   */
  handler?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Takes WebSockets there. */
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Frees what it holds. Its sessions have ended. */
  close: () => Promise<void> | void;
}

export type TransportMaker = (host: TransportHost) => OpenedTransport | Promise<OpenedTransport>;

/** A plug-in of the daemon, which also brings what an engine alone has no use for. */
export interface ParleyPlugin extends EnginePlugin {
  /** Phone networks by the name that numbers have as their `carrier`. Only the daemon opens them. */
  carriers?: Readonly<Record<string, CarrierMaker>>;
  /** Lines of one's own by name, which is part of their address. Only the daemon opens them. */
  transports?: Readonly<Record<string, TransportMaker>>;
}

/**
 * A plug-in for an engine or `parley serve --plugin FILE`, whose default export it is.
 * @throws ParleyError ARGUMENT_INVALID
 */
export function definePlugin(plugin: ParleyPlugin): ParleyPlugin {
  const fault = pluginFault(plugin);
  if (fault !== null) throw new ParleyError('ARGUMENT_INVALID', { argument: 'definePlugin', reason: fault });
  return plugin;
}

const NAMED_KINDS = [...PROVIDER_KINDS, 'carriers', 'transports'] as const;

type NamedKind = (typeof NAMED_KINDS)[number];

const MEMBERS = ['name', 'functions', ...NAMED_KINDS, 'redact'];

/** Names of parley's own that a plug-in cannot take. */
const TAKEN: Readonly<Record<NamedKind, readonly string[]>> = {
  stt: STT_PROVIDERS,
  tts: TTS_ENTRIES.map(({ name }) => name),
  llm: [SCRIPTED_MODEL],
  vad: VAD_PROVIDERS,
  turn: [],
  carriers: ['sip', 'twilio', 'telnyx', 'plivo', 'simulated'],
  transports: [],
};

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}\*?$/;
/** Part of an address. */
const PATH_NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/;

/** What is wrong with a plug-in; null = nothing. */
export function pluginFault(given: unknown): string | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return 'expected an object such as {name: "acme", functions: [], stt: {}, tts: {}, llm: {}}';
  }
  const plugin = given as Readonly<Record<string, unknown>>;
  if (typeof plugin['name'] !== 'string' || plugin['name'].trim() === '') return 'name should be a text';
  const unknown = Object.keys(plugin).find((member) => !MEMBERS.includes(member));
  if (unknown !== undefined) return `there is no member "${unknown}"; a plug-in has ${MEMBERS.join(', ')}`;
  const { functions = [], redact } = plugin;
  if (!Array.isArray(functions)) return 'functions should be a list of functions, as defineTool makes them';
  for (const [at, tool] of functions.entries()) {
    const fault = toolFault(tool);
    if (fault !== null) return `functions[${String(at)}]: ${fault}`;
    const { name } = tool as { name: string };
    if (ACTION_NAMES.includes(name)) return `functions[${String(at)}]: ${name} is a name of parley's own`;
  }
  if (redact !== undefined && typeof redact !== 'function') return 'redact should be a function of a text';
  for (const kind of NAMED_KINDS) {
    const fault = makersFault(kind, plugin[kind]);
    if (fault !== null) return fault;
  }
  return null;
}

function makersFault(kind: NamedKind, makers: unknown): string | null {
  if (makers === undefined) return null;
  const example = `{ acme: () => new Acme() }`;
  if (typeof makers !== 'object' || makers === null || Array.isArray(makers)) {
    return `${kind} should be an object of functions by name, such as ${example}`;
  }
  for (const [name, make] of Object.entries(makers)) {
    const allowed = kind === 'transports' ? PATH_NAME : NAME;
    if (!allowed.test(name) || (name.endsWith('*') && kind !== 'llm')) return `${kind}: "${name}" cannot be a name`;
    if (TAKEN[kind].includes(name)) return `${kind}: "${name}" is a name of parley's own; choose another name`;
    if (typeof make !== 'function') return `${kind}.${name} should be a function that makes the provider: ${example}`;
  }
  return null;
}

/** A name that two plug-ins give; null = there is none. @param titleOf what a plug-in is called in the message */
export function sharedName(
  plugins: readonly ParleyPlugin[],
  titleOf: (plugin: ParleyPlugin) => string = ({ name }) => name,
): string | null {
  const owners = new Map<string, string>();
  for (const plugin of plugins) {
    const names = [
      ...(plugin.functions ?? []).map(({ name }) => `function ${name}`),
      ...NAMED_KINDS.flatMap((kind) => Object.keys(plugin[kind] ?? {}).map((name) => `${kind} ${name}`)),
    ];
    for (const name of names) {
      const owner = owners.get(name);
      if (owner !== undefined) return `${titleOf(plugin)} and ${owner} both have ${name}`;
      owners.set(name, titleOf(plugin));
    }
  }
  return null;
}

const TITLES: Readonly<Record<NamedKind, string>> = {
  stt: 'recognisers',
  tts: 'voices',
  llm: 'language models',
  vad: 'voice activity detection',
  turn: 'turn models',
  carriers: 'carriers',
  transports: 'transports',
};

/** What a plug-in brings, for people. */
export function partsOf(plugin: ParleyPlugin): string[] {
  const named = (title: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`${title} ${names.join(', ')}`];
  const parts = [
    ...named(
      'functions',
      (plugin.functions ?? []).map(({ name }) => name),
    ),
    ...NAMED_KINDS.flatMap((kind) => named(TITLES[kind], Object.keys(plugin[kind] ?? {}))),
    ...(plugin.redact === undefined ? [] : ['redacts texts']),
  ];
  return parts.length === 0 ? ['nothing'] : parts;
}

/** The transports of plug-ins by name. */
export function transportsOf(plugins: readonly ParleyPlugin[]): [name: string, make: TransportMaker][] {
  return plugins.flatMap(({ transports = {} }) => Object.entries(transports));
}

/** The phone networks of plug-ins by name. */
export function carriersOf(plugins: readonly ParleyPlugin[]): [name: string, make: CarrierMaker][] {
  return plugins.flatMap(({ carriers = {} }) => Object.entries(carriers));
}
