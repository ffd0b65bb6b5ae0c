import type { ConversationConfig } from '../../../agent/flow/conversation-config.js';

/** A setting that a replay can change. */
export interface ReplaySetting {
  /** Section and member of a `ConversationConfig`. */
  path: readonly [keyof ConversationConfig, string];
  label: string;
  about: string;
  /** `ms` may be empty if the session had none. */
  kind: 'ms' | 'switch';
  /** The field of an agent's configuration that sets it; null = the engine's own. */
  field: string | null;
}

/** The sections with replayable settings. */
const SECTIONS = ['endpointing', 'interruption', 'filler', 'speculation'] as const;

/**
 * The settings for a replay of this session: those described below, then the other times and switches of these sections
 * by name.
 */
export function replaySettings(config: ConversationConfig): ReplaySetting[] {
  const described = new Set(REPLAY_SETTINGS.map(({ path }) => path.join('.')));
  const others = SECTIONS.flatMap((section) =>
    Object.entries(config[section]).flatMap(([member, value]): ReplaySetting[] => {
      const isKnown = described.has(`${section}.${member}`);
      const isTime = typeof value === 'number' && member.endsWith('Ms');
      if (isKnown || (!isTime && typeof value !== 'boolean')) return [];
      const kind = isTime ? 'ms' : 'switch';
      const label = titleOf(member);
      return [{ path: [section, member], label, about: `${section}.${member}`, kind, field: null }];
    }),
  );
  return [...REPLAY_SETTINGS, ...others];
}

/** `stuckMs` as `Stuck`, `keepMessage` as `Keep message`. */
function titleOf(member: string): string {
  const words = member.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The settings that decide the end of turns and interruptions, those of agents first. */
export const REPLAY_SETTINGS: readonly ReplaySetting[] = [
  {
    path: ['endpointing', 'responseDelayMs'],
    label: 'Response delay',
    about: 'The least silence after which the agent answers',
    kind: 'ms',
    field: 'flow.response_delay',
  },
  {
    path: ['endpointing', 'numberInputDelayMs'],
    label: 'Delay while digits are given',
    about: 'Comes on top while the user dictates a number',
    kind: 'ms',
    field: 'flow.response_delay.number_input_delay',
  },
  {
    path: ['interruption', 'allowed'],
    label: 'Interruption',
    about: 'Whether the user’s words stop the agent',
    kind: 'switch',
    field: 'flow.interruption.allowed',
  },
  {
    path: ['interruption', 'openingAllowed'],
    label: 'Interruption of the greeting',
    about: 'Whether they stop the first message, too',
    kind: 'switch',
    field: 'flow.interruption.first_messsage',
  },
  {
    path: ['filler', 'afterMs'],
    label: 'Filler after',
    about: 'From the end of the turn until a filler bridges the wait',
    kind: 'ms',
    field: 'flow.auto_fill_responses.response_gap_threshold',
  },
  {
    path: ['endpointing', 'minSilenceMs'],
    label: 'Silence after complete words',
    about: 'Ends a turn whose words are surely complete',
    kind: 'ms',
    field: null,
  },
  {
    path: ['speculation', 'earlySilenceMs'],
    label: 'Silence after early answers',
    about: 'Ends a turn no sooner where answers are begun while the user speaks',
    kind: 'ms',
    field: null,
  },
  {
    path: ['endpointing', 'maxSilenceMs'],
    label: 'Longest silence',
    about: 'Ends any turn, however incomplete its words are',
    kind: 'ms',
    field: null,
  },
  {
    path: ['endpointing', 'finalTranscriptMs'],
    label: 'Wait for final words',
    about: 'After that, words that may still change must do',
    kind: 'ms',
    field: null,
  },
  {
    path: ['interruption', 'maxHoldMs'],
    label: 'Speech without words',
    about: 'That lasts so long interrupts the agent',
    kind: 'ms',
    field: null,
  },
  {
    path: ['interruption', 'wordsAfterStopMs'],
    label: 'Wait for words after a noise',
    about: 'How long the agent is held for them',
    kind: 'ms',
    field: null,
  },
  {
    path: ['speculation', 'enabled'],
    label: 'Begin answers early',
    about: 'At a likely pause, before the turn is over',
    kind: 'switch',
    field: null,
  },
  {
    path: ['speculation', 'early'],
    label: 'Begin answers while the user speaks',
    about: 'On interim words that are probably complete',
    kind: 'switch',
    field: null,
  },
  {
    path: ['endpointing', 'stuckMs'],
    label: 'Speech without a transcript',
    about: 'Closes the turn after this time',
    kind: 'ms',
    field: null,
  },
  {
    path: ['interruption', 'keepMessage'],
    label: 'Keep interrupted words',
    about: 'The agent’s cut message if interruption is allowed; what the user said over the agent if not',
    kind: 'switch',
    field: 'flow.interruption.keep_interruption_message',
  },
];
