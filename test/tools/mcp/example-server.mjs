/** An MCP server made with the official SDK: `stdio`, or `http PORT`, which prints its port. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as z from 'zod';

function makeServer() {
  const server = new McpServer({ name: 'example', version: '1.0.0' });
  const text = (words) => ({ content: [{ type: 'text', text: words }] });
  const sum = { description: 'Adds.', inputSchema: { a: z.number(), b: z.number() } };
  server.registerTool('add', sum, ({ a, b }) => text(String(a + b)));
  server.registerTool('see.env', { description: 'Tells a variable.', inputSchema: { name: z.string() } }, ({ name }) =>
    text(process.env[name] ?? 'not there'),
  );
  server.registerTool('fail', { description: 'Fails.' }, () => {
    throw new Error('out of paper');
  });
  server.registerTool('draw', { description: 'Draws.' }, () => ({
    content: [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'text', text: 'a cat' },
    ],
  }));
  server.registerTool('wait', { description: 'Never answers.' }, () => new Promise(() => {}));
  server.registerTool('die', { description: 'Ends the server.' }, () => process.exit(3));
  server.registerTool('learn', { description: 'Learns a trick.' }, () => {
    server.registerTool('trick', { description: 'The trick.' }, () => text('ta-da'));
    return text('learnt');
  });
  return server;
}

const [how, port = '0'] = process.argv.slice(2);
if (how === 'stdio') {
  await makeServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const http = createServer((request, response) => void answer(request, response));
  const answer = async (request, response) => {
    if (request.headers['x-key'] !== 'k') {
      response.writeHead(401).end();
      return;
    }
    const id = request.headers['mcp-session-id'];
    if (request.method === 'POST' && request.url === '/forget') {
      sessions.clear();
      response.end();
      return;
    }
    let transport = sessions.get(id);
    if (transport === undefined && id !== undefined) {
      response.writeHead(404).end();
      return;
    }
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => sessions.set(session, transport),
        enableJsonResponse: how === 'json',
      });
      await makeServer().connect(transport);
    }
    await transport.handleRequest(request, response);
  };
  http.listen(Number(port), '127.0.0.1', () => process.stdout.write(`${http.address().port}\n`));
}
