import { Client as Modern, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { Client as Legacy } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export interface Listed {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown> | undefined;
  annotations?: Record<string, unknown> | undefined;
}

export interface Outcome {
  isError: boolean;
  text: string;
  data: Record<string, unknown>;
}

/** What both of the official clients do. Each checks structured content by the schema that the server has listed. */
export interface McpClient {
  version: string | undefined;
  instructions: string | undefined;
  tools: () => Promise<Listed[]>;
  call: (name: string, args?: Record<string, unknown>) => Promise<Outcome>;
  resources: () => Promise<{ uri: string; name: string }[]>;
  templates: () => Promise<string[]>;
  read: (uri: string) => Promise<string>;
  prompts: () => Promise<string[]>;
  prompt: (name: string, args: Record<string, string>) => Promise<string>;
  close: () => Promise<void>;
}

const INFO = { name: 'test', version: '1' };

/** The official SDK 1, which speaks the versions with a handshake. */
export async function legacyClient(address: string, key: string): Promise<McpClient> {
  const transport = new LegacyHttp(new URL('/mcp', address), { requestInit: { headers: { authorization: key } } });
  const client = new Legacy(INFO);
  await client.connect(transport);
  return clientOf(client, transport.protocolVersion);
}

/** The official SDK 2, which speaks 2026-07-28. */
export async function modernClient(address: string, key: string): Promise<McpClient> {
  const transport = new ModernHttp(new URL('/mcp', address), { requestInit: { headers: { authorization: key } } });
  const client = new Modern(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(transport);
  return clientOf(client, transport.protocolVersion);
}

/** A client that has connected. */
export function clientOf(client: Legacy | Modern, version: string | undefined): McpClient {
  // The two differ in their types, not in these methods.
  const one = client as Legacy;
  return {
    version,
    instructions: one.getInstructions(),
    tools: async () => (await one.listTools()).tools,
    call: async (name, args = {}) => {
      const { isError, content, structuredContent } = await one.callTool({ name, arguments: args });
      const [part] = content as { text: string }[];
      return { isError: isError === true, text: part?.text ?? '', data: (structuredContent ?? {}) as Outcome['data'] };
    },
    resources: async () => (await one.listResources()).resources,
    templates: async () => (await one.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    read: async (uri) => {
      const [part] = (await one.readResource({ uri })).contents;
      return part !== undefined && 'text' in part ? part.text : '';
    },
    prompts: async () => (await one.listPrompts()).prompts.map(({ name }) => name),
    prompt: async (name, args) => {
      const [message] = (await one.getPrompt({ name, arguments: args })).messages;
      return message?.content.type === 'text' ? message.content.text : '';
    },
    close: () => one.close(),
  };
}
