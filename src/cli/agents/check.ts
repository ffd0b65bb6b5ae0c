import { text as textOf } from 'node:stream/consumers';
import { agentsBeside, parseAgentFile, type AgentFile } from '../../agent/agent-file.js';
import { ParleyError } from '../../base/errors.js';
import { faultPlace } from '../../engine/agent-faults.js';
import type { Engine } from '../../engine/engine.js';
import { InvalidConfigError, type Location, placeOf } from '../../schema/issues.js';
import { parseSource, readTextFile } from '../../schema/json-file.js';
import { placeIn, type Source } from '../../schema/source.js';
import type { CommandIo } from '../shared/command.js';
import { suggestionFor } from '../../settings/suggestion.js';

/** One fault of an agent file, or one thing that will not work as its author may expect. */
export interface AgentFinding {
  severity: 'error' | 'warning';
  /** As it was given; `-` is standard input. */
  file: string;
  /** From 1; null = the fault has no place in the file. */
  line: number | null;
  column: number | null;
  /** The member, such as `config.tools[0].name`; empty = the whole file. */
  path: string;
  /** What is wrong, and what would be right. */
  message: string;
}

/** The result for one file. */
export interface CheckedFile {
  file: string;
  /** The agent's name; null = the file has faults. */
  name: string | null;
  /** In the order of the file. */
  findings: readonly AgentFinding[];
}

/**
 * Checks every field of an agent file, its script, and what the engine has for it.
 * @param file a path; `-` is standard input
 * @throws errors that are not about the agent
 */
export async function checkFile(file: string, engine: Engine, io: Pick<CommandIo, 'stdin'>): Promise<CheckedFile> {
  let source: Source;
  try {
    const text = file === '-' ? await textOf(io.stdin) : await readTextFile(file);
    source = await parseSource(text, file === '-' ? 'stdin' : file);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return { file, name: null, findings: unread(file, error) };
  }
  const finding = (severity: AgentFinding['severity'], loc: Location, message: string): AgentFinding => {
    const [, line, column] = /:(\d+):(\d+)$/.exec(placeIn(source, loc)) ?? [];
    return { severity, file, line: Number(line), column: Number(column), path: placeOf(loc), message };
  };
  const { agent, errors } = readAgent(source);
  const { config, script, extensions } = agent ?? ((source.value ?? {}) as Partial<AgentFile>);
  const { faults, warnings } = await engine.reviewAgent({
    agent: config ?? {},
    script,
    extensions: extensions ?? null,
    agents: extensions?.handover == null ? null : await agentsBeside(file),
  });
  // The engine also reports the faults that the file's schema has found.
  const known = new Set(errors.map(({ loc }) => placeOf(loc)));
  const more = faults.flatMap(issuesOf).filter(({ loc }) => !known.has(placeOf(loc)));
  const findings = [...errors, ...more].map(({ loc, msg }) => finding('error', loc, msg));
  if (agent !== null && findings.length === 0) {
    const kept = (agent.warnings ?? []).map(({ loc, msg }) => finding('warning', loc, msg));
    const others = warnings.map(({ part = 'config', loc, msg }) => finding('warning', [part, ...loc], msg));
    return { file, name: agent.name, findings: inOrder([...kept, ...others]) };
  }
  return { file, name: null, findings: inOrder(findings) };
}

/** A finding in a line, as compilers and editors have it: `baker.json:4:7: error: config.promt: Unknown field: promt`. */
export function findingLine({ severity, file, line, column, path, message }: AgentFinding): string {
  const place = line === null ? file : `${file}:${String(line)}:${String(column)}`;
  return `${place}: ${severity}: ${path === '' ? '' : `${path}: `}${message}`;
}

interface Issue {
  loc: Location;
  msg: string;
}

/** The agent of a file; null = its schema finds faults. */
function readAgent({ value }: Source): { agent: AgentFile | null; errors: readonly Issue[] } {
  try {
    return { agent: parseAgentFile(value), errors: [] };
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    return { agent: null, errors: error.issues };
  }
}

/** What the engine says of an agent, with places in its file. @throws errors that are not about the agent */
function issuesOf(fault: ParleyError): readonly Issue[] {
  if (fault instanceof InvalidConfigError) {
    return fault.issues.map(({ loc, msg }) => ({ loc: ['config', ...loc], msg }));
  }
  const { code, details, message } = fault;
  if (details['part'] === 'script') {
    // The reason begins with the place: `script: forms.order.fill.2: …`.
    const reason = String(details['reason']);
    const [, path = '', msg = reason] = /^script: (?:([\w.-]+): )?(.+)$/s.exec(reason) ?? [];
    const steps = path === '' ? [] : path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));
    return [{ loc: ['script', ...steps], msg }];
  }
  const place = faultPlace(fault);
  const loc = place.length === 0 ? [] : ['config', ...place];
  return [{ loc, msg: code === 'CONFIG_INVALID' ? String(details['reason']) : message + suggestionFor(fault) }];
}

/** The findings of a file that cannot be read or parsed. */
function unread(file: string, error: ParleyError): AgentFinding[] {
  if (!(error instanceof InvalidConfigError)) {
    const message = String(error.details['reason'] ?? error.message).replace(`${file}: `, '');
    return [{ severity: 'error', file, line: null, column: null, path: '', message }];
  }
  return error.issues.map(({ loc: [place], msg }) => {
    const [, line, column] = /:(\d+):(\d+)$/.exec(String(place)) ?? [];
    return { severity: 'error', file, line: Number(line), column: Number(column), path: '', message: msg };
  });
}

function inOrder(findings: readonly AgentFinding[]): AgentFinding[] {
  return findings.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}
