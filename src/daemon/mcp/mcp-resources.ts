import { readdirSync, readFileSync } from 'node:fs';
import { encodeUrlText } from '../../base/url-text.js';
import { packageFile } from '../../package-files.js';
import type { McpCaller } from './mcp-caller.js';

/** A resource as `resources/list` shows it. */
export interface McpResource {
  uri: string;
  name: string;
  title: string;
  description?: string;
  mimeType: string;
}

/** The content of a resource. */
export interface McpContent {
  uri: string;
  mimeType: string;
  text: string;
}

const MARKDOWN = 'text/markdown';
const JSON_TYPE = 'application/json';

/** Files of the package. */
const SCHEMAS: readonly (McpResource & { file: string })[] = [
  {
    uri: 'parley://schemas/agent',
    name: 'agent.schema.json',
    title: 'JSON Schema of agents',
    description: 'Of an agent file: name, config, script, extensions.',
    mimeType: JSON_TYPE,
    file: 'data/agent.schema.json',
  },
  {
    uri: 'parley://schemas/eval-suite',
    name: 'eval-suite.schema.json',
    title: 'JSON Schema of test suites',
    mimeType: JSON_TYPE,
    file: 'data/eval-suite.schema.json',
  },
  {
    uri: 'parley://schemas/settings',
    name: 'settings.schema.json',
    title: 'JSON Schema of settings files',
    mimeType: JSON_TYPE,
    file: 'data/settings.schema.json',
  },
];

/** Resources whose address has a parameter. */
export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: 'parley://agents/{agent_id}',
    name: 'agent',
    title: 'An agent',
    description: 'Its name, configuration, script and extensions, without secrets.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: 'parley://calls/{session_id}/transcript',
    name: 'transcript',
    title: 'The transcript of a call',
    mimeType: 'text/plain',
  },
  {
    uriTemplate: 'parley://calls/{session_id}/trace',
    name: 'trace',
    title: 'The event log of a call',
    description: 'Lines of JSON: everything that was decided and when. Large.',
    mimeType: 'application/x-ndjson',
  },
] as const;

/** Agents, transcripts, event logs, schemas and the pages of the documentation. */
export class McpResources {
  #pages: readonly (McpResource & { file: string })[] | null = null;

  async list({ scopes, send }: McpCaller): Promise<readonly McpResource[]> {
    const fixed = [...SCHEMAS, ...this.#docs()].map(({ file: _file, ...resource }) => resource);
    if (!scopes.includes('read')) return fixed;
    const { text } = await send({ method: 'GET', url: '/agents' });
    const agents = (JSON.parse(text) as { id: string; name: string }[]).map(({ id, name }) => ({
      uri: `parley://agents/${encodeUrlText(id)}`,
      name: id,
      title: name,
      mimeType: JSON_TYPE,
    }));
    return [...agents, ...fixed];
  }

  /** Null = there is no such resource. */
  async read(uri: string, { send }: McpCaller): Promise<McpContent | null> {
    const known = [...SCHEMAS, ...this.#docs()].find((resource) => resource.uri === uri);
    if (known !== undefined) {
      return { uri, mimeType: known.mimeType, text: readFileSync(packageFile(known.file), 'utf8') };
    }
    const [, kind, id = '', part] = /^parley:\/\/(agents|calls)\/([^/?#]+)(?:\/(transcript|trace))?$/.exec(uri) ?? [];
    if (kind === 'agents' && part === undefined) {
      const { status, text } = await send({ method: 'GET', url: `/agents/${id}` });
      return status === 200 ? { uri, mimeType: JSON_TYPE, text } : null;
    }
    if (kind !== 'calls' || part === undefined) return null;
    const { status, text } = await send({ method: 'GET', url: `/call-logs/${id}/${part}` });
    if (status !== 200) return null;
    return part === 'trace'
      ? { uri, mimeType: 'application/x-ndjson', text }
      : { uri, mimeType: 'text/plain', text: transcriptText(JSON.parse(text) as TranscriptReply) };
  }

  /** The pages of the package's documentation. */
  #docs(): readonly (McpResource & { file: string })[] {
    this.#pages ??= readdirSync(packageFile('docs/'), { recursive: true, encoding: 'utf8' })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => path.endsWith('.md'))
      .toSorted()
      .map((path) => {
        const [, title = path] = /^# (.+)$/m.exec(readFileSync(packageFile(`docs/${path}`), 'utf8')) ?? [];
        const uri = `parley://docs/${path.slice(0, -'.md'.length)}`;
        return { uri, name: path, title, mimeType: MARKDOWN, file: `docs/${path}` };
      });
    return this.#pages;
  }
}

interface TranscriptReply {
  lines: readonly { at_ms: number | null; who: string; text: string }[];
}

function transcriptText({ lines }: TranscriptReply): string {
  if (lines.length === 0) return 'Nothing was said.\n';
  return lines
    .map(({ at_ms: atMs, who, text }) => `${atMs === null ? '' : `${(atMs / 1000).toFixed(2)} s `}${who}: ${text}\n`)
    .join('');
}
