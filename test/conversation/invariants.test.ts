import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ConversationConfig, mergeConfig } from '../../src/agent/flow/conversation-config.js';
import { Conversation } from '../../src/conversation/conversation.js';
import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../src/conversation/events.js';
import type { ConversationState } from '../../src/conversation/state.js';
import { CORE_RULES } from '../../src/testing/simulator/simulate.js';

/** An event and when it comes. Ids below `FITTING` become the one that fits just now; others are stale or were never given. */
interface Happening {
  afterMs: number;
  event: ConversationEvent;
  position: PlayoutPosition;
}

const FITTING = 9;
const NOTHING_HEARD: PlayoutPosition = { utteranceId: null, heardChars: 0 };
/** More than any conversation takes that is left alone. */
const MOST_STEPS = 3000;
const WORDS = [
  '',
  'leave a message after the tone',
  'say your name',
  'please hold',
  'yes',
  'mm-hm',
  'stop',
  'a table for',
  'four people, please.',
  'five five',
  'bye',
  'I',
  '…',
];
const small = fc.integer({ min: 0, max: 12 });
const words = fc.constantFrom(...WORDS);
const odd = fc.constantFrom(-1, 0.5, 1e15, Number.NaN, Infinity);
const time = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 30_000 }) }, { weight: 1, arbitrary: odd });
const name = fc.constantFrom(
  'lookup',
  'end_call',
  'transfer_call',
  'press_digits',
  'slow',
  'constructor',
  '__proto__',
  '',
);
const callId = fc.constantFrom('a', 'a', 'b', '__proto__', '', 'a-2');
const args = fc.constantFrom('{}', '', '{"message":"Goodbye then."}', '{"digits":"1w2"}', '{broken');

/** Commands of a program; each gets its id when it comes. */
const GUEST = { id: 'ada', name: 'Ada', channel: 'line', by: null, mode: 'take_over', whisperTo: null } as const;

const COMMANDS: readonly ConversationEvent[] = [
  { type: 'command.say', id: 0, text: 'Listen.', when: 'now', interruptible: false },
  { type: 'command.say', id: 0, text: 'Listen. It is important.', when: 'afterSentence' },
  { type: 'command.say', id: 0, text: 'Listen.', when: 'next' },
  { type: 'command.generate', id: 0, instructions: 'Sing.', when: 'now', tools: [] },
  { type: 'command.generate', id: 0, instructions: 'Sing.' },
  { type: 'command.interrupt', id: 0 },
  { type: 'command.add', id: 0, role: 'system', content: 'It rains.' },
  { type: 'command.update', id: 0, update: 1, settings: { systemPrompt: 'You are Bob.', toolMs: 900 } },
  { type: 'command.mute', id: 0, side: 'agent', on: true },
  { type: 'command.mute', id: 0, side: 'agent', on: false },
  { type: 'command.mute', id: 0, side: 'user', on: true },
  { type: 'command.hold', id: 0, music: true, maxMs: 20_000 },
  { type: 'command.unhold', id: 0 },
  { type: 'command.transfer', id: 0, target: '+15550199' },
  { type: 'command.press', id: 0, digits: '12w#' },
  { type: 'command.record', id: 0, on: false },
  { type: 'command.join', id: 0, participant: GUEST },
  { type: 'command.join', id: 0, participant: { ...GUEST, id: 'bob', mode: 'barge_in' } },
  { type: 'command.participant', id: 0, participant: 'ada', mode: 'whisper', held: false },
  { type: 'command.participant', id: 0, participant: 'bob', mode: 'take_over', held: true },
  { type: 'command.participant', id: 0, participant: 'bob', mode: 'barge_in', held: false, muted: false },
  { type: 'command.leave', id: 0, participant: 'ada', reason: 'lost' },
  { type: 'command.leave', id: 0, participant: 'bob', reason: 'removed' },
  { type: 'participant.speaking', participant: 'bob', on: true },
  { type: 'participant.speaking', participant: 'bob', on: false },
  { type: 'participant.said', participant: 'ada', text: 'We will send it today.' },
];

