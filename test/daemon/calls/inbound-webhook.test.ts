import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { InboundWebhook } from '../../../src/daemon/calls/inbound-webhook.js';

const CALL = { callId: 'c1', from: '+12025550101', to: '+12025550100', carrier: 'sip', agentId: 'baker' };
const SECRET = `whsec_${Buffer.from('a secret of 24 bytes....').toString('base64')}`;

let server: Server;
let webhook: InboundWebhook;
let status: number;
/** Null = it never answers. */
let answer: string | null;
let asked: { headers: IncomingHttpHeaders; body: string }[];

beforeEach(async () => {
  [status, answer, asked] = [200, '{}', []];
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      asked.push({ headers: request.headers, body });
      if (answer !== null) response.writeHead(status).end(answer);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/who`;
  const to = { url, headers: { 'x-tenant': '7' } };
  webhook = new InboundWebhook({ to, secret: SECRET, clock: new RealClock(), nowUnixMs: () => 1_795_448_091_000 });
});

afterEach(async () => {
  await webhook.close();
  await webhook.close();
  server.closeAllConnections();
  server.close();
});

const ask = (signal = new AbortController().signal): Promise<unknown> => webhook.ask(CALL, signal);

describe('inboundWebhook', () => {
  it('is told of the call, with a signature', async () => {
    answer = JSON.stringify({ agent_id: 'night', metadata: { name: 'Ann' }, session_continuation: null });
    expect(await ask()).toEqual({ agent_id: 'night', metadata: { name: 'Ann' }, session_continuation: null });
    const [{ headers, body } = { headers: {}, body: '' }] = asked;
    expect(JSON.parse(body)).toEqual({
      type: 'call.inbound',
      call_id: 'c1',
      from: '+12025550101',
      to: '+12025550100',
      carrier: 'sip',
      agent_id: 'baker',
    });
    expect(headers['x-tenant']).toBe('7');
    const signed = `${String(headers['webhook-id'])}.1795448091.${body}`;
    const signature = createHmac('sha256', 'a secret of 24 bytes....').update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  });

  it('may answer nothing', async () => {
    answer = '';
    expect(await ask()).toEqual({});
  });

  it.each([
    ['not JSON', 200, 'yes', /JSON/],
    ['another member', 200, '{"agent": "night"}', /agent/],
    ['a wrong member', 200, '{"reject": "maybe"}', /reject/],
    ['a wrong configuration', 200, '{"agent_config": {"voice": 7}}', /voice/],
    ['an error', 503, '{}', /503/],
  ])('fails with a reason for %s', async (_what, code, text, reason) => {
    [status, answer] = [code, text];
    await expect(ask()).rejects.toThrow(reason);
  });

  it('is not waited for when the daemon closes', async () => {
    answer = null;
    const closing = new AbortController();
    const waiting = ask(closing.signal);
    closing.abort(new Error('closing'));
    await expect(waiting).rejects.toThrow();
  });
});
