import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import { ParleyError } from '../../src/base/errors.js';
import type { LlmProvider, LlmRequest } from '../../src/providers/llm/llm.js';
import type { Session } from '../../src/session/session.js';
import type { ChangedAgent } from '../../src/session/session-options.js';
import type { SessionCommand } from '../../src/session/steered-session.js';
import type { TapFrame } from '../../src/session/tap.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import { expectReplay, play, type Played, type PlayOptions, recording, saidBy } from './support.js';

const LONG = 'one two three four five six seven eight nine ten eleven twelve thirteen.';
/** The agent greets first. */
const OPENED = 1500;

type Deed = (session: Session) => Promise<unknown>;

/** Plays a call in which a program does something at certain times. `results`: of its deeds, in their order. */
async function steered(
  deeds: readonly (readonly [atMs: number, deed: Deed])[],
  { samples = recording(20_000), ...options }: PlayOptions & { samples?: Int16Array } = {},
): Promise<Played & { results: unknown[] }> {
  const results: unknown[] = deeds.map(() => 'open');
  const played = await play(samples, {
    ...options,
    before: (session, clock) => {
      options.before?.(session, clock);
      for (const [index, [atMs, deed]] of deeds.entries()) {
        clock.schedule(atMs, () => {
          deed(session).then(
            (result) => (results[index] = result ?? 'done'),
            (error: unknown) =>
              (results[index] = error instanceof ParleyError ? (error.details['why'] ?? error.code) : error),
          );
        });
      }
    },
  });
  return { ...played, results };
}

const requestsOf = (answer: (request: LlmRequest) => string): { llm: LlmProvider; requests: LlmRequest[] } => {
  const requests: LlmRequest[] = [];
  const llm = functionLlm((request) => {
    requests.push(request);
    return answer(request);
  });
  return { llm, requests };
};