const event: fc.Arbitrary<ConversationEvent> = fc.oneof(
  fc.constant({ type: 'line.opened' as const }),
  { weight: 6, arbitrary: fc.record({ type: fc.constant('speech.started' as const), startMs: time }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('speech.stopped' as const), endMs: time }) },
  fc.record({
    type: fc.constant('turn.judged' as const),
    probability: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), odd),
  }),
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('transcript' as const),
      segment: fc.oneof({ weight: 9, arbitrary: small }, { weight: 1, arbitrary: odd }),
      text: words,
      isFinal: fc.boolean(),
      understood: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('text' as const), text: words }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('digits' as const), digits: fc.constantFrom('1', '12#', '#', 'x', '*9') }),
  },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('llm.text' as const), requestId: small, text: words }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('llm.toolCall' as const),
      requestId: small,
      call: fc.record({ id: callId, name, arguments: args }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('llm.done' as const), requestId: small }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('llm.failed' as const), requestId: small, reason: fc.constant('r') }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('tool.result' as const),
      callId,
      ok: fc.boolean(),
      content: fc.constant('x'),
    }),
  },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('utterance.started' as const), utteranceId: small }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('utterance.finished' as const), utteranceId: small }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('utterance.failed' as const),
      utteranceId: small,
      reason: fc.constant('r'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('transfer.result' as const),
      callId,
      ok: fc.boolean(),
      reason: fc.constant('busy'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('beep' as const), endMs: time }) },
  fc.record({ type: fc.constant('command.say' as const), text: words }),
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('command.withdraw' as const), id: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 12, arbitrary: fc.constantFrom(...COMMANDS) },
  { weight: 20, arbitrary: fc.constant({ type: 'time' as const }) },
);
const lastEvent: fc.Arbitrary<ConversationEvent> = fc.constantFrom(
  { type: 'line.closed', error: null },
  { type: 'line.closed', error: 'broken' },
  { type: 'command.end' },
  { type: 'ears.failed', reason: 'r' },
);

const happening = (events: fc.Arbitrary<ConversationEvent>): fc.Arbitrary<Happening> =>
  fc.record({
    afterMs: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 12_000 })),
    event: events,
    position: fc.record({ utteranceId: fc.option(small), heardChars: fc.oneof(small, fc.constantFrom(-5, 1e6)) }),
  });
const script = fc
  .tuple(
    fc.array(happening(event), { maxLength: 120 }),
    fc.array(happening(lastEvent), { maxLength: 1 }),
    fc.array(happening(event), { maxLength: 10 }),
  )
  .map(([before, end, after]) => [...before, ...end, ...after]);

const config: fc.Arbitrary<ConversationConfig> = fc
  .record({
    firstMessage: fc.constantFrom(null, 'Hello, how can I help?'),
    userStarts: fc.boolean(),
    allowed: fc.boolean(),
    keepMessage: fc.boolean(),
    openingAllowed: fc.boolean(),
    fillerMs: fc.constantFrom(null, 0, 1500),
    endCall: fc.boolean(),
    goodbyes: fc.constantFrom([], ['Goodbye.', 'So long.']),
    idleMs: fc.constantFrom(null, 5000),
    maxIdleMs: fc.constantFrom(null, 12_000),
    stuckMs: fc.constantFrom(500, 12_000),
    closingMs: fc.constantFrom(0, 15_000),
    executeAfterMessage: fc.boolean(),
    actions: fc.boolean(),
    voicemail: fc.constantFrom(null, 'hangup' as const, 'message' as const),
    continues: fc.boolean(),
    outbound: fc.boolean(),
  })
  .map((c) =>
    mergeConfig({
      opening: { firstMessage: c.firstMessage, userStarts: c.userStarts, userStartTimeoutMs: 4000 },
      interruption: {
        allowed: c.allowed,
        keepMessage: c.keepMessage,
        openingAllowed: c.openingAllowed,
      },
      endpointing: { stuckMs: c.stuckMs },
      filler: { afterMs: c.fillerMs, messages: [] },
      endCall: { enabled: c.endCall, instruction: null, messages: c.goodbyes },
      transfer: c.actions
        ? { targets: [{ phone: '+15550100', description: null }], instruction: null, messages: c.goodbyes }
        : null,
      direction: c.outbound ? ('outbound' as const) : ('inbound' as const),
      voicemail:
        c.voicemail === null
          ? null
          : {
              action: c.voicemail,
              message: 'Please call back.',
              continueOnVoiceActivity: c.continues,
              detectionPhrases: [],
            },
      keypad: { enabled: c.actions, instruction: null },
      inactivity: c.idleMs === null ? null : { idleMs: c.idleMs, message: null },
      limits: { maxDurationMs: 300_000, maxIdleMs: c.maxIdleMs, message: null },
      toolSpeech: {
        slow: {
          messages: ['One moment.'],
          responseMode: 'strict' as const,
          executeAfterMessage: c.executeAfterMessage,
        },
      },
      deadlines: { closingMs: c.closingMs },
    }),
  );

