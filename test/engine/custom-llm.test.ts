import { afterEach, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../src/agent/agent.js';
import { Engine } from '../../src/engine/engine.js';
import type { SessionRequest } from '../../src/engine/options.js';
import { silentTts } from '../../src/providers/tts/silent.js';
import type { Session } from '../../src/index.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { type Behaviour, CustomLlmServer } from '../vendors/custom-llm.js';

interface Call {
  server: CustomLlmServer;
  session: Session;
  line: MemoryTransport;
  report: Promise<SessionReport>;
  /** What the agent said, in order. */
  said: string[];
  until: (words: string) => Promise<void>;
}

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** The voice is quick: 4 ms a character. */
const QUICK = toneTts({ charMs: 4, firstMs: 1 });

async function call(behaviour: Behaviour, config: AgentConfig = {}, more: Partial<SessionRequest> = {}): Promise<Call> {
  const server = await CustomLlmServer.open(behaviour);
  const engine = new Engine({ allowUrls: [server.url] });
  cleanUps.push(
    () => server.close(),
    () => engine.close(),
  );
  const line = new MemoryTransport();
  const said: string[] = [];
  const waiting = new Set<() => void>();
  const session = await engine.createSession({
    agent: { custom_llm_websocket: server.url, ...config },
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: QUICK,
    agentId: 'desk',
    metadata: { name: 'Ann' },
    observe: (event) => {
      if (event.type !== 'agent') return;
      said.push(event.text);
      for (const wake of waiting) wake();
    },
    ...more,
  });
  const report = session.run();
  return {
    server,
    session,
    line,
    report,
    said,
    until: async (words) => {
      const signal = AbortSignal.timeout(20_000);
      while (!said.some((text) => text.includes(words))) {
        await new Promise<void>((resolve, reject) => {
          waiting.add(resolve);
          signal.addEventListener('abort', () => reject(new Error(`never said "${words}": ${said.join(' | ')}`)));
        });
      }
    },
  };
}

const greets: Behaviour = { onStart: (say) => say.response('Hello from my server.', { end_of_stream: true }) };

describe('custom_llm_websocket', () => {
  it('greets, answers with the whole history, and learns what was heard and played', async () => {
    const { server, session, line, report, until } = await call({
      ...greets,
      onRequest: (say, { transcript }) => {
        say.response('You said ');
        say.response(`${transcript.at(-1)?.content ?? ''}.`, { end_of_stream: true });
      },
    });
    await until('Hello from my server.');
    session.sendText('one');
    await until('You said one.');
    session.sendText('two');
    await until('You said two.');
    await server.until(() => server.of('playback_finished').length === 3, 'the third playback_finished');
    expect(server.of('start_call')).toEqual([
      {
        stream_id: '1',
        agent_id: 'desk',
        call_sid: null,
        session_id: session.id,
        metadata: { name: 'Ann' },
        voip: null,
      },
    ]);
    expect(server.of('stream_request').map(({ transcript }) => transcript)).toEqual([
      [
        { role: 'assistant', content: 'Hello from my server.' },
        { role: 'user', content: 'one' },
      ],
      [
        { role: 'assistant', content: 'Hello from my server.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'You said one.' },
        { role: 'user', content: 'two' },
      ],
    ]);
    expect(server.of('playback_finished')).toEqual(
      [1, 2, 3].map((id) => ({ session_id: session.id, stream_id: String(id) })),
    );
    line.hangUp();
    expect(await report).toMatchObject({ status: 'user-ended', faults: {} });
    expect(server.violations).toEqual([]);
  });

  it('sends the headers of its object form', async () => {
    const server = await CustomLlmServer.open(greets);
    cleanUps.push(() => server.close());
    const engine = new Engine({ allowUrls: [server.url] });
    cleanUps.push(() => engine.close());
    const session = await engine.createSession({
      agent: { custom_llm_websocket: { url: `${server.url}/agents?user={user}`, headers: { 'x-key': 'k {user}' } } },
      transport: new MemoryTransport(),
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      tts: silentTts,
      metadata: { user: 'Ann' },
    });
    void session.run();
    await server.until(() => server.of('start_call').length === 1, 'start_call');
    expect(server.headers[0]).toMatchObject({ 'x-key': 'k Ann' });
  });

  it('tells the server of words as they are recognised', async () => {
    const { server, line, until, session } = await call(greets, {}, { stt: promptedStt({ lines: ['a table'] }) });
    await until('Hello');
    for (let frame = 0; frame < 60; frame++) {
      line.pushAudio(
        Int16Array.from({ length: 320 }, (_, at) => (frame < 30 ? Math.round(6000 * Math.sin(at / 5)) : 0)),
      );
    }
    await server.until(() => server.of('partial_transcript').length > 0, 'partial_transcript');
    expect(server.of('partial_transcript')[0]).toEqual({
      session_id: session.id,
      transcript: 'a table',
      is_final: true,
    });
  });

  it('learns at once that the user has cut in, and what it still sends is left out', async () => {
    const long = 'This is a very long answer that goes on and on and will be interrupted for sure by the user. '.repeat(
      6,
    );
    let late: (() => void) | null = null;
    const { server, session, until, said } = await call({
      ...greets,
      onRequest: (say, { transcript }) => {
        if (transcript.at(-1)?.content !== 'go') {
          late?.();
          say.response('As you wish.', { end_of_stream: true });
          return;
        }
        say.response(long, { flush: true });
        late = () => say.response('Nobody should hear this.', { end_of_stream: true });
        setImmediate(() => session.sendText('stop'));
      },
    });
    await until('Hello');
    session.sendText('go');
    await until('As you wish.');
    expect(server.of('interrupt')).toEqual([{ stream_id: '2' }]);
    expect(said.join(' ')).not.toContain('Nobody should hear');
    expect(server.violations).toEqual([]);
  });

  it('ends the call after what it said, in a stream and after it', async () => {
    for (const type of ['end_call', 'terminate_call'] as const) {
      const { report, said } = await call({
        onStart: (say) => {
          say.response('Nobody is here. Goodbye.', type === 'end_call' ? {} : { end_of_stream: true });
          say.endCall(type);
        },
      });
      expect((await report).status).toBe('agent-ended');
      expect(said).toEqual(['Nobody is here. Goodbye.']);
    }
  });

  it('has the call transferred wherever it says', async () => {
    const { report, server, until } = await call({
      onStart: (say) => {
        say.response('I will put you through.', { end_of_stream: true });
        say.transfer('+4930123456');
      },
      onRequest: (say) => {
        say.response('That did not work.', { end_of_stream: true });
        say.endCall();
      },
    });
    await until('That did not work.');
    expect(await report).toMatchObject({ transfers: [{ target: '+4930123456', ok: false, reason: 'unsupported' }] });
    // What became of it stands in the history.
    expect(server.of('stream_request')[0]?.transcript.at(-1)).toMatchObject({
      role: 'system',
      content: expect.stringContaining('Not connected') as string,
    });
  });
});

describe('a server with faults', () => {
  it('that drops before it answers is asked again on a new connection of the same session', async () => {
    const { server, session, until } = await call({
      onStart: (say, _data, connection) => {
        if (connection === 1) say.response('Hello there.', { end_of_stream: true });
      },
      onRequest: (say, _data, connection) => {
        if (connection === 1) say.drop();
        else say.response('I am back.', { end_of_stream: true });
      },
    });
    await until('Hello there.');
    session.sendText('are you there');
    await until('I am back.');
    expect(server.connections).toBe(2);
    const starts = server.of('start_call');
    expect(new Set(starts.map(({ session_id }) => session_id)).size).toBe(1);
    expect(server.violations).toEqual([]);
  });

  it('that drops in the middle of a reply: what was said stands, and the call goes on', async () => {
    const { session, until, report, line } = await call({
      ...greets,
      onRequest: (say, _data, connection) => {
        if (connection > 1) {
          say.response('All is well again.', { end_of_stream: true });
          return;
        }
        say.response('This much was said.', { flush: true });
        setImmediate(() => say.drop());
      },
    });
    await until('Hello');
    session.sendText('go on');
    await until('This much was said.');
    session.sendText('and now');
    await until('All is well again.');
    line.hangUp();
    expect((await report).faults).toMatchObject({ 'customLlm.disconnected': 1 });
  });

  it('that greets again after a break is not heard twice', async () => {
    const { session, until, said } = await call({
      onStart: (say) => say.response('Hello from my server.', { end_of_stream: true }),
      onRequest: (say, _data, connection) => {
        if (connection === 1) say.drop();
        else say.response('Here I am.', { end_of_stream: true });
      },
    });
    await until('Hello');
    session.sendText('hello');
    await until('Here I am.');
    expect(said.filter((text) => text.includes('Hello'))).toHaveLength(1);
  });

  it.each<[string, Behaviour]>([
    [
      'garbage',
      {
        onStart: (say) => {
          for (const text of ['', '{', '[]', '7', '{"type":"stream_response"}', '{"type":"x","data":{"stream_id":1}}'])
            say.raw(text);
          say.response(5 as unknown as string);
          say.transfer('to the moon');
          say.response('Still here.', { end_of_stream: true });
        },
      },
    ],
    [
      'another stream_id',
      {
        onStart: (say) => {
          say.response('Not for you.', { stream_id: 99, end_of_stream: true });
          say.response('Still here.', { end_of_stream: true });
        },
      },
    ],
  ])('that sends %s is heard as far as it makes sense, and the faults are counted', async (_what, behaviour) => {
    const { until, said, line, report } = await call(behaviour);
    await until('Still here.');
    line.hangUp();
    const { faults } = await report;
    expect(faults['customLlm.badMessage'] ?? faults['customLlm.unknownStream']).toBeGreaterThan(0);
    expect(said).toEqual(['Still here.']);
  });

  it('that sends a huge message loses its connection, and is asked anew', async () => {
    const { until, server } = await call({
      onStart: (say, _data, connection) => {
        if (connection === 1) say.raw('x'.repeat(300_000));
        else say.response('Smaller this time.', { end_of_stream: true });
      },
    });
    await until('Smaller this time.');
    expect(server.connections).toBe(2);
  });

  it('that closes at once is tried again', async () => {
    const { until, server } = await call({
      onConnect: (socket, connection) => {
        if (connection < 3) socket.close();
      },
      onStart: (say) => say.response('Third time lucky.', { end_of_stream: true }),
    });
    await until('Third time lucky.');
    expect(server.connections).toBe(3);
  });
});

describe('the address', () => {
  it.each([
    'ws://127.0.0.1:9',
    'ws://localhost:9',
    'ws://0x7f.1:9',
    'ws://2130706433:9',
    'wss://[::1]:9',
    'ws://[::ffff:127.0.0.1]:9',
    'ws://10.1.2.3',
    'wss://169.254.169.254/latest',
    'ws://printer.local',
  ])('%s is refused where the operator does not allow it', async (url) => {
    const engine = new Engine();
    cleanUps.push(() => engine.close());
    const agent: AgentConfig = { custom_llm_websocket: url };
    await expect(engine.checkAgent({ agent, tts: silentTts })).rejects.toMatchObject({ code: 'NET_ADDRESS_REFUSED' });
  });
});