describe('a program has the agent speak', () => {
  it('word for word, after what it says, after the sentence, or at once; and learns what was heard', async () => {
    const played = await steered([
      [500, (session) => session.say('First.')],
      [600, (session) => session.say(LONG)],
      [4000, (session) => session.say('In between.', { when: 'afterSentence' })],
      [9000, (session) => session.say(LONG)],
      [10_000, (session) => session.say('Stop, this is urgent.', { when: 'now', interruptible: false })],
      [10_200, (session) => session.say('No.', { when: 'now' })],
      [10_300, (session) => session.interrupt()],
      [10_400, (session) => session.say('…')],
    ]);
    const heard = played.results.map((result) => (result as { heard?: string }).heard ?? result);
    expect(heard.slice(0, 3)).toEqual(['First.', LONG, 'In between.']);
    expect(played.results[3]).toMatchObject({ text: LONG, complete: false });
    expect(LONG.startsWith(String(heard[3]))).toBe(true);
    expect(heard.slice(4)).toEqual(['Stop, this is urgent.', 'protected', 'protected', 'unspeakable']);
    expect(played.results[4]).toMatchObject({ complete: true });
    expect(saidBy(played)).toContain('Stop, this is urgent.');
    expectReplay(played.log);
  });

  it('by instructions, with the tools that it allows; they are in no later request', async () => {
    const toolbox = {
      specs: ['lookup', 'other'].map((name) => ({ name, description: name, parameters: {} })),
      run: async () => ({ ok: true, content: 'x' }),
    };
    const { llm, requests } = requestsOf(({ messages }) =>
      messages.at(-1)?.role === 'system' ? 'It is noon.' : 'You are welcome.',
    );
    const played = await steered(
      [
        [OPENED, (session) => session.generate({ instructions: 'Say how late it is.', tools: ['lookup'] })],
        [OPENED, (session) => session.addMessage({ role: 'system', content: 'The user is called Ada.' })],
      ],
      { samples: recording(12_000, [6000, 7000]), lines: ['thank you very much'], llm, toolbox },
    );
    expect(played.results).toEqual([{ text: 'It is noon.', heard: 'It is noon.', complete: true }, 'done']);
    const [asked, answer] = [requests[0], requests.at(-1)];
    expect(asked?.messages.at(-1)).toEqual({ role: 'system', content: 'Say how late it is.' });
    expect(asked?.tools.map(({ name }) => name)).toEqual(['lookup']);
    expect(answer?.tools.map(({ name }) => name)).toEqual(['lookup', 'other']);
    const notes = answer?.messages.filter(({ role }) => role === 'system').map(({ content }) => content);
    expect(notes).toContain('The user is called Ada.');
    expect(notes).not.toContain('Say how late it is.');
    expect(played.report.messages.map(({ role }) => role)).toEqual(['assistant', 'assistant', 'user', 'assistant']);
    expectReplay(played.log);
  });

  it('and stops it: what was not heard is not in the history', async () => {
    const played = await steered(
      [
        [OPENED, (session) => session.generate({ instructions: 'Count.' })],
        [4000, (session) => session.interrupt()],
        [4000, (session) => session.interrupt()],
      ],
      { llm: functionLlm(() => LONG) },
    );
    expect(played.results).toMatchObject([{ text: LONG, complete: false }, true, false]);
    const { heard } = played.results[0] as { heard: string };
    expect(heard.split(' ').length).toBeGreaterThan(2);
    expect(saidBy(played).at(-1)).toBe(heard);
    expect(played.events.filter(({ type }) => type === 'interrupted')).toEqual([
      { type: 'interrupted', by: 'program' },
    ]);
    expectReplay(played.log);
  });

  it('and says so where it has no words', async () => {
    const played = await steered([[OPENED, (session) => session.generate({ instructions: 'Count.' })]], {
      llm: functionLlm(() => ''),
    });
    expect(played.results).toMatchObject([{ text: '', heard: '', complete: false }]);
  });

  it('and takes it back by a signal, before it is said and while it is', async () => {
    const [early, late] = [new AbortController(), new AbortController()];
    const reason = new Error('not any more');
    const played = await steered([
      [500, (session) => session.say('Never.', { signal: early.signal })],
      [600, async () => early.abort(reason)],
      [OPENED, (session) => session.say(LONG, { signal: late.signal })],
      [3500, async () => late.abort(reason)],
      [4000, (session) => session.say('Too late.', { signal: late.signal })],
    ]);
    expect(played.results).toEqual([reason, 'done', reason, 'done', reason]);
    const said = saidBy(played).join(' ');
    expect(said).toContain('one two');
    expect(said).not.toContain('thirteen');
    expect(said).not.toContain('Too late');
    expectReplay(played.log);
  });

  it('is told when the model fails, and the user hears no apology for what they did not ask', async () => {
    const played = await steered([[OPENED, (session) => session.generate({ instructions: 'Count.' })]], {
      llm: functionLlm(() => ({ fault: 'no credit' })),
      samples: recording(6000),
      conversation: { inactivity: null },
    });
    expect(played.results).toEqual(['failed']);
    expect(saidBy(played)).toEqual(['Hello there.']);
  });
});

describe('a program silences a side', () => {
  it('the agent: it says nothing, and the user is still transcribed', async () => {
    const { llm, requests } = requestsOf(() => 'Good.');
    const played = await steered(
      [
        [OPENED, (session) => session.mute('agent')],
        [OPENED, (session) => session.mute('agent')],
        [5000, (session) => session.say('Hello?')],
        [5100, (session) => session.transfer('+4930123456')],
        [8000, (session) => session.mute('agent', false)],
      ],
      {
        samples: recording(16_000, [2500, 3500], [10_000, 11_000]),
        lines: ['my number is five', 'and you please'],
        llm,
      },
    );
    expect(played.results).toEqual(['done', 'done', 'muted', 'muted', 'done']);
    expect(played.report.messages.map(({ content }) => content)).toEqual([
      'Hello there.',
      'my number is five',
      'and you please',
      'Good.',
    ]);
    expect(requests.every(({ messages }) => messages.at(-1)?.content === 'and you please')).toBe(true);
    expect(played.events.filter(({ type }) => type === 'muted')).toEqual([
      { type: 'muted', side: 'agent', on: true },
      { type: 'muted', side: 'agent', on: false },
    ]);
    expectReplay(played.log);
  });

  it('the user: neither words nor keys are heard, and nobody asks whether they are there', async () => {
    const played = await steered([[OPENED, (session) => session.mute('user')]], {
      samples: recording(16_000, [4000, 5000]),
      lines: ['can you hear me'],
      conversation: { inactivity: { idleMs: 2000, message: 'Still there?' } },
    });
    expect(played.report.messages.map(({ content }) => content)).toEqual(['Hello there.']);
    expect(played.events.some((event) => event.type === 'speaking' && event.who === 'user')).toBe(false);
  });
});

