import { Random } from '../../base/random.js';
import { randomFollowing, randomSteps } from './flow.js';
import type { Act, Script } from './script.js';
import type { ConversationEvent } from '../../conversation/events.js';
import {
  type ConfigChanges,
  DEFAULT_CONVERSATION,
  mergeConfig,
  OPTIONAL_SECTIONS,
} from '../../agent/flow/conversation-config.js';
import type { ReplyTiming, ScriptedCall } from '../../stage/model.js';

const SOURCES: readonly ((random: Random) => Act[])[] = [
  randomUser,
  randomModel,
  randomTools,
  randomAgents,
  randomVoice,
  randomLine,
  randomStrays,
  randomCommands,
  randomParticipants,
];

/** Generates the script of one conversation. The same seed gives the same script. */
export function generate(seed: number): Script {
  const random = new Random(seed);
  const config = randomConfig(random);
  const voice = { msPerChar: random.pick([20, 60, 90]), latencyMs: random.pick([0, 80, 350]) };
  const following = config.steps == null ? [] : randomFollowing(random);
  return { config, voice, acts: [...following, ...SOURCES.flatMap((source) => source(random))] };
}

/** Events that fit nothing, or that come twice, too late or out of order; and what others have the agent do. */
export function randomStrays(random: Random): Act[] {
  const acts: Act[] = [];
  const count = random.chance(0.7) ? 0 : random.int(1, 6);
  for (let index = 0; index < count; index++) {
    acts.push({ on: 'stage', does: 'send', with: [randomStray(random), { at: random.int(0, 40_000) }] });
  }
  return acts;
}

function randomStray(random: Random): ConversationEvent {
  const id = random.chance(0.9) ? random.int(0, 12) : random.pick([-1, 0.5, 1e15]);
  const atMs = random.pick([-1000, random.int(0, 40_000), 1e12]);
  const text = random.pick(['', 'yes', 'Nobody asked for this. Really.', '…']);
  return random.weighted<ConversationEvent>([
    [1, { type: 'line.opened' }],
    [2, { type: 'speech.started', startMs: atMs }],
    [2, { type: 'speech.stopped', endMs: atMs }],
    [2, { type: 'transcript', segment: id, text, isFinal: random.chance(0.5), understood: random.chance(0.7) }],
    [1, { type: 'digits', digits: random.pick(['', 'x', '***************************************9']) }],
    [1, { type: 'tool.progress', callId: random.pick(['call-1', 'same', 'nobody']), text }],
    [2, { type: 'tool.result', callId: random.pick(['call-1', 'same', 'nobody']), ok: true, content: text }],
    [2, { type: 'turn.judged', probability: random.pick([0, 0.5, 1, -3]) }],
    [2, { type: 'beep', endMs: atMs }],
    [0.3, { type: 'fax', sign: random.pick(['answer', 'modem', 'calling']) }],
    [1, { type: 'sit', end: random.pick(['failed', 'busy']) }],
    [
      1,
      { type: 'transfer.result', callId: random.pick(['call-1', 'nobody']), ok: random.chance(0.5), reason: 'stray' },
    ],
    [1, { type: 'handover.failed', callId: random.pick(['call-1', 'nobody']), reason: 'stray' }],
    [1, { type: 'utterance.finished', utteranceId: id + 1000 }],
    [1, { type: 'utterance.failed', utteranceId: id + 1000, reason: 'stray' }],
    [1, { type: random.pick(['utterance.starved', 'utterance.fed']), utteranceId: id }],
    [2, { type: 'llm.text', requestId: id, text }],
    [1, { type: 'llm.text', requestId: id, text, flush: true, pauseMs: random.pick([0, 700, -5, 1e12]) }],
    [2, { type: 'llm.done', requestId: id }],
    [1, { type: 'language', language: random.pick(['fr', 'ja', 'en-US', '']) }],
    [0.3, { type: 'command.hangUp' }],
    [0.3, { type: 'command.transfer', target: '+4930123456' }],
    [3, { type: 'command.say', text }],
    [0.3, { type: 'ears.failed', reason: 'stray' }],
    [0.3, { type: 'command.end' }],
    [1, { type: 'time' }],
  ]);
}

const OTHER_AGENTS = ['billing', 'support'] as const;
const PLANS = ['all', 'last', 'summary', 'variables', 'none'] as const;

