import { type ConfigChanges, DEFAULT_CONVERSATION, OPTIONAL_SECTIONS } from '../../agent/flow/conversation-config.js';
import type { Random } from '../../base/random.js';

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