describe('a user on hold', () => {
  /** A recogniser that counts its streams. */
  function counted(lines: readonly string[]): { stt: SttProvider; streams: string[] } {
    const inner = promptedStt({ lines });
    const streams: string[] = [];
    const stt: SttProvider = {
      ...inner,
      open: async (options, events) => {
        streams.push('opened');
        const stream = await inner.open(options, events);
        return {
          push: (samples, startSample) => stream.push(samples, startSample),
          speechStarted: (sample) => stream.speechStarted(sample),
          speechStopped: (sample) => stream.speechStopped(sample),
          endTurn: () => stream.endTurn(),
          close: () => {
            streams.push('closed');
            return stream.close();
          },
        };
      },
    };
    return { stt, streams };
  }

  it('hears music, is not heard, and gets the answer afterwards', async () => {
    const { stt, streams } = counted(['please look it up', 'are you back']);
    const played = await steered(
      [
        [3600, (session) => session.hold()],
        [3700, (session) => session.say('Hello?')],
        [12_000, (session) => session.unhold()],
        [12_100, (session) => session.unhold()],
      ],
      {
        samples: recording(24_000, [2500, 3500], [6000, 7000]),
        stt,
        llm: functionLlm(() => 'Here it is.', { firstMs: 1500 }),
        conversation: { inactivity: { idleMs: 5000, message: 'Still there?' } },
      },
    );
    expect(played.results).toEqual(['done', 'held', 'done', 'done']);
    const before = played.audio.subarray(8 * 16_000, 9 * 16_000);
    expect(before.some((sample) => Math.abs(sample) > 100)).toBe(true);
    expect(saidBy(played).slice(0, 2)).toEqual(['Hello there.', 'Here it is.']);
    const users = played.report.messages.filter(({ role }) => role === 'user');
    expect(users).toEqual([{ role: 'user', content: 'please look it up' }]);
    expect(streams.slice(0, 3)).toEqual(['opened', 'closed', 'opened']);
    const held = played.events.flatMap((event) => (event.type === 'held' ? [event.on] : []));
    expect(held).toEqual([true, false]);
    const asked = played.log.find(
      (entry) => entry.kind === 'effect' && entry.effect.type === 'speak' && entry.effect.kind === 'prompt',
    );
    expect(asked === undefined || asked.t > 12_000).toBe(true);
    expectReplay(played.log);
  });

  it('is taken off it in the end, if nobody does', async () => {
    const played = await steered([[OPENED, (session) => session.hold({ music: false, maxMs: 5000 })]], {
      samples: recording(14_000, [8000, 9000]),
      lines: ['I am still here please'],
    });
    const events = played.log.flatMap((entry) =>
      entry.kind === 'effect' && entry.effect.type === 'line.unhold' ? [entry.t] : [],
    );
    expect(events).toEqual([OPENED + 5000]);
    expect(saidBy(played).at(-1)).toBe('That is fine.');
  });
});

