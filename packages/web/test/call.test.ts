import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Call, type CallEnd } from '../src/call.js';
import { over, TabMemory, webRtcOrSocket } from '../src/choose-line.js';
import { connect } from '../src/connect.js';
import { CallError, type CallErrorCode } from '../src/errors.js';
import { checkOptions, type ConnectOptions } from '../src/options.js';
import { Lines } from './test-line.js';

/** What a browser has, as far as a call without a microphone touches it. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  const page = new EventTarget();
  vi.stubGlobal('location', { href: 'https://shop.example/offers/today.html' });
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
  vi.stubGlobal('navigator', {});
  vi.stubGlobal('RTCPeerConnection', Object);
  vi.stubGlobal('AudioContext', Object);
  return () => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  };
});

const KEY = {
  baseUrl: 'https://voice.example/base/',
  token: () => 'st_1',
  agentId: 'olive',
  microphone: false,
} as const;

let lines: Lines;
beforeEach(() => void (lines = new Lines()));

function call(options: Partial<ConnectOptions> = {}): Promise<Call> {
  return Call.begin(checkOptions({ ...KEY, ...options }), over(lines.open('socket')));
}

async function codeOf(promise: Promise<unknown>): Promise<CallErrorCode | null> {
  return promise.then(
    () => null,
    (error: unknown) => (error instanceof CallError ? error.code : 'failed'),
  );
}

describe('a call', () => {
  it('tells of both sides, and sends what the user types and presses', async () => {
    const olive = await call({ metadata: { guest: 'Ann' } });
    const told: unknown[] = [];
    for (const name of ['state', 'agentText', 'interrupted', 'turnTimes', 'action', 'error'] as const) {
      olive.on(name, (event) => told.push([name, event instanceof Error ? event.message : event]));
    }
    expect([olive.state, olive.sessionId, olive.transport]).toEqual(['listening', 'session-1', 'socket']);
    expect(lines.last.options).toMatchObject({ baseUrl: 'https://voice.example/base', metadata: { guest: 'Ann' } });

    olive.sendText('a table');
    olive.pressKeys('12');
    olive.pressKeys('#');
    olive.answerForm('form-1', null);
    lines.last.tell(
      { method: 'onresponsetext', data: 'For how many?', payload: { is_final: false, answer: 1 } },
      { method: 'clear' },
      { method: 'onresponsetext', data: 'For how', payload: { is_final: true, answer: 1 } },
      { method: 'ontranscript', data: 'four', payload: { is_final: false, turn: 1, segment: 0 } },
      { method: 'ai_action', payload: { id: 'a', name: 'transfer', phone: '+12025550100' } },
      { method: 'onerror', data: 'No such key.' },
    );
    expect(lines.last.sent).toEqual([
      { method: 'text', data: 'a table' },
      { method: 'dtmf', data: '12' },
      { method: 'dtmf', data: '#' },
      { method: 'form_result', payload: { id: 'form-1', value: null } },
    ]);
    expect(told).toEqual([
      ['state', 'thinking'],
      ['agentText', { text: 'For how many?', isFinal: false, answer: 1 }],
      ['interrupted', { answer: 1 }],
      ['agentText', { text: 'For how', isFinal: true, answer: 1 }],
      ['state', 'listening'],
      ['action', { id: 'a', name: 'transfer', phone: '+12025550100' }],
      ['error', 'No such key.'],
    ]);
    expect(
      olive.transcript.map(({ role, via, text, isFinal, isInterrupted }) => [role, via, text, isFinal, isInterrupted]),
    ).toEqual([
      ['user', 'text', 'a table', true, false],
      ['user', 'keys', '12#', true, false],
      ['agent', 'speech', 'For how', true, true],
      ['user', 'speech', 'four', false, false],
    ]);
    expect(() => olive.pressKeys('7x')).toThrow('"7x" has keys');
    olive.close();
  });

  it('tells the levels while somebody listens', async () => {
    const olive = await call();
    const levels: unknown[] = [];
    expect(vi.getTimerCount()).toBe(0);
    const stop = olive.on('level', (level) => levels.push(level));
    vi.advanceTimersByTime(100);
    expect(levels).toEqual(Array.from({ length: 3 }, () => ({ user: 0.25, agent: 0.5 })));
    stop();
    expect(vi.getTimerCount()).toBe(0);
    olive.close();
  });

  it('ends once, whoever ends it, and is silent afterwards', async () => {
    const olive = await call();
    const ends: CallEnd[] = [];
    olive.on('ended', (end) => ends.push(end));
    lines.last.tell({ method: 'onsessionended', payload: { status: 'timeout', limit: 'idle' } });
    lines.last.breaks(1000);
    olive.close();
    olive.sendText('Hello?');
    expect(ends).toEqual([{ status: 'timeout', limit: 'idle', error: null, resume: null }]);
    expect([olive.state, lines.last.isClosed, lines.last.sent]).toEqual(['ended', true, []]);

    const other = await call();
    other.close();
    other.close();
    expect(other.end).toMatchObject({ status: 'user-ended', error: null });
  });

  it('is given up by its signal, before and after it has begun', async () => {
    const abort = new AbortController();
    lines.refuse = () => 'silence';
    const waiting = codeOf(call({ signal: abort.signal }));
    await vi.advanceTimersByTimeAsync(10);
    abort.abort();
    expect(await waiting).toBe('aborted');
    expect(await codeOf(connect({ ...KEY, signal: abort.signal }))).toBe('aborted');

    lines.refuse = () => null;
    const later = new AbortController();
    const olive = await call({ signal: later.signal });
    later.abort();
    expect(olive.state).toBe('ended');
  });

  it('does not wait for ever', async () => {
    lines.refuse = () => 'silence';
    const waiting = codeOf(call());
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await waiting).toBe('timeout');
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a broken line', () => {
  it('is replaced by one that continues the session, with what was typed meanwhile', async () => {
    const olive = await call({ volume: 0.5 });
    expect(lines.last.volume).toBe(0.5);
    olive.setVolume(0.2);
    expect(() => olive.setVolume(Number.NaN)).toThrow('The volume NaN is not between 0 and 1');
    const told: unknown[] = [];
    olive.on('reconnecting', () => told.push('reconnecting'));
    olive.on('reconnected', ({ sessionId }) => told.push(sessionId));
    olive.sendText('a table');
    lines.refuse = () => new CallError('unreachable', 'down');
    lines.all[0]?.breaks();
    olive.sendText('for four');
    await vi.advanceTimersByTimeAsync(20_000);
    expect([olive.state, olive.transport]).toEqual(['reconnecting', null]);
    lines.refuse = () => null;
    await vi.advanceTimersByTimeAsync(6000);
    expect(told).toEqual(['reconnecting', 'session-2']);
    expect([lines.all[0]?.volume, lines.last.volume, olive.volume]).toEqual([0.2, 0.2, 0.2]);
    expect(lines.last.options.continuation).toEqual({ session_id: 'session-1', resume: true });
    expect(lines.last.sent).toEqual([{ method: 'text', data: 'for four' }]);
    expect(olive.transcript.map(({ text }) => text)).toEqual(['a table', 'for four']);
    olive.close();
  });

  it('tells a server that does not know the session what was said', async () => {
    const olive = await call();
    olive.sendText('a table');
    lines.refuse = (_, { continuation }) => {
      return continuation?.session_id === undefined ? null : new CallError('refused', 'no such session');
    };
    lines.all[0]?.breaks(1012);
    await vi.advanceTimersByTimeAsync(400);
    expect(lines.last.options.continuation).toEqual({ messages: [{ role: 'user', content: 'a table' }], resume: true });
    olive.close();
  });

  it('is given up after two minutes; another call can go on from there', async () => {
    const olive = await call();
    lines.refuse = () => new CallError('unreachable', 'down');
    lines.all[0]?.breaks();
    await vi.advanceTimersByTimeAsync(130_000);
    expect(olive.end).toMatchObject({ status: null, error: { code: 'lost' }, resume: { sessionId: 'session-1' } });
    lines.refuse = () => null;
    await call({ resume: olive.end?.resume ?? undefined });
    expect(lines.last.options.continuation).toEqual({ session_id: 'session-1', resume: true });
  });

  it('ends the call where the server closed it on purpose, or where there is no other token', async () => {
    const olive = await call();
    lines.last.breaks(1011, 'Something failed.');
    expect(olive.end).toMatchObject({ error: { code: 'failed', message: 'Something failed.' }, resume: {} });
    const single = await call({ token: 'st_single' });
    lines.last.breaks();
    expect(single.end).toMatchObject({ error: { code: 'lost' } });
  });
});

describe('the choice of the transport', () => {
  const memories: TabMemory[] = [];
  const auto = (memory: TabMemory, options: Partial<ConnectOptions> = {}): Promise<Call> => {
    memories.push(memory);
    return Call.begin(
      checkOptions({ ...KEY, ...options }),
      webRtcOrSocket(lines.open('webrtc'), lines.open('socket'), memory),
    );
  };
  afterEach(() => void memories.splice(0));

  it('is WebRTC where it works', async () => {
    expect((await auto(new TabMemory())).transport).toBe('webrtc');
    expect(lines.tried).toEqual(['webrtc']);
  });

  it('is the socket where WebRTC is blocked, at once from then on', async () => {
    const memory = new TabMemory();
    lines.refuse = (transport) => (transport === 'webrtc' ? 'silence' : null);
    const first = auto(memory);
    await vi.advanceTimersByTimeAsync(7000);
    expect((await first).transport).toBe('socket');
    expect((await auto(memory)).transport).toBe('socket');
    expect(lines.tried).toEqual(['webrtc', 'socket', 'socket']);
    expect(memory.of('https://other.example')).toBeNull();
  });

  it.each([
    ['webrtc', null, ['webrtc', 'socket']],
    ['busy', 503, ['webrtc', 'socket']],
    ['refused', 422, ['webrtc', 'socket']],
    ['refused', 401, ['webrtc']],
    ['refused', null, ['webrtc']],
    ['busy', 429, ['webrtc']],
    ['unreachable', null, ['webrtc']],
  ] as const)('after %s %s tries %j', async (code, status, tried) => {
    lines.refuse = (transport) => (transport === 'webrtc' ? new CallError(code, 'no', { status }) : null);
    await codeOf(auto(new TabMemory()));
    expect(lines.tried).toEqual(tried);
  });

  it('is not remembered where the socket fails too', async () => {
    const memory = new TabMemory();
    lines.refuse = () => new CallError('webrtc', 'no');
    expect(await codeOf(auto(memory))).toBe('webrtc');
    expect(memory.of('https://voice.example/base')).toBeNull();
  });

  it('is the socket for what WebRTC cannot do', async () => {
    await auto(new TabMemory(), { agentConfig: { language: 'de' } });
    vi.stubGlobal('RTCPeerConnection', undefined);
    await auto(new TabMemory());
    expect(lines.tried).toEqual(['socket', 'socket']);
  });
});

describe('a token function', () => {
  it('that fails or gives no token is told as such, with its own words', async () => {
    const fails = (token: ConnectOptions['token']): Promise<unknown> =>
      call({ token }).catch((error: unknown) => error instanceof CallError && [error.code, error.message]);
    const words = 'This page got no session token from its server';
    expect(await fails(() => Promise.reject(new Error('not signed in')))).toEqual(['token', `${words}: not signed in`]);
    expect(await fails(() => ({ session_token: 'st_1' }) as never)).toEqual([
      'token',
      `${words}: it is no text, and no object with the text "token".`,
    ]);
    const olive = await call({ token: () => ({ token: 'st_1' }) });
    expect(olive.state).toBe('listening');
    olive.close();
  });
});

describe('a daemon that the browser hides', () => {
  it.each([
    ['https://voice.example', 200, 'refused', 'The voice agent may not be used on pages of https://shop.example.'],
    ['https://voice.example', 502, 'unreachable', 'The server does not answer.'],
    ['https://voice.example', null, 'unreachable', 'The server does not answer.'],
    // The page's own server hides nothing.
    ['https://shop.example', 200, 'unreachable', 'The server does not answer.'],
  ])('%s, whose public script has the status %s: %s', async (baseUrl, status, code, message) => {
    vi.stubGlobal('location', { href: 'https://shop.example/offers', origin: 'https://shop.example' });
    vi.stubGlobal('fetch', async (url: string, { method }: RequestInit) => {
      if (method !== 'HEAD' || status === null) throw new TypeError('Failed to fetch');
      expect(url).toBe(`${baseUrl}/web-sdk.js`);
      return new Response(null, { status });
    });
    await expect(connect({ baseUrl, publicKey: 'pk_1', agentId: 'olive', microphone: false })).rejects.toMatchObject({
      code,
      message,
    });
  });
});

describe('options', () => {
  it.each<[string, ConnectOptions]>([
    ['either a publicKey or a token', { agentId: 'a' }],
    ['either a publicKey or a token', { agentId: 'a', publicKey: 'pk', token: 'st' }],
    ['an agentId', { publicKey: 'pk' }],
    ['"ftp://x" is no address', { agentId: 'a', publicKey: 'pk', baseUrl: 'ftp://x' }],
    ['The volume 1.5 is not between 0 and 1', { agentId: 'a', publicKey: 'pk', volume: 1.5 }],
    ['"udp" is no transport', { agentId: 'a', publicKey: 'pk', transport: 'udp' as 'socket' }],
  ])('are checked: %s', async (words, options) => {
    await expect(connect(options)).rejects.toThrow(words);
    expect(await codeOf(connect(options))).toBe('options');
  });

  it('have addresses relative to the page', () => {
    const base = (baseUrl?: string): string => checkOptions({ publicKey: 'pk', agentId: 'a', baseUrl }).baseUrl;
    expect([base(), base('/voice/'), base('https://v.example')]).toEqual([
      'https://shop.example/offers',
      'https://shop.example/voice',
      'https://v.example',
    ]);
  });
});
