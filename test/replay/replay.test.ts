import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../src/session/record/event-log.js';
import type { Toolbox } from '../../src/tools/tool.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { type EventLog, readLog } from '../../src/replay/read-log.js';
import { replay } from '../../src/replay/replay.js';
import { whatIf } from '../../src/replay/what-if.js';
import { type ConfigChanges, mergeConfig } from '../../src/agent/flow/conversation-config.js';
import { generate } from '../../src/testing/simulator/generate.js';
import { seedOf } from '../../src/base/random.js';
import { stageFor } from '../../src/testing/simulator/script.js';
import { play, recording } from '../session/support.js';

const jsonLines = (log: readonly LogEntry[]): string => log.map((entry) => `${JSON.stringify(entry)}\n`).join('');

/** A session: two turns, a tool, and an acknowledgement over the answer. */
async function session(): Promise<{ log: LogEntry[]; read: EventLog }> {
  const toolbox: Toolbox = {
    specs: [{ name: 'lookup', description: '', parameters: { type: 'object', properties: {} } }],
    run: () => Promise.resolve({ ok: true, content: 'three tables' }),
    runAfterCall: () => Promise.resolve([]),
  };
  const { log } = await play(recording(20_000, [3000, 4000], [4700, 5500], [12_000, 12_400]), {
    lines: ['can you help me please', 'with a table', 'mm-hm'],
    toolbox,
    llm: functionLlm(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'There are three tables left, and all of them are by the window. Which of them would you like to have?'
        : { text: 'One moment.', calls: [{ name: 'lookup', arguments: '{}' }] },
    ),
  });
  return { log, read: readLog(jsonLines(log)) };
}

describe('replay', () => {
  it('of a session leads to the same effects, bit for bit', async () => {
    const { log, read } = await session();
    expect(replay(read)).toEqual({
      events: log.filter(({ kind }) => kind === 'event').length,
      effects: log.filter(({ kind }) => kind === 'effect').length,
      difference: null,
    });
    expect(read.isCut).toBe(false);
  });

  it('of simulated conversations with every kind of trouble likewise', () => {
    for (let index = 0; index < 200; index++) {
      const script = generate(seedOf(5, index));
      const log: LogEntry[] = [];
      const config = mergeConfig(script.config);
      log.push({ v: 1, t: 0, kind: 'start', sessionId: 's', config });
      const stage = stageFor(script, {
        onStep: (t, event, position, effects) => {
          log.push({ t, kind: 'event', event, position });
          for (const effect of effects) log.push({ t, kind: 'effect', effect });
        },
        onPlayed: () => undefined,
      });
      stage.playToEnd();
      expect(replay(readLog(jsonLines(log))).difference).toBeNull();
    }
  });

  it('says which effect is the first that is not the same', async () => {
    const { log } = await session();
    const at = log.findIndex((entry) => entry.kind === 'effect' && entry.effect.type === 'user.said');
    const other = { type: 'user.said', text: 'something else', turn: 1 } as const;
    const changed = log.with(at, { t: log[at]?.t ?? 0, kind: 'effect', effect: other });
    const { difference } = replay(readLog(jsonLines(changed)));
    expect(difference).toMatchObject({ logged: other, replayed: { type: 'user.said' }, atMs: log[at]?.t });

    const missing = replay(readLog(jsonLines(log.toSpliced(at, 1)))).difference;
    expect(missing?.replayed).toMatchObject({ type: 'user.said' });
    const opened = log.findIndex(({ kind }) => kind === 'event');
    const more = log.toSpliced(opened, 0, { t: 0, kind: 'effect', effect: other });
    expect(replay(readLog(jsonLines(more))).difference).toMatchObject({ logged: other, replayed: null });
  });

  it('of a log that breaks off goes as far as it goes', async () => {
    const { log } = await session();
    const text = jsonLines(log);
    const read = readLog(text.slice(0, Math.floor(text.length * 0.6)));
    expect(read.isCut).toBe(true);
    expect(replay(read).difference).toBeNull();
    // Written whole but for the effects of its last event.
    const lastEvent = log.findLastIndex(({ kind }) => kind === 'event');
    expect(replay(readLog(jsonLines(log.slice(0, lastEvent + 1)))).difference).toBeNull();
  });

  it('of a log from before a setting existed uses its default', async () => {
    const { log } = await session();
    const [start, ...rest] = log;
    const { speculation: _unknown, ...config } = (start as unknown as { config: Record<string, unknown> }).config;
    const old = readLog(jsonLines([{ ...start, config } as unknown as LogEntry, ...rest]));
    expect(replay(old).difference).toBeNull();
  });
});