/** Gives most events the id that fits, so that scripts get somewhere. */
function fit(
  happened: ConversationEvent,
  { reply, speculation, speech, turn, tools, transfer }: Readonly<ConversationState>,
): ConversationEvent {
  const asked = speculation?.reply ?? reply;
  if ('requestId' in happened && happened.requestId < FITTING && asked !== null) {
    return { ...happened, requestId: asked.requestId };
  }
  if ('utteranceId' in happened && happened.utteranceId < FITTING && speech.queue[0] !== undefined) {
    return { ...happened, utteranceId: speech.queue[0].id };
  }
  if (happened.type === 'transcript' && happened.segment < FITTING) {
    return { ...happened, segment: turn.lastSegment + 1 + (happened.segment % 2) };
  }
  if (happened.type === 'tool.result' && happened.callId === 'a' && tools[0] !== undefined) {
    return { ...happened, callId: tools[0].call.id };
  }
  if (happened.type === 'transfer.result' && happened.callId === 'a' && transfer !== null) {
    return { ...happened, callId: transfer.callId };
  }
  return happened;
}

function fitPosition(position: PlayoutPosition, { speech }: Readonly<ConversationState>): PlayoutPosition {
  const playing = speech.queue[0];
  const fits = position.utteranceId !== null && position.utteranceId < FITTING && playing?.playing === true;
  return fits ? { ...position, utteranceId: playing.id } : position;
}

/** Plays a script; `restoreAt`: from that step on with a conversation restored from JSON. */
function play(settings: ConversationConfig, happenings: readonly Happening[], restoreAt?: number) {
  let conversation = new Conversation(settings);
  const rules = CORE_RULES.map((make) => make(settings));
  const effects: ConversationEffect[][] = [];
  const step = (happened: ConversationEvent, atMs: number, position = NOTHING_HEARD): void => {
    const followed = conversation.step(happened, atMs, position);
    effects.push(structuredClone(followed));
    const { state, nextDeadlineMs } = conversation;
    for (const rule of rules) {
      rule.onStep?.({ atMs, event: happened, position, effects: followed, state, nextDeadlineMs });
    }
  };
  let nowMs = 0;
  let commands = 0;
  const numbered = (happened: ConversationEvent): ConversationEvent =>
    'id' in happened && happened.id === 0 ? { ...happened, id: ++commands } : happened;
  step({ type: 'line.opened' }, 0);
  for (const [index, { afterMs, event: happened, position }] of happenings.entries()) {
    if (index === restoreAt) {
      conversation = new Conversation(settings, JSON.parse(JSON.stringify(conversation.state)) as ConversationState);
    }
    // Deadlines are met, as a session would, unless the script has something earlier.
    const untilMs = nowMs + afterMs;
    for (let due = conversation.nextDeadlineMs; due !== undefined && due < untilMs; due = conversation.nextDeadlineMs) {
      nowMs = Math.max(nowMs, due);
      step({ type: 'time' }, nowMs);
    }
    nowMs = untilMs;
    const { state } = conversation;
    step(numbered(fit(happened, state)), nowMs, fitPosition(position, state));
  }
  // Left alone, every conversation comes to an end by itself.
  for (let count = 0; count < MOST_STEPS && conversation.state.line === 'open'; count++) {
    nowMs = Math.max(nowMs, conversation.nextDeadlineMs ?? 0);
    step({ type: 'time' }, nowMs);
  }
  for (const rule of rules) rule.onEnd?.(conversation.state);
  return { effects, state: conversation.state };
}

describe('whatever happens, in whatever order', () => {
  const seed = 20_261_121;

  it('the rules hold at every step, and the conversation ends once', () => {
    fc.assert(
      fc.property(config, script, (settings, happenings) => {
        const { state } = play(settings, happenings);
        for (const entry of state.history) {
          if (entry.role === 'assistant') for (const part of entry.parts) expect(part.heardChars).not.toBeNull();
        }
      }),
      { numRuns: 1500, seed },
    );
  });

  it('the same events give the same effects', () => {
    fc.assert(
      fc.property(config, script, (settings, happenings) => {
        expect(play(settings, happenings).effects).toEqual(play(settings, happenings).effects);
      }),
      { numRuns: 300, seed },
    );
  });

  it('a state that went through JSON goes on alike', () => {
    fc.assert(
      fc.property(config, script, fc.nat(60), (settings, happenings, restoreAt) => {
        expect(play(settings, happenings, restoreAt).effects).toEqual(play(settings, happenings).effects);
      }),
      { numRuns: 600, seed },
    );
  });
});
