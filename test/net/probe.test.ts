import { afterEach, describe, expect, it } from 'vitest';
import { systemProbe } from '../../src/net/probe.js';
import { event, httpServer, type LocalServer } from './local-server.js';

let server: LocalServer | undefined;
afterEach(async () => {
  await server?.close();
});

describe('systemProbe', () => {
  const signal = new AbortController().signal;

  it("gives the JSON of an operator's address", async () => {
    server = await httpServer((request, response) => response.end(JSON.stringify({ path: request.url })));
    expect(await systemProbe.json(`${server.origin}/api/tags?x=1`, signal)).toEqual({ path: '/api/tags?x=1' });
  });

  it('rejects another status, what is no JSON, what is too large and what is not there', async () => {
    server = await httpServer((request, response) => {
      if (request.url === '/missing') response.writeHead(404).end('{}');
      else if (request.url === '/text') response.end('Ollama is running');
      else response.end('"'.padEnd(2_000_000, 'x'));
    });
    const { origin } = server;
    await expect(systemProbe.json(`${origin}/missing`, signal)).rejects.toThrow('status 404');
    await expect(systemProbe.json(`${origin}/text`, signal)).rejects.toThrow(SyntaxError);
    await expect(systemProbe.json(`${origin}/huge`, signal)).rejects.toMatchObject({ code: 'NET_TOO_LARGE' });
    await server.close();
    await expect(systemProbe.json(`${origin}/`, signal)).rejects.toThrow();
  });

  it('stops when it is aborted', async () => {
    const asked = event();
    server = await httpServer(() => {
      asked.fire();
    });
    const controller = new AbortController();
    const outcome = expect(systemProbe.json(`${server.origin}/`, controller.signal)).rejects.toThrow('enough');
    await asked.happened;
    controller.abort(new Error('enough'));
    await outcome;
  });

  it('knows which commands are on the PATH', async () => {
    expect(await systemProbe.hasCommand('sh')).toBe(true);
    expect(await systemProbe.hasCommand('no-such-command-here')).toBe(false);
  });
});