/** The agents to whom the conversation may be handed over. */
export function randomAgents(random: Random): Act[] {
  const share = random.pick([0.2, 0.5]);
  return OTHER_AGENTS.map((id): Act => {
    const afterMs = random.pick([0, 0, 400, 3000, 9000]);
    return random.weighted<Act>([
      [6, { on: 'agents', does: 'isReady', with: [id, otherConfig(random, share), { afterMs }] }],
      [1, { on: 'agents', does: 'isMissing', with: [id, 'it is disabled', { afterMs }] }],
      [1, { on: 'agents', does: 'neverComes', with: [id] }],
    ]);
  });
}

function otherConfig(random: Random, share: number): ConfigChanges {
  const sections = Object.entries({ ...turnSections(random), ...callSections(random) });
  return Object.fromEntries(sections.flatMap(([name, section]) => (random.chance(share) ? [[name, section()]] : [])));
}

/** What a program does with the conversation. */
export function randomCommands(random: Random): Act[] {
  const acts: Act[] = [];
  const count = random.chance(0.6) ? 0 : random.int(1, 12);
  let atMs = random.int(0, 8000);
  for (let id = 1; id <= count; id++) {
    acts.push({ on: 'stage', does: 'send', with: [randomCommand(random, id), { at: atMs }] });
    if (random.chance(0.1)) {
      acts.push({
        on: 'stage',
        does: 'send',
        with: [{ type: 'command.withdraw', id }, { at: atMs + random.int(0, 5000) }],
      });
    }
    atMs += random.chance(0.3) ? random.int(0, 300) : random.int(0, 8000);
  }
  return acts;
}

function randomCommand(random: Random, id: number): ConversationEvent {
  const when = random.pick(['next', 'afterSentence', 'now'] as const);
  const text = random.pick(['Please listen. This is important.', 'One moment.', '…']);
  const on = random.chance(0.5);
  return random.weighted<ConversationEvent>([
    [4, { type: 'command.say', id, text, when, interruptible: random.chance(0.7) }],
    [
      4,
      {
        type: 'command.generate',
        id,
        instructions: 'Say how late it is.',
        when,
        tools: on ? ['lookup'] : ['slow', 'end_call'],
      },
    ],
    [4, { type: 'command.interrupt', id }],
    [
      2,
      {
        type: 'command.add',
        id,
        role: random.pick(['system', 'user', 'assistant']),
        content: random.pick(['', 'It rains.']),
      },
    ],
    [
      2,
      {
        type: 'command.update',
        id,
        update: id,
        settings: { systemPrompt: 'You are somebody else.', toolMs: random.pick([500, 9000]) },
      },
    ],
    [3, { type: 'command.mute', id, side: random.pick(['user', 'agent']), on }],
    [3, { type: 'command.hold', id, music: on, maxMs: random.pick([0, 3000, 60_000]) }],
    [3, { type: 'command.unhold', id }],
    [1, { type: 'command.transfer', id, target: '+4930123456', attended: on }],
    [2, { type: 'command.press', id, digits: random.pick(['1w2#', 'x']) }],
    [
      2,
      {
        type: 'command.handover',
        id,
        agent: { id: random.pick(OTHER_AGENTS), name: 'Somebody else' },
        config: mergeConfig(otherConfig(random, 0.2)),
        summary: random.pick([null, 'They want a table.']),
        variables: {},
        order: {
          plan: random.pick(PLANS),
          messages: 2,
          variables: [],
          announcement: random.pick([null, 'One moment.']),
          reason: null,
          mayReturn: on,
        },
      },
    ],
    [1, { type: 'command.record', id, on }],
    [1, { type: 'command.listen', id, by: 'supervisor', on }],
  ]);
}

/** Somebody joins, does something else, speaks, or is gone. */
function participantEvent(random: Random, id: number): ConversationEvent {
  const who = random.pick(['ada', 'bob']);
  const mode = random.pick(['listen', 'whisper', 'barge_in', 'take_over'] as const);
  const on = random.chance(0.6);
  const guest = { id: who, name: who, channel: 'line', by: null, mode, whisperTo: null };
  return random.weighted<ConversationEvent>([
    [4, { type: 'command.join', id, participant: guest }],
    [3, { type: 'command.participant', id, participant: who, mode }],
    [1, { type: 'command.participant', id, participant: who, held: on, muted: random.chance(0.3) }],
    [2, { type: 'command.leave', id, participant: who, reason: random.pick(['left', 'removed', 'lost']) }],
    [2, { type: 'participant.speaking', participant: who, on }],
    [2, { type: 'participant.said', participant: who, text: random.pick(['We will send it today.', '…']) }],
  ]);
}

