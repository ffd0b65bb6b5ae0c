import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { styleText } from 'node:util';
import { structuredPatch } from 'diff';
import { type AgentFile, agentFileIn, agentSlug } from '../../agent/agent-file.js';
import { agentNamed, findAgent } from '../../agent/find-agent.js';
import { REDACTED, redactAgentConfig } from '../../agent/redact.js';
import { trimmedAgentConfig, wholeAgentConfig } from '../../agent/whole-agent.js';
import { delay } from '../../base/clock.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { RealClock } from '../../base/real-clock.js';
import { encodeUrlText } from '../../base/url-text.js';
import { InvalidConfigError, type Location, placeOf } from '../../schema/issues.js';
import { readJsonFile, readSource } from '../../schema/json-file.js';
import { placeIn, type Source } from '../../schema/source.js';
import { type CommandIo, UsageError } from '../shared/command.js';
import { type DaemonClient, DaemonRefusal } from '../shared/daemon-client.js';
import { Questions } from '../shared/ask.js';
import { editedText, newText, yamlText } from './edit.js';

/** An agent as `GET /agents/{id}` answers it. */
interface RemoteAgent extends ListedAgent {
  version: number;
  is_draft: boolean;
}

/** An entry of `GET /agents/{id}/versions`. */
interface RemoteVersion extends AgentFile {
  version: number;
  changed_at: number;
  changed_by: string | null;
  note: string | null;
  published_at: number | null;
}

/** As `POST /agents/{id}/publish` answers. */
interface RemotePublication {
  id: string;
  status: 'checking' | 'scheduled' | 'done' | 'refused' | 'canceled';
  version: number;
  previous_version: number | null;
  publish_at: number | null;
  run_id: string | null;
  reason: string | null;
  failed_cases: readonly { name: string; mode: string; passes: number; runs: number }[];
}

/** What a publication is asked for. */
export interface PublishAsk {
  version: number | undefined;
  note: string | undefined;
  /** A time in text that `Date` reads. */
  at: string | undefined;
  override: string | undefined;
}

/** How often a publication that is being tested is looked at. */
const LOOK_MS = 1_000;

/** An agent as `GET /agents` answers it. */
interface ListedAgent extends AgentFile {
  id: string;
  warnings: readonly { loc: Location; msg: string }[];
}

/** What is compared: the agent without what says nothing, with `***` for secrets. */
interface Comparable {
  name: string;
  config: AgentFile['config'];
  script?: unknown;
  extensions?: unknown;
}

export interface DeskOptions {
  client: DaemonClient;
  /** Address of the daemon. */
  url: string;
  io: CommandIo;
  /** Whether to ask nothing. */
  yes: boolean;
}

/** Agents of a running daemon and the files that they come from. */
export class AgentDesk {
  readonly #options: DeskOptions;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** @returns the exit code, as of all methods */
  async list(isJson: boolean): Promise<number> {
    const { io } = this.#options;
    const agents = await this.#all();
    if (isJson) {
      io.stdout.write(`${JSON.stringify(agents, null, 2)}\n`);
      return 0;
    }
    const width = Math.max(0, ...agents.map(({ id }) => id.length));
    for (const { id, name, config, warnings } of agents) {
      const notes = [
        ...(config.status === 'disabled' ? ['disabled'] : []),
        ...(warnings.length > 0 ? [`cannot answer: ${warnings.map(({ msg }) => msg).join(' ')}`] : []),
      ];
      io.stdout.write(`${id.padEnd(width)}  ${name}${notes.length > 0 ? `  (${notes.join('; ')})` : ''}\n`);
    }
    return 0;
  }

  /** Prints an agent as a file has it. */
  async show(named: string): Promise<number> {
    const agent = await this.#named(named);
    this.#options.io.stdout.write(newText(comparable(agent), 'json', null));
    return 0;
  }