describe('a program moves the call', () => {
  it('to somebody whom the agent does not know, and learns whether they were reached', async () => {
    const outcomes = [{ ok: false, reason: 'busy' } as const, { ok: true } as const];
    const targets: string[] = [];
    const played = await steered(
      [
        [OPENED, (session) => session.transfer('+4930111111')],
        [OPENED, (session) => session.transfer('+4930222222')],
        [1900, (session) => session.interrupt()],
        [1950, (session) => session.hold()],
        [9000, (session) => session.transfer('+4930333333')],
      ],
      {
        wrap: (transport) =>
          Object.assign(Object.create(transport) as typeof transport, {
            start: transport.start.bind(transport),
            play: transport.play.bind(transport),
            send: transport.send.bind(transport),
            close: transport.close.bind(transport),
            transfer: async (target: string) => {
              targets.push(target);
              return outcomes.shift() ?? { ok: true };
            },
          }),
      },
    );
    expect(played.results).toEqual(['notConnected', 'transferring', 'transferring', 'transferring', 'done']);
    expect(targets).toEqual(['+4930111111', '+4930333333']);
    expect(played.report).toMatchObject({ status: 'agent-ended' });
    expectReplay(played.log);
  });

  it('presses keys after the words, and ends it with a message', async () => {
    const played = await steered([
      [300, (session) => session.pressKeys('12#')],
      [400, (session) => session.pressKeys('5')],
      [400, (session) => session.pressKeys('hello')],
      [6000, (session) => session.end({ message: 'We close now. Goodbye.' })],
      [6100, (session) => session.say('One more thing.')],
    ]);
    expect(played.results).toMatchObject(['done', 'pressing', 'keysInvalid', { status: 'api-ended' }, 'ending']);
    expect(saidBy(played)).toEqual(['Hello there.', 'We close now. Goodbye.']);
    expectReplay(played.log);
  });

  it('gets an error where nothing can be done: before the start, after the end, without a recording', async () => {
    let kept: Session | undefined;
    let early: unknown;
    const played = await steered(
      [
        [OPENED, (session) => session.pauseRecording()],
        [OPENED, (session) => session.updateAgent({ prompt: 'x' })],
      ],
      {
        samples: recording(4000),
        before: (session) => {
          kept = session;
          session.say('Hello?').catch((error: unknown) => (early = error));
        },
      },
    );
    expect(played.results).toEqual(['unsupported', 'unsupported']);
    expect(early).toMatchObject({ code: 'COMMAND_REFUSED', details: { why: 'notStarted', command: 'say' } });
    await expect(kept?.interrupt()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    // Nobody has to wait for it.
    void kept?.say('Hello?');
    await expect(kept?.end()).resolves.toMatchObject({ sessionId: 's1' });
  });

  it('pauses the recording', async () => {
    const calls: string[] = [];
    const noted = {
      path: 'x.wav',
      close: async () => undefined,
      pause: () => void calls.push('pause'),
      resume: () => void calls.push('resume'),
    };
    const record: Deed = (session) => session.pauseRecording();
    const played = await steered(
      [
        [500, record],
        [600, record],
        [700, (session) => session.resumeRecording()],
      ],
      { recording: noted },
    );
    expect(played.results).toEqual(['done', 'done', 'done']);
    expect(calls).toEqual(['pause', 'resume']);
  });
});

describe('a change of the agent', () => {
  it('begins with the next reply, model, voice, tools and prompt together', async () => {
    const old: LlmRequest[] = [];
    const { llm: after, requests: later } = requestsOf(() => 'As you like.');
    const voice = { ...toneTts(), name: 'other-voice' };
    const changed: ChangedAgent = {
      settings: { systemPrompt: 'You are Bob.' },
      toolbox: {
        specs: [{ name: 'bob', description: '', parameters: {} }],
        run: async () => ({ ok: true, content: '' }),
      },
      metadata: { name: 'Bob' },
      model: { llm: after, model: 'newer', temperature: 1 },
      voice: { tts: voice, voiceId: 'bob', model: null, settings: {} },
    };
    const played = await steered([[4500, (session) => session.updateAgent({ prompt: 'You are Bob.' })]], {
      samples: recording(22_000, [2500, 3500], [15_000, 16_000]),
      lines: ['tell me a story please', 'thank you very much'],
      llm: functionLlm(
        (request) => {
          old.push(request);
          return LONG;
        },
        { firstMs: 1500 },
      ),
      change: async () => changed,
    });
    expect(played.results).toEqual(['done']);
    expect(old.every(({ messages }) => messages[0]?.content !== 'You are Bob.')).toBe(true);
    expect(later[0]).toMatchObject({
      model: 'newer',
      temperature: 1,
      messages: [{ content: 'You are Bob.' }, {}, {}, {}, {}],
    });
    expect(later[0]?.tools.map(({ name }) => name)).toEqual(['bob']);
    expect(saidBy(played)).toEqual(['Hello there.', LONG, 'As you like.']);
    expect(played.report.usage.tts.map(({ provider }) => provider)).toContain('other-voice');
    expect(played.events.filter(({ type }) => type === 'agentUpdated')).toHaveLength(1);
    expectReplay(played.log);
  });
});

describe('events and taps', () => {
  it('go to listeners of a type, of which one that throws is a fault with its stack', async () => {
    const seen: string[] = [];
    const faults: (string | undefined)[] = [];
    const played = await steered([], {
      samples: recording(6000, [2500, 3500]),
      lines: ['hello to you too'],
      before: (session) => {
        const stop = session.on('speaking', ({ who, isSpeaking }) => {
          seen.push(`${who} ${String(isSpeaking)}`);
          if (seen.length === 3) stop();
        });
        session.on('user', () => {
          throw new TypeError('a bug of the listener');
        });
        session.on('fault', ({ stack }) => void faults.push(stack));
      },
      llm: {
        ...functionLlm(() => ''),
        // eslint-disable-next-line require-yield -- it fails
        async *complete() {
          throw new RangeError('a bug of the provider');
        },
      },
    });
    expect(seen).toEqual(['agent true', 'agent false', 'user true']);
    expect(played.report.faults).toMatchObject({ 'observer.failed': 1 });
    expect(faults.some((stack) => stack?.includes('a bug of the provider'))).toBe(true);
    expect(played.report.faultCauses?.['observer.failed']).toContain('a bug of the listener');
  });

  async function tapped(
    side: 'user' | 'agent',
    options: PlayOptions = {},
  ): Promise<{ frames: TapFrame[]; played: Played }> {
    const frames: TapFrame[] = [];
    const samples = recording(6000, [2500, 3500]);
    let reading: Promise<void> | undefined;
    const played = await steered([], {
      samples,
      lines: ['hello to you'],
      ...options,
      before: (session) => {
        reading = (async () => {
          for await (const frame of session.tap(side, { maxFrames: 10_000 })) frames.push(frame);
        })();
      },
    });
    await reading;
    return { frames, played };
  }

  it('give what the line brought, to the sample, and what it played', async () => {
    const user = await tapped('user');
    const samples = recording(6000, [2500, 3500]);
    const heard = Int16Array.from(user.frames.flatMap((frame) => Array.from(frame.samples)));
    expect(heard.subarray(0, samples.length)).toEqual(samples);
    expect(user.frames.map(({ atSample }) => atSample)).toEqual(user.frames.map((_, index) => index * 320));
    const agent = await tapped('agent');
    const said = Int16Array.from(agent.frames.flatMap((frame) => Array.from(frame.samples)));
    // The line hears the first frame a tick after the start.
    expect(said.subarray(0, 5 * 16_000)).toEqual(agent.played.audio.subarray(320, 5 * 16_000 + 320));
    expect(agent.frames[1]).toMatchObject({ side: 'agent', sampleRateHz: 16_000, atSample: 320, dropped: 0 });
  });

  it('lose the oldest frames of a slow reader, count them, and end with the session or a signal', async () => {
    const abort = new AbortController();
    const got: TapFrame[] = [];
    let slow: AsyncGenerator<TapFrame> | undefined;
    let stopped: Promise<IteratorResult<TapFrame>> | undefined;
    await steered([[2000, async () => abort.abort()]], {
      samples: recording(4000),
      before: (session) => {
        slow = session.tap('user', { maxFrames: 5 });
        stopped = session.tap('agent', { signal: abort.signal }).return?.();
      },
    });
    for await (const frame of slow ?? []) got.push(frame);
    expect(got).toHaveLength(5);
    expect(got[0]?.dropped).toBe((got[0]?.atSample ?? 0) / 320);
    expect(got.slice(1).every(({ dropped }) => dropped === 0)).toBe(true);
    await expect(stopped).resolves.toMatchObject({ done: true });
  });
});

describe('commands that are plain data', () => {
  it('are those of the methods', async () => {
    const commands: SessionCommand[] = [
      { type: 'command.say', text: 'Hello again.' },
      { type: 'command.interrupt' },
      { type: 'command.mute', side: 'user', on: true },
    ];
    const played = await steered(
      commands.map(
        (command, index) =>
          [
            OPENED + 100 * index,
            (session) => session.control(JSON.parse(JSON.stringify(command)) as SessionCommand),
          ] as const,
      ),
      {
        conversation: { inactivity: DEFAULT_CONVERSATION.inactivity },
      },
    );
    expect(played.results).toMatchObject([{ text: 'Hello again.' }, { stopped: true }, 'done']);
  });
});