/** People who join a call for a while. */
export function randomParticipants(random: Random): Act[] {
  if (random.chance(0.7)) return [];
  const acts: Act[] = [];
  let atMs = random.int(0, 10_000);
  const count = random.int(3, 20);
  for (let at = 0; at < count; at++) {
    acts.push({ on: 'stage', does: 'send', with: [participantEvent(random, 1000 + at), { at: atMs }] });
    atMs += random.chance(0.4) ? random.int(0, 500) : random.int(0, 6000);
  }
  return acts;
}

const GOODBYES = [[], ['Goodbye.'], ['So long.', 'Thank you for calling. Goodbye.']] as const;
const DESK = { phone: '+4930123456', description: 'the desk' };
const FILLERS = [[], ['Hm.'], ['Let me think.', 'One second.', '…']] as const;

/**
 * Random settings of a conversation. A test checks that it varies every member of ConversationConfig. Switches and
 * numbers vary without a mention here; other members need values.
 */
export function randomConfig(random: Random): ConfigChanges {
  const config: ConfigChanges = {};
  const sections = Object.entries({ ...turnSections(random), ...callSections(random), ...modelSections(random) });
  // Most conversations differ from the defaults in some sections, few in all.
  const share = random.pick([0.2, 0.5, 1]);
  for (const [name, section] of sections) {
    if (random.chance(share)) Object.assign(config, { [name]: withOtherMembers(name, section(), random) });
  }
  // Conversations that nothing else ends last until the limit; longer ones would find nothing more.
  config.limits = { ...config.limits, maxDurationMs: random.pick([10_000, 60_000, 120_000, 240_000]) };
  return config;
}

const ALL_SECTIONS: Readonly<Record<string, unknown>> = { ...DEFAULT_CONVERSATION, ...OPTIONAL_SECTIONS };

/** Adds switches and numbers that the functions below do not mention: both values, or 0 to twice the default. */
function withOtherMembers(name: string, section: unknown, random: Random): unknown {
  const all = ALL_SECTIONS[name];
  // `randomConfig` sets the one missing limit.
  if (!isSection(section) || !isSection(all) || name === 'limits') return section;
  const others = Object.entries(all).filter(([member]) => !Object.hasOwn(section, member));
  const values: Record<string, unknown> = { ...section };
  for (const [member, usual] of others) {
    if (typeof usual === 'boolean') values[member] = random.chance(0.5);
    if (typeof usual === 'number') values[member] = random.pick([0, usual, 2 * usual]);
  }
  return values;
}