  /** What a push would change. The exit code is 1 where there is a difference. */
  async diff(file: string, id: string | undefined): Promise<number> {
    const { agent } = await readAgent(file);
    const remote = (await this.#counterpart(file, agent, id)) ?? (await this.#named(agent.name));
    return this.#showDiff(sideOf(remote), { title: file, agent: comparable(agent) }, true) ? 1 : 0;
  }

  /**
   * Makes the daemon's agent what the file says, or creates it.
   * @param force also over changes that were made since the file was pulled or pushed
   */
  async push(file: string, id: string | undefined, force: boolean): Promise<number> {
    const { io, url, yes } = this.#options;
    const { agent, source } = await readAgent(file);
    const { name, config, script = null, extensions = null } = agent;
    const remote = await this.#counterpart(file, agent, id);
    const body = { name, config, script, extensions };
    if (remote === null) {
      if (!yes && !(await this.#confirmed(`Create the agent "${name}" on ${url}?`))) return 1;
      const made = await this.#sent('POST', '/agents', script === null ? { name, config, extensions } : body, source);
      await record(file, url, made);
      io.stdout.write(`${file}: created the agent ${made.id}\n`);
      return 0;
    }
    const known = (await records(file))[url]?.[basename(file)];
    if (!force && known?.id === remote.id && known.version !== remote.version) {
      io.stderr.write(
        `${file} is of version ${String(known.version)}: see the difference with "parley agents diff", take it over with ` +
          `"parley agents pull", or replace it with "parley agents push --force"\n`,
      );
      throw new ParleyError('AGENT_CHANGED', { agent: remote.id, version: remote.version, expected: known.version });
    }
    if (!this.#showDiff(sideOf(remote), { title: file, agent: comparable(agent) })) {
      io.stdout.write(`${file}: no difference${hasSecrets(agent) ? '; secrets are sent and not compared' : ''}\n`);
    } else if (!yes && !(await this.#confirmed(`Change the agent ${remote.id} on ${url}?`))) return 1;
    // The daemon refuses it if somebody else has changed the agent since it was shown.
    const path = `/agents/${encodeUrlText(remote.id)}`;
    const now = await this.#sent('PUT', path, { ...body, if_version: remote.version }, source);
    await record(file, url, now);
    if (now.version !== remote.version) {
      const what = now.is_draft ? 'draft' : 'version';
      io.stdout.write(`${file}: pushed as ${what} ${String(now.version)} of ${now.id}\n`);
    }
    if (now.is_draft) io.stderr.write(`note: callers get it after "parley agents publish ${now.id}"\n`);
    return 0;
  }

  /** Lists the versions of an agent, latest first. */
  async versions(named: string, isJson: boolean): Promise<number> {
    const { io } = this.#options;
    const path = await this.#path(named);
    const versions = (await this.#options.client.ask('GET', `${path}/versions?limit=100`)) as RemoteVersion[];
    if (isJson) {
      io.stdout.write(`${JSON.stringify(versions, null, 2)}\n`);
      return 0;
    }
    const { published_version: live, draft_version: draft } = (await this.#options.client.ask(
      'GET',
      `${path}/publishing`,
    )) as { published_version: number; draft_version: number | null };
    const width = String(versions[0]?.version ?? 0).length;
    for (const { version, changed_at: at, changed_by: by, note } of versions) {
      const state = version === live ? 'published' : version === draft ? 'draft' : '';
      const time = new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ');
      const parts = [String(version).padStart(width), time, state.padEnd(9), by ?? 'the daemon', note ?? ''];
      io.stdout.write(`${parts.join('  ').trimEnd()}\n`);
    }
    return 0;
  }

  /** Shows what differs between two versions. The exit code is 1 where there is a difference. */
  async versionDiff(named: string, from: number, to: number): Promise<number> {
    const path = await this.#path(named);
    const side = async (version: number): Promise<Side> => {
      const found = (await this.#options.client.ask('GET', `${path}/versions/${String(version)}`)) as RemoteVersion;
      return { title: `${found.name}, version ${String(version)}`, agent: comparable(found) };
    };
    return this.#showDiff(await side(from), await side(to), true) ? 1 : 0;
  }

  /** Publishes the draft or a version, and waits for its gate. The exit code is 1 if it is refused. */
  async publish(named: string, { version, note, at, override }: PublishAsk): Promise<number> {
    const { io, client } = this.#options;
    const path = await this.#path(named);
    const dueS = at === undefined ? undefined : Date.parse(at) / 1000;
    if (Number.isNaN(dueS)) throw new UsageError(`--at ${at ?? ''} is no time: write 2027-01-31T08:00:00Z`);
    const body = { version, note, publish_at: dueS, override };
    let entry = (await client.ask('POST', `${path}/publish`, body)) as RemotePublication;
    if (entry.status === 'checking') io.stderr.write(`version ${String(entry.version)} is being tested\n`);
    while (entry.status === 'checking') {
      await delay(new RealClock(), LOOK_MS, io.signal);
      entry = (await client.ask('GET', `${path}/publications/${entry.id}`)) as RemotePublication;
    }
    const what = `version ${String(entry.version)}`;
    if (entry.status === 'done')
      io.stdout.write(`${what} is published, in place of ${String(entry.previous_version)}\n`);
    else if (entry.status === 'scheduled') {
      io.stdout.write(`${what} is published at ${new Date((entry.publish_at ?? 0) * 1000).toISOString()}\n`);
    } else {
      io.stderr.write(`${what} is ${entry.status}: ${entry.reason ?? ''}\n`);
      for (const { name, mode, passes, runs } of entry.failed_cases) {
        io.stderr.write(`  ${name} (${mode}): ${String(passes)} of ${String(runs)} passed\n`);
      }
      return 1;
    }
    return 0;
  }

  /** Makes a version that callers had before the published one again. */
  async rollBack(named: string, version: number | undefined, note: string | undefined): Promise<number> {
    const path = await this.#path(named);
    const entry = (await this.#options.client.ask('POST', `${path}/rollback`, { version, note })) as RemotePublication;
    this.#options.io.stdout.write(
      `callers have version ${String(entry.version)} again, in place of ${String(entry.previous_version)}\n`,
    );
    return 0;
  }

  /**
   * Makes a file what the daemon's agent is, or writes it. Comments and layout stay where they can.
   * @param to the file; undefined = the one that it came from, or one named after it
   */
  async pull(named: string, to: string | undefined): Promise<number> {
    const { io, url, yes } = this.#options;
    const remote = await this.#named(named);
    const content = comparable(remote);
    const before = Object.entries((await records('.'))[url] ?? {}).find(([, { id }]) => id === remote.id)?.[0];
    const file = to ?? before ?? `${agentSlug(remote.name)}.json`;
    if (JSON.stringify(content).includes(`"${REDACTED}"`)) {
      io.stderr.write(
        `note: secrets of ${remote.id} are shown as ${REDACTED}; a push keeps those that the daemon has\n`,
      );
    }
    if (!existsSync(file)) {
      const format = /\.ya?ml$/i.test(file) ? 'yaml' : 'json';
      await write(file, newText(content, format, new URL('schemas/agent.json', `${url}/`).href));
    } else {
      const { agent, source } = await readAgent(file);
      const now = comparable(agent);
      if (!this.#showDiff({ title: file, agent: now }, sideOf(remote))) {
        await record(file, url, remote);
        io.stdout.write(`${file}: no difference\n`);
        return 0;
      }
      if (!yes && !(await this.#confirmed(`Change ${file}?`))) return 1;
      const edited = editedText(source, now, content);
      if (edited === null) io.stderr.write(`note: the comments and the layout of ${file} could not be kept\n`);
      await write(file, edited ?? newText(content, source.format, null));
    }
    await record(file, url, remote);
    io.stdout.write(`${file}: pulled version ${String(remote.version)} of ${remote.id}\n`);
    return 0;
  }

  async #all(): Promise<readonly ListedAgent[]> {
    return allAgents(this.#options.client);
  }

  async #path(named: string): Promise<string> {
    return `/agents/${encodeUrlText(await agentId(named, this.#options.client))}`;
  }

  /** @throws as `agentId` */
  async #named(named: string): Promise<RemoteAgent> {
    return this.#get(await agentId(named, this.#options.client));
  }

  async #get(id: string): Promise<RemoteAgent> {
    return (await this.#options.client.ask('GET', `/agents/${encodeUrlText(id)}`)) as RemoteAgent;
  }

  /** The agent that a file belongs to: by the id, by what was pulled, or by its name; null = there is none yet. */
  async #counterpart(file: string, { name }: AgentFile, id: string | undefined): Promise<RemoteAgent | null> {
    if (id !== undefined) return this.#named(id);
    const agents = await this.#all();
    // Another spelling is another agent here: a push may create it.
    const sameName = agents.filter((agent) => agent.name === name);
    const known = (await records(file))[this.#options.url]?.[basename(file)];
    const found = agents.find((agent) => agent.id === known?.id) ?? findAgent(sameName, name);
    return found === undefined ? null : this.#get(found.id);
  }

  /** Sends an agent. @throws InvalidConfigError with the places of faults in the file */
  async #sent(method: 'POST' | 'PUT', path: string, body: object, source: Source): Promise<RemoteAgent> {
    const placed = (loc: Location): Location => [placeIn(source, loc.slice(1)), ...loc.slice(1)];
    try {
      const agent = (await this.#options.client.ask(method, path, body)) as RemoteAgent;
      for (const { loc, msg } of agent.warnings) {
        this.#options.io.stderr.write(`${placeIn(source, loc.slice(1))}: warning: ${placeOf(loc.slice(1))}: ${msg}\n`);
      }
      return agent;
    } catch (error) {
      if (!(error instanceof DaemonRefusal) || error.issues.length === 0) throw error;
      throw new InvalidConfigError(
        error.issues.map(({ loc, msg }) => ({ loc: placed(loc), msg, type: 'value_error' })),
        error,
      );
    }
  }

  /** @returns whether there is a difference */
  #showDiff(before: Side, after: Side, isResult = false): boolean {
    const { io } = this.#options;
    const lines = diffLines(yamlText(before.agent), yamlText(after.agent));
    if (lines.length === 0) return false;
    const stream: NodeJS.WritableStream & { isTTY?: boolean } = isResult ? io.stdout : io.stderr;
    const isColoured = stream.isTTY === true && (io.env['NO_COLOR'] ?? '') === '';
    for (const line of [`--- ${before.title}`, `+++ ${after.title}`, ...lines]) {
      stream.write(`${isColoured ? coloured(line) : line}\n`);
    }
    return true;
  }

  /** @throws UsageError where nobody can answer */
  async #confirmed(question: string): Promise<boolean> {
    const { io } = this.#options;
    if (io.stdin.isTTY !== true) throw new UsageError(`${question} Nobody can answer here: pass --yes`);
    const questions = new Questions(io);
    try {
      return await questions.confirm(question, true);
    } finally {
      questions.close();
    }
  }
}

/** The id of a daemon's agent, by its id, its name or the name's slug. @throws ParleyError NOT_FOUND, AGENT_AMBIGUOUS */
export async function agentId(named: string, client: DaemonClient): Promise<string> {
  return agentNamed(await allAgents(client), named).id;
}

async function allAgents(client: DaemonClient): Promise<readonly ListedAgent[]> {
  return (await client.ask('GET', '/agents')) as ListedAgent[];
}

/** One side of a difference. */
interface Side {
  title: string;
  agent: Comparable;
}

function sideOf(remote: RemoteAgent): Side {
  return { title: `${remote.name}, version ${String(remote.version)}`, agent: comparable(remote) };
}

/** An agent without what says nothing, with its members in one order and `***` for secrets. */
function comparable({ name, config, script, extensions }: AgentFile): Comparable {
  const found: Comparable = { name, config: trimmedAgentConfig(wholeAgentConfig(redactAgentConfig(config))) };
  if (script != null) found.script = script;
  if (extensions != null) found.extensions = extensions;
  return found;
}

function hasSecrets({ config }: AgentFile): boolean {
  return JSON.stringify(redactAgentConfig(config)).includes(REDACTED);
}

async function readAgent(file: string): Promise<{ agent: AgentFile; source: Source }> {
  const source = await readSource(file);
  return { agent: agentFileIn(source), source };
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new ParleyError('FILE_NOT_WRITABLE', { path: file, reason: reasonOf(error) }, { cause: error });
  }
}

/** The hunks of a difference between texts, in the form of `diff -u`; empty = they are the same. */
function diffLines(before: string, after: string): string[] {
  const { hunks } = structuredPatch('', '', before, after, undefined, undefined, { context: 3 });
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${String(oldStart)},${String(oldLines)} +${String(newStart)},${String(newLines)} @@`,
    ...lines,
  ]);
}

function coloured(line: string): string {
  if (/^(---|\+\+\+) /.test(line)) return styleText('bold', line, { validateStream: false });
  const colour = { '+': 'green', '-': 'red', '@': 'cyan' } as const;
  const style = colour[line[0] as keyof typeof colour] as (typeof colour)['+'] | undefined;
  return style === undefined ? line : styleText(style, line, { validateStream: false });
}

/**
 * The version of each agent that files had at their last pull or push, by the daemon's address and the file's name. They are
 * in `.parley/pulled.json` beside the files.
 */
type Records = Record<string, Record<string, { id: string; version: number }>>;

function recordsFile(file: string): string {
  return join(file === '.' ? '.' : dirname(file), '.parley', 'pulled.json');
}

async function records(file: string): Promise<Records> {
  const path = recordsFile(file);
  return existsSync(path) ? ((await readJsonFile(path)) as Records) : {};
}

async function record(file: string, url: string, { id, version }: RemoteAgent): Promise<void> {
  const all = await records(file);
  all[url] = { ...all[url], [basename(file)]: { id, version } };
  const path = recordsFile(file);
  await mkdir(dirname(path), { recursive: true });
  await write(path, `${JSON.stringify(all, null, 2)}\n`);
}
