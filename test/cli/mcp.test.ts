import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as Modern } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as Legacy } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';
import { House, PRIVATE_KEY } from '../daemon/house.js';
import { clientOf, type McpClient } from '../daemon/mcp/clients.js';
import { parley } from './support.js';

const COMMAND = fileURLToPath(packageFile('bin/parley.js'));
const INFO = { name: 'test', version: '1' };

let house: House;
let folder: string;
beforeAll(async () => {
  house = await House.open();
  folder = mkdtempSync(join(tmpdir(), 'parley-mcp-'));
});
afterAll(async () => {
  await house.close();
  rmSync(folder, { recursive: true, force: true });
});

async function legacy(args: string[]): Promise<McpClient> {
  const transport = new LegacyStdio({ command: process.execPath, args: [COMMAND, 'mcp', ...args], stderr: 'ignore' });
  const client = new Legacy(INFO);
  await client.connect(transport);
  return clientOf(client, undefined);
}

async function modern(args: string[]): Promise<McpClient> {
  const transport = new ModernStdio({ command: process.execPath, args: [COMMAND, 'mcp', ...args], stderr: 'ignore' });
  const client = new Modern(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(transport);
  return clientOf(client, undefined);
}

describe('parley mcp', () => {
  it.each([
    ['with a handshake', legacy],
    ['without one', modern],
  ])('connects a client %s to a daemon', async (_how, open) => {
    const client = await open(['--url', house.address, '--key', PRIVATE_KEY]);
    expect((await client.tools()).map(({ name }) => name)).toContain('start_outbound_call');
    expect((await client.call('get_agent', { agent_id: 'baker' })).data).toMatchObject({ name: 'Baker' });
    expect(await client.read('parley://agents/baker')).toContain('You sell bread.');
    expect(await client.prompts()).toContain('review_call');
    await client.close();
  });

  it('serves a data folder by itself', async () => {
    const client = await modern(['--data-dir', folder]);
    const config = { prompt: 'You sell tea.', llm: { model: 'scripted' } };
    expect((await client.call('create_agent', { name: 'Tea', config })).data).toMatchObject({ version: 1 });
    await client.close();
    // The key of the process is revoked, and the folder is free again.
    const { out } = await parley(['keys', 'list'], { env: { PARLEY_DATA_DIR: folder } });
    expect(out).not.toContain('parley mcp');
    expect(out).toContain('first key');
  });

  const env = { PARLEY_API_KEY: PRIVATE_KEY };
  const lines = (text: string): unknown[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);

  it('answers each line, and says what is wrong', async () => {
    const ping = { jsonrpc: '2.0', id: 'p', method: 'ping' };
    const stdin = [
      '{',
      '',
      JSON.stringify(ping),
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    ];
    const { code, out } = await parley(['mcp', '--url', house.address], { stdin, env });
    expect(code).toBe(0);
    expect(lines(out)).toEqual([
      { jsonrpc: '2.0', id: null, error: { code: -32_700, message: expect.stringContaining('JSON') as string } },
      { jsonrpc: '2.0', id: 'p', result: {} },
    ]);
    const failing = async (args: string[]) =>
      lines((await parley(['mcp', ...args], { stdin: [stdin[2] ?? ''], env })).out);
    const fails = (words: string) => [
      { jsonrpc: '2.0', id: 'p', error: { code: -32_603, message: expect.stringContaining(words) as string } },
    ];
    expect(await failing(['--url', 'http://127.0.0.1:9'])).toEqual(fails('no daemon answers at http://127.0.0.1:9'));
    expect(await failing(['--url', house.address, '--key', 'sk_wrong'])).toEqual(fails('The key is missing or wrong'));
  });

  it.each([
    [['mcp'], 'the API key is missing'],
    [['mcp', '--config', 'x'], '--config needs --data-dir'],
    [['mcp', '--data-dir', 'x', '--key', 'k'], '--data-dir excludes'],
    [['mcp', '--url', 'ftp://x', '--key', 'k'], '--url must be'],
  ])('%j is wrong usage', async (args, words) => {
    expect(await parley(args)).toMatchObject({ code: 2, err: expect.stringContaining(words) as string });
  });
});