describe('a log that is none', () => {
  const start = '{"v":1,"t":0,"kind":"start","sessionId":"s","config":{}}\n';
  it.each([
    ['', 'LOG_INVALID', /line 1: the log is empty/],
    ['hello\n', 'LOG_INVALID', /line 1: it is not valid JSON/],
    ['[1]\n', 'LOG_INVALID', /line 1: it is not an object/],
    ['{"level":30,"msg":"listening"}\n', 'LOG_INVALID', /the first entry must have the kind "start"/],
    ['{"v":1,"kind":"start"}\n', 'LOG_INVALID', /the settings are missing/],
    ['{"v":7,"kind":"start","config":{}}\n', 'LOG_VERSION_UNSUPPORTED', /version 7; this parley reads version 1/],
    ['{"kind":"start","config":{}}\n', 'LOG_VERSION_UNSUPPORTED', /version null/],
    [`${start}${start}`, 'LOG_INVALID', /line 2: a second session/],
    [`${start}\n{"t":1,"kind":"surprise"}\n`, 'LOG_INVALID', /line 3: unknown kind "surprise"/],
    [`${start}{"kind":"event","event":{"type":"time"}}\n`, 'LOG_INVALID', /line 2: the time is missing/],
    [`${start}{"t":1,"kind":"event"}\n`, 'LOG_INVALID', /line 2: the event is missing/],
    [`${start}{"t":1,"kind":"event","event":{"type":"time"}}\n`, 'LOG_INVALID', /the position is missing/],
    [`${start}{"t":1,"kind":"effect","effect":3}\n`, 'LOG_INVALID', /line 2: the effect is missing/],
    [`${start}{"t":1,\n{"t":1,"kind":"note"}\n`, 'LOG_INVALID', /line 2: it is not valid JSON/],
  ])('%j', (text, code, message) => {
    expect(() => readLog(text)).toThrow(message);
    expect(() => readLog(text)).toThrow(expect.objectContaining({ code }));
  });
});

describe('what if', () => {
  it('nothing were different: the same turns, and as in the session', async () => {
    const { log, read } = await session();
    const { turns, before, after } = whatIf(read, {});
    expect(turns.every(({ isSame }) => isSame)).toBe(true);
    expect(after).toEqual(before);
    expect(before?.status).toBe('user-ended');
    const said = log.flatMap((entry) =>
      entry.kind === 'effect' && entry.effect.type === 'user.said' ? [[entry.t, entry.effect.text]] : [],
    );
    expect(turns.slice(1).map(({ before: turn }) => [turn?.decidedMs, turn?.user])).toEqual(said);
    const answer = log.find((entry) => entry.kind === 'event' && entry.event.type === 'utterance.started');
    expect(turns[0]?.before?.agent[0]?.fromMs).toBeCloseTo(answer?.t ?? 0, -2);
  });

  it('the agent waited longer: what were two turns is one', async () => {
    const { read } = await session();
    const { turns } = whatIf(read, { endpointing: { responseDelayMs: 3000 } });
    const users = turns.map(({ before, after }) => [before?.user ?? null, after?.user ?? null]);
    expect(users).toContainEqual(['can you help me please', 'can you help me please with a table']);
    expect(users).toContainEqual(['with a table', null]);
    const joined = turns.find(({ after }) => after?.user.endsWith('with a table'));
    expect(joined?.after?.decidedMs).toBeGreaterThanOrEqual(5500 + 3000 - 50);
    expect(joined?.isSame).toBe(false);
  });

  it('it had greeted otherwise, or ended the call itself', async () => {
    const { read } = await session();
    const greeted = whatIf(read, { opening: { firstMessage: 'Good evening.' } });
    expect(greeted.turns[0]).toMatchObject({
      before: { agent: [{ text: 'Hello there.' }] },
      after: { agent: [{ text: 'Good evening.', isWhole: true }] },
      isSame: false,
    });
    const ended = whatIf(read, { limits: { maxDurationMs: 9000 } });
    expect(ended.after?.status).toBe('timeout');
    expect(ended.before?.status).toBe('user-ended');
  });

  it('the turn had been cut in two: what is asked anew has no recorded answer', async () => {
    const { read } = await session();
    const eager = { minSilenceMs: 0, maxSilenceMs: 0, finalTranscriptMs: 0, stuckMs: 1000 };
    const { turns } = whatIf(read, { endpointing: eager, interruption: { allowed: false, keepMessage: true } });
    expect(turns.some(({ isSame }) => !isSame)).toBe(true);
  });

  it('a section of the log lacks a member that is newer than the log: it has its default', () => {
    const older = { voicemail: { action: 'message', message: 'Hi.' }, inactivity: { idleMs: 5000 } } as const;
    const { voicemail, inactivity } = mergeConfig(older);
    expect(voicemail).toMatchObject({
      action: 'message',
      message: 'Hi.',
      continueOnVoiceActivity: false,
      detectionPhrases: [],
    });
    expect(inactivity).toMatchObject({ idleMs: 5000, message: null });
    expect(mergeConfig({ transfer: { targets: [] } }).transfer).toMatchObject({ messages: [], attended: null });
    expect(mergeConfig({ transfer: null }).transfer).toBeNull();
  });

  it.each([
    [{ endpoint: {} }, /endpoint: unknown setting/],
    [{ endpointing: { minSilence: 3 } }, /endpointing\.minSilence: unknown setting/],
    [{ endpointing: 3 }, /endpointing: must be an object/],
    [{ endpointing: { minSilenceMs: '3' } }, /endpointing\.minSilenceMs: must be a number/],
    [{ filler: { messages: 'Hm.' } }, /filler\.messages: must be an array/],
    [{ language: {} }, /language: must be a single value/],
    [{ inactivity: { message: null } }, /inactivity\.idleMs: required/],
    [{ inactivity: 5 }, /inactivity: must be an object/],
    [[], /the changes: must be an object/],
  ])('the settings were %j: refused', async (changes, message) => {
    const { read } = await session();
    const played = (): unknown => whatIf(read, changes as ConfigChanges);
    expect(played).toThrow(message);
    expect(played).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