function isSection(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Sections = { [Key in keyof ConfigChanges]: () => ConfigChanges[Key] };

/** Sections about turn-taking. */
const turnSections = (random: Random): Sections => ({
  language: () => random.pick(['en-US', 'en-GB', 'de-DE', 'fr-FR', 'hi-IN', 'ja-JP', 'zh-CN', 'ko-KR']),
  systemPrompt: () => random.pick(['', 'You are the desk of a restaurant.']),
  direction: () => random.pick(['inbound', 'outbound'] as const),
  opening: () => ({
    firstMessage: random.pick([null, '', 'Hello.', 'Hello, this is the desk of the restaurant. How can I help you?']),
    userStarts: random.chance(0.5),
    userStartTimeoutMs: random.pick([0, 2000, 8000]),
  }),
  interruption: () => ({
    allowed: random.chance(0.7),
    keepMessage: random.chance(0.5),
    openingAllowed: random.chance(0.5),
    maxHoldMs: random.pick([400, 2000, 4000]),
    wordsAfterStopMs: random.pick([0, 500, 1500]),
  }),
  endpointing: () => ({
    responseDelayMs: random.pick([0, 700, 3000]),
    numberInputDelayMs: random.pick([0, 1000, 3000]),
    minSilenceMs: random.pick([0, 280, 800]),
    maxSilenceMs: random.pick([200, 1600, 4000]),
    finalTranscriptMs: random.pick([0, 600, 1200]),
    stuckMs: random.pick([1000, 5000, 12_000]),
  }),
  speculation: () => ({
    enabled: random.chance(0.5),
    costPerTurn: random.pick([null, 0.0001]),
    promptPrice: random.pick([0, 2]),
    completionPrice: random.pick([0, 8]),
    earlySilenceMs: random.pick([0, 600]),
  }),
  modelHears: () => random.chance(0.5),
  filler: () => ({ afterMs: random.pick([null, 0, 800, 4000]), messages: [...random.pick(FILLERS)] }),
});

/** Sections about the call. */
const callSections = (random: Random): Sections => ({
  endCall: () => ({
    enabled: random.chance(0.8),
    instruction: random.pick([null, 'Use it when all is said.']),
    messages: [...random.pick(GOODBYES)],
  }),
  voicemail: () =>
    random.chance(0.8)
      ? {
          action: random.pick(['hangup', 'message'] as const),
          message: random.pick([null, 'This is the desk of the restaurant. Please call us back.']),
          continueOnVoiceActivity: random.chance(0.5),
          detectionPhrases: random.pick([[], ['a table for']]),
        }
      : null,
  transfer: () =>
    random.chance(0.8)
      ? {
          targets: random.pick([[], [DESK], [DESK, { phone: '+4930123457', description: null }]]),
          instruction: random.pick([null, 'Use it when the user is angry.']),
          messages: random.pick([[], ['I will put you through.']]),
          attended: random.chance(0.3)
            ? {
                briefing: random.pick([null, 'Somebody wants to talk to you. {summary}']),
                confirm: random.chance(0.5),
                ringMs: random.pick([5_000, 20_000]),
                holdSound: random.pick(['none', 'music'] as const),
                holdMessages: random.pick([[], ['One moment, please.', 'Still ringing.']]),
              }
            : null,
        }
      : null,
  switchLanguage: () => (random.chance(0.7) ? { languages: random.pick([[], ['en-US', 'fr'], ['de', 'ja']]) } : null),
  handover: () =>
    random.chance(0.8)
      ? {
          maxHops: random.pick([1, 4]),
          targets: OTHER_AGENTS.map((id) => ({
            agent: { id, name: id },
            when: random.pick([null, 'It is about money.']),
            plan: random.pick(PLANS),
            messages: random.int(1, 4),
            variables: random.pick([[], ['order']]),
            announcement: random.pick([null, 'I will put you through to my colleague.', '…']),
            mayReturn: random.chance(0.7),
          })),
        }
      : null,
  earlier: () =>
    random.pick([
      [],
      [
        { role: 'user' as const, content: 'A table for two.' },
        { role: 'assistant' as const, content: 'When?' },
      ],
    ]),
  doNotCall: () => random.chance(0.7),
  keypad: () => ({ enabled: random.chance(0.7), instruction: random.pick([null, 'Use it in menus.']) }),
  pauseRecording: () =>
    random.chance(0.5)
      ? { instruction: random.pick([null, 'Use it for cards.']), maxMs: random.pick([3000, 20_000]) }
      : null,
  inactivity: () =>
    random.chance(0.8)
      ? { idleMs: random.pick([1000, 5000, 15_000]), message: random.pick([null, 'Hello?', 'Are you there?']) }
      : null,
  limits: () => ({ maxIdleMs: random.pick([null, 4000, 20_000]), message: random.pick([null, 'Time is up.']) }),
});

/** Sections about the model and deadlines. */
const modelSections = (random: Random): Sections => ({
  history: () => ({ messageLimit: random.pick([null, 1, 4]), toolResultLimit: random.pick([null, 0, 1]) }),
  toolSpeech: () => ({
    slow: {
      messages: random.pick([[], ['One moment.'], ['I am looking it up.', 'Let me have a look.']]),
      responseMode: random.pick(['strict', 'flexible'] as const),
      executeAfterMessage: random.chance(0.5),
    },
  }),
  steps: () => randomSteps(random),
  deadlines: () => ({
    llmFirstMs: random.pick([1500, 4000, 9000]),
    llmGapMs: random.pick([1000, 4000, 8000]),
    stallFillerMs: random.pick([500, 2500, 5000]),
    speechStartMs: random.pick([500, 2000, 5000]),
    toolMs: random.pick([1000, 10_000, 60_000]),
    transferMs: random.pick([1000, 20_000, 60_000]),
    closingMs: random.pick([0, 3000, 15_000]),
  }),
});

const REPLIES = [
  'Yes.',
  'For how many people?',
  'We open at noon and close at eleven. On Sundays we are closed.',
  'Well, there is a table by the window, one in the garden, and one at the bar. Which of these would you like to have?',
  '…',
  'one two three four five six seven',
] as const;
const TOOLS = ['lookup', 'slow', 'never', 'missing', 'constructor'] as const;
const ACTIONS = [
  'end_call',
  'end_call',
  'transfer_call',
  'press_digits',
  'switch_language',
  'do_not_call',
  'pause_recording',
  'resume_recording',
  'hand_over',
  'hand_over',
  'hand_back',
] as const;
const ARGUMENTS = [
  '{}',
  '',
  '{"message":"Goodbye then."}',
  '{"message":5}',
  '{"digits":"1w2#"}',
  '{"language":"fr"}',
  '{"agent":"billing","variables":{"order":7},"reason":"They ask for the bill."}',
  '{"agent":"support","summary":"They want a table."}',
  '{broken',
] as const;

/** The model's replies. */
export function randomModel(random: Random): Act[] {
  const acts: Act[] = [];
  const trouble = random.pick([0, 0.2, 0.7]);
  const count = random.int(0, 8);
  if (random.chance(0.25)) acts.push({ on: 'model', does: 'speaksItself', with: [] });
  for (let index = 0; index < count; index++) {
    const timing = randomTiming(random, trouble);
    const saying = random.chance(0.5) ? { saying: random.pick(REPLIES) } : {};
    const unwell = random.chance(trouble);
    acts.push(
      random.weighted<Act>([
        [6, { on: 'model', does: 'says', with: [random.pick(REPLIES), timing] }],
        [3, { on: 'model', does: 'calls', with: [randomCalls(random), { ...timing, ...saying }] }],
        [unwell ? 4 : 0, { on: 'model', does: 'fails', with: [{ ...timing, ...saying }] }],
        [unwell ? 4 : 0, { on: 'model', does: 'stalls', with: [{ ...timing, ...saying }] }],
        [unwell ? 2 : 0, { on: 'model', does: 'saysNothing', with: [timing] }],
      ]),
    );
  }
  return acts;
}

/** Behaviours of the tools. */
export function randomTools(random: Random): Act[] {
  const afterMs = (): number => random.pick([0, 300, 2000, 12_000]);
  return [
    { on: 'tools', does: random.chance(0.8) ? 'answers' : 'fails', with: ['lookup', 'x', { afterMs: afterMs() }] },
    { on: 'tools', does: 'answers', with: ['slow', 'y', { afterMs: afterMs() }] },
    { on: 'tools', does: 'neverAnswers', with: ['never'] },
  ];
}

/** Outcomes of transfers. */
export function randomLine(random: Random): Act[] {
  const afterMs = random.pick([0, 2000, 15_000]);
  return random.weighted<Act[]>([
    [1, []],
    [1, [{ on: 'line', does: 'connects', with: [{ afterMs }] }]],
    [1, [{ on: 'line', does: 'doesNotConnect', with: ['busy', { afterMs }] }]],
    [1, [{ on: 'line', does: 'rings', with: [] }]],
  ]);
}

/** Faults of the agent's utterances, in order. */
export function randomVoice(random: Random): Act[] {
  const acts: Act[] = [];
  const count = random.chance(0.5) ? 0 : random.int(1, 4);
  for (let index = 0; index < count; index++) {
    const afterMs = random.pick([0, 300, 2000]);
    acts.push(
      random.weighted<Act>([
        [4, { on: 'voice', does: 'speaks', with: [{ count: random.int(1, 3) }] }],
        [2, { on: 'voice', does: 'isLate', with: [{ afterMs: random.pick([0, 400, 1900, 4800, 7000]) }] }],
        [1, { on: 'voice', does: 'fails', with: [{ count: random.int(1, 3), afterMs }] }],
        [1, { on: 'voice', does: 'stalls', with: [{ count: random.int(1, 3), afterMs }] }],
        [1, { on: 'voice', does: 'givesNoAudio', with: [{ count: random.int(1, 2) }] }],
      ]),
    );
  }
  return acts;
}

function randomTiming(random: Random, trouble: number): ReplyTiming {
  const usual = { afterMs: random.pick([0, 150, 600]), gapMs: random.pick([0, 20]) };
  if (!random.chance(trouble)) return usual;
  return { afterMs: random.pick([2000, 5000, 11_000]), gapMs: random.pick([0, 20, 300, 3000, 9000]) };
}

function randomCalls(random: Random): ScriptedCall[] {
  const names: string[] = random.chance(0.2) ? [random.pick(TOOLS)] : [];
  if (random.chance(0.4)) names.push(random.pick(ACTIONS));
  while (names.length === 0 || random.chance(0.3)) names.push(random.pick(TOOLS));
  return names.map((name) => {
    const call = { name, args: random.pick(ARGUMENTS) };
    return random.chance(0.3) ? { ...call, id: random.pick(['same', '', '__proto__']) } : call;
  });
}

const WORDS = [
  'yes',
  'no',
  'mm-hm',
  'okay, I see',
  'stop',
  'wait',
  'bye',
  'thank you, goodbye',
  'um',
  'a table for',
  'four people, please.',
  'five five one',
  'What time do you open?',
  'I would like to book a table for tomorrow evening at eight.',
  'No, that is not what I said, listen to me for a moment, please.',
  'ja genau',
  'はい',
  'hello',
  'how can I help you', // as the agent says itself
  'let me think',
  '',
  '…',
] as const;

const GREETING = [
  'The mobile phone you are calling is switched off.',
  'You have reached the desk.',
  'We cannot take your call right now.',
  'Please leave a message after the tone.',
  'Who is calling, please?',
] as const;

/** The acts of a user, with random errors of detection and recognition. */
export function randomUser(random: Random): Act[] {
  const acts: Act[] = [];
  // Some users are fast, some slow.
  const paceMs = random.pick([600, 2500, 6000]);
  const trouble = random.pick([0, 0.15, 0.6]);
  let atMs = random.int(0, 5000);
  let segment = 0;
  if (random.chance(0.1)) {
    // A machine answers, perhaps followed by a person.
    const sentences = GREETING.slice(random.int(0, 4), random.int(1, 5));
    const beep = random.chance(0.7) ? { beepAfterMs: random.pick([0, 500, 4000]) } : {};
    acts.push({
      on: 'user',
      does: 'greets',
      with: [sentences, { from: atMs, pauseMs: random.pick([200, 1500]), ...beep }],
    });
    segment = sentences.length;
    atMs += 60 * sentences.join('').length;
  }
  const says = (): void => {
    const words = random.pick(WORDS);
    const from = atMs;
    const to = from + Math.max(120, words.split(' ').length * random.int(150, 400));
    const troubled = random.chance(trouble) ? troubleHearing(random) : {};
    const heard = { from, to, segment: segment++, ...troubled };
    acts.push({ on: 'user', does: 'says', with: [words, heard] });
    if (random.chance(trouble * 0.4)) {
      // The recogniser revises its words, perhaps long after the final transcript.
      const revised = { ...heard, vad: false, final: random.chance(0.7), finalMs: random.int(0, 3000), interim: false };
      acts.push({ on: 'user', does: 'says', with: [random.pick(WORDS), revised] });
    }
    atMs = to;
  };
  const makesNoise = (): void => {
    const to = atMs + random.pick([80, 400, 1500, 6000]);
    acts.push({ on: 'user', does: 'noise', with: [{ from: atMs, to }] });
    atMs = to;
  };
  const count = random.int(0, 14);
  for (let index = 0; index < count; index++) {
    atMs += random.chance(0.3) ? random.int(0, 500) : random.int(0, paceMs);
    random.weighted<() => void>([
      [14, says],
      [3, makesNoise],
      [0.3, () => acts.push({ on: 'user', does: 'noiseWithoutEnd', with: [{ from: atMs }] })],
      [
        1.5,
        () => acts.push({ on: 'user', does: 'presses', with: [random.pick(['1', '55', '7#', '#']), { at: atMs }] }),
      ],
      [0.3, () => acts.push({ on: 'user', does: 'beeps', with: [{ at: atMs }] })],
      [1.5, () => acts.push({ on: 'user', does: 'types', with: [random.pick(WORDS), { at: atMs }] })],
    ])();
  }
  if (random.chance(0.8)) {
    const at = random.chance(0.15) ? random.int(0, atMs + 1000) : atMs + random.int(0, 15_000);
    acts.push({ on: 'user', does: 'hangsUp', with: [{ at, error: random.chance(0.1) ? 'the line broke' : null }] });
  }
  return acts;
}

function troubleHearing(random: Random): { vad?: boolean; final?: boolean; finalMs?: number; understood?: boolean } {
  return random.weighted([
    [3, { finalMs: random.pick([0, 40, 1500, 4000]) }],
    [2, { final: false }],
    [2, { understood: false }],
    [1, { vad: false }],
    [1, { interim: false, finalMs: random.pick([250, 2500]) }],
  ]);
}
