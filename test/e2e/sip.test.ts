import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasTool } from '../../scripts/system-tools.mjs';
import { encodeG711 } from '../../src/audio/codecs/g711.js';
import { decodeWav } from '../../src/audio/files/wav.js';
import { packageFile } from '../../src/package-files.js';
import { ServedDaemon } from './served-daemon.js';

const KEY = 'sk_sip_e2e_0000000000000000000000000000';

interface Logged {
  call_status: string;
  call_id: string;
  voip: { from: string; to: string } | null;
  metadata: Record<string, unknown>;
  carrier_call_log: { codec: string; packets: { sent: number; received: number } } | null;
}

describe.skipIf(!hasTool('sipp')).each([0, 2])(
  'calls over SIP, from another implementation, with %i media threads',
  (threads) => {
    let folder = '';
    let daemon: ServedDaemon;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'parley-sip-e2e-'));
      const config = join(folder, 'settings.json');
      const sip = { sources: ['127.0.0.1'], listen: ['udp:127.0.0.1:0'], numbers: ['+12025550199'], keepAliveS: 0 };
      writeFileSync(config, JSON.stringify({ sip, media: { threads } }));
      daemon = await ServedDaemon.start('0', undefined, { PARLEY_CONFIG: config, PARLEY_API_KEY: KEY });
    }, 60_000);

    afterAll(async () => {
      await daemon.stop();
      rmSync(folder, { recursive: true });
    });

    async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
      const response = await fetch(daemon.address + path, {
        method,
        headers: { authorization: KEY, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return (await response.json()) as T;
    }

    /** sipp calls a user of ours with a scenario, to its end. Returns its exit code. */
    async function sippCalls(
      user: string,
      place: string,
      scenario: string,
      more: string[] = [],
    ): Promise<number | null> {
      const sound = join(folder, 'sound.ul');
      const [speech = new Int16Array()] = decodeWav(
        readFileSync(packageFile('fixtures/audio/booking/slt/name.wav')),
      ).channels;
      writeFileSync(sound, encodeG711('mulaw', Int16Array.from([...speech, ...new Int16Array(12_000)])));
      const file = join(folder, `${scenario}.xml`);
      const text = readFileSync(packageFile(`scripts/sip/scenarios/${scenario}.xml`), 'utf8');
      // It speaks until it learns that it was heard: its media may begin late.
      const reported = text.replace('<pause milliseconds="1000"/>', '<recv request="INFO"/>');
      writeFileSync(file, reported.replaceAll('TONE,1,0', `${sound},-1,0`));
      const args = ['-sf', file, '-i', '127.0.0.1', '-mi', '127.0.0.1', '-s', user, '-m', '1', '-nostdin', ...more];
      const child = spawn('sipp', [...args, '-timeout', '120', '-timeout_error', place], {
        cwd: folder,
        stdio: 'ignore',
      });
      const [code] = (await once(child, 'close')) as [number | null];
      return code;
    }

    /** sipp calls a user of ours, speaks until the agent has taken it for a turn, and hangs up. Returns its exit code. */
    async function sippSpeaks(user: string, place: string): Promise<number | null> {
      const socket = createSocket('udp4').bind(0, '127.0.0.1');
      await once(socket, 'listening');
      const { port } = socket.address();
      socket.close();
      await once(socket, 'close');
      const callId = `e2e-${randomUUID()}`;
      const watching = new AbortController();
      const events = await fetch(`${daemon.address}/events`, {
        headers: { authorization: KEY },
        signal: watching.signal,
      });
      const called = sippCalls(user, place, 'uac-media', ['-p', String(port), '-cid_str', callId]);
      await Promise.race([heard(events), called]);
      watching.abort();
      await hangUp(port, callId);
      return called;
    }

    /** Resolves when a turn of a user is over. */
    async function heard({ body }: Response): Promise<void> {
      let text = '';
      for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (/"role":"user","text":[^\n]*"is_final":true/.test(text)) return;
      }
    }

    /** Has sipp go on with its scenario, whose next step waits for this. */
    async function hangUp(port: number, callId: string): Promise<void> {
      const socket = createSocket('udp4');
      const lines = [
        `INFO sip:sipp@127.0.0.1:${String(port)} SIP/2.0`,
        'Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKheard',
        'From: <sip:test@127.0.0.1>;tag=test',
        'To: <sip:sipp@127.0.0.1>',
        `Call-ID: ${callId}`,
        'CSeq: 1 INFO',
        'Content-Length: 0',
      ];
      await new Promise((resolve) => socket.send(`${lines.join('\r\n')}\r\n\r\n`, port, '127.0.0.1', resolve));
      socket.close();
    }

    async function logged(callId: string | null, to: string): Promise<Logged> {
      let call: Logged | undefined;
      const isOver = async (): Promise<boolean> => {
        const { histories } = await ask<{ histories: Logged[] }>('GET', '/call-logs');
        call = histories.find((one) => one.call_id === callId || one.voip?.to === to);
        return call !== undefined && call.carrier_call_log !== null;
      };
      // The daemon takes 600 requests a minute from one address.
      await expect.poll(isOver, { timeout: 30_000, interval: 250 }).toBe(true);
      return call as Logged;
    }

    it('a registered call is handed over, a number is answered, and others are not', async () => {
      const wanted = { agent_id: 'the-crooked-fork', metadata: { table: '7' } };
      const ofCaller = async (): Promise<string[]> => {
        const { histories } = await ask<{ histories: Logged[] }>('GET', '/call-logs?phone_number=%2B12025550177');
        return histories.map(({ call_id }) => call_id);
      };
      const handed = await ask<{ call_id: string; sip_uri: string }>('POST', '/register_sip_call', wanted);
      const [, user = '', place = ''] = /^sip:([^@]+)@(.+)$/.exec(handed.sip_uri) ?? [];
      expect(await sippSpeaks(user, place)).toBe(0);
      const first = await logged(handed.call_id, user);
      expect(first).toMatchObject({ call_status: 'user-ended', call_id: handed.call_id, metadata: { table: '7' } });
      expect(first.carrier_call_log?.codec).toBe('PCMU');
      // A turn is words and the silence behind them: more than this of both.
      expect(first.carrier_call_log?.packets.received).toBeGreaterThan(30);
      expect(await ofCaller()).toEqual([handed.call_id]);
      expect(await sippCalls(user, place, 'uac-404')).toBe(0);

      expect(await sippCalls('+12025550199', place, 'uac-404')).toBe(0);
      await ask('POST', '/phones/import', { phone: '+12025550199' });
      await ask('POST', '/phones/+12025550199/set_agent', { agent_id: 'the-crooked-fork' });
      expect(await sippSpeaks('+12025550199', place)).toBe(0);
      const second = await logged(null, '+12025550199');
      expect(second).toMatchObject({ call_status: 'user-ended', voip: { from: '+12025550177', to: '+12025550199' } });
    }, 240_000);
  },
);
