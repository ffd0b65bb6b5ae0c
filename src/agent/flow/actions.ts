import * as z from 'zod';
import { optional, required } from '../../schema/field.js';
import { instructionSchema, phraseSchema, phrasesSchema } from '../../schema/text.js';
import { type Fill, filledPhrases } from '../variables.js';

export const agentTerminateCallSchema = z
  .strictObject({
    enabled: optional(z.boolean(), 'Whether the agent may end the call by itself.', { default: false }),
    instruction: optional(instructionSchema, 'When it should.', { default: 'when the conversation is over' }),
    messages: optional(phrasesSchema, 'Goodbyes to choose from.', { default: "the model's own words" }),
  })
  .meta({ id: 'AgentTerminateCall', description: 'The agent hanging up.' });

/** The agent hanging up. */
export interface EndCallConfig {
  enabled: boolean;
  instruction: string | null;
  /** One of these is said before the line is closed; empty = what the model says with the call. */
  messages: readonly string[];
}

export function resolveEndCall(
  endCall: z.infer<typeof agentTerminateCallSchema> | null | undefined,
  fill: Fill,
): EndCallConfig {
  return {
    enabled: endCall?.enabled ?? false,
    instruction: fill(endCall?.instruction) || null,
    messages: filledPhrases(endCall?.messages, fill),
  };
}

export const dtmfDialSchema = z
  .strictObject({
    enabled: optional(z.boolean(), 'Whether the agent may press keys.', { default: false }),
    instruction: optional(instructionSchema, 'When, and which.', { default: 'none' }),
  })
  .meta({ id: 'DTMFDial', description: 'The agent pressing phone keys.' });

/** The agent pressing keys. */
export interface KeypadConfig {
  enabled: boolean;
  instruction: string | null;
}

export function resolveKeypad(dtmfDial: z.infer<typeof dtmfDialSchema> | null | undefined, fill: Fill): KeypadConfig {
  return {
    enabled: dtmfDial?.enabled ?? false,
    instruction: fill(dtmfDial?.instruction) || null,
  };
}

const phoneSchema = z.string().max(200);

export const callTransferSchema = z
  .strictObject({
    phone: optional(phoneSchema, 'Where calls are transferred to.', { default: 'none' }),
    phones: optional(
      z
        .array(
          z
            .strictObject({
              phone: required(phoneSchema, 'A number to transfer to.'),
              description: optional(z.string().max(2_000), 'When it is the right one.', { default: 'none' }),
            })
            .meta({ id: 'TransferPhone', description: 'One destination of several.' }),
        )
        .max(100),
      'Several destinations to choose from.',
      { default: 'none' },
    ),
    instruction: optional(instructionSchema, 'When to transfer.', { default: 'when the user asks for a person' }),
    messages: optional(phrasesSchema, 'Said before the transfer.', { default: "the model's own words" }),
  })
  .meta({ id: 'CallTransfer', description: 'Handing the call to a person.' });

export const attendedTransferSchema = z
  .strictObject({
    enabled: optional(z.boolean(), 'Whether the agent speaks with the other person before it connects the user.', {
      default: false,
    }),
    briefing: optional(
      phraseSchema,
      "What the person hears first. `{summary}` is the model's summary of the user's wish.",
      { default: "a short sentence in the conversation's language, and `{summary}`" },
    ),
    confirm: optional(
      z.boolean(),
      'Whether the person is asked to take the call; else it is enough that a person answers.',
      { default: true },
    ),
    ring_timeout: optional(z.number().min(5).max(120), 'How long it rings there.', { unit: 's', default: 30 }),
    hold_sound: optional(z.enum(['music', 'ringing', 'none']), 'What the user hears meanwhile.', { default: 'music' }),
    hold_messages: optional(phrasesSchema, 'Said to the waiting user every 15 s.', {
      default: "a stock sentence in the conversation's language",
    }),
  })
  .meta({ id: 'AttendedTransfer', description: 'A transfer to a person who is asked first, while the user waits.' });

/** `extensions.transfer`: how calls are transferred. `flow.call_transfer` says where to and when. */
export const transferExtensionSchema = z
  .strictObject({
    attended: optional(attendedTransferSchema, 'Asking the person first, on phone calls.', { default: 'off' }),
  })
  .meta({ id: 'TransferExtension', description: 'How calls are transferred.' });

/** `extensions.recording`: what the agent may do with the recording of its call. */
export const recordingExtensionSchema = z
  .strictObject({
    pause: optional(
      z
        .strictObject({
          enabled: optional(z.boolean(), 'Whether the agent may pause the recording.', { default: false }),
          instruction: optional(instructionSchema, 'When it should.', {
            default: 'before the user says the number of a card or another secret, and when they ask for it',
          }),
          max_pause: optional(z.number().min(5).max(900), 'After this time the recording goes on by itself.', {
            unit: 's',
            default: 180,
          }),
        })
        .meta({ id: 'PauseRecording', description: 'The agent pausing the recording.' }),
      'Pausing it, for instance around the number of a card.',
      { default: 'off' },
    ),
  })
  .meta({ id: 'RecordingExtension', description: 'What the agent may do with the recording of its call.' });

/** The agent pausing the recording. */
export interface PauseRecordingConfig {
  instruction: string | null;
  /** After this time the recording goes on by itself. */
  maxMs: number;
}

export function resolvePauseRecording(
  recording: z.infer<typeof recordingExtensionSchema> | null | undefined,
  fill: Fill,
): PauseRecordingConfig | null {
  const pause = recording?.pause;
  if (pause?.enabled !== true) return null;
  return { instruction: fill(pause.instruction) || null, maxMs: (pause.max_pause ?? 180) * 1000 };
}

/** Transfers of the call to a person. */
export interface TransferConfig {
  targets: readonly TransferTarget[];
  /** The model may also name a target that is not in the list. Default false. */
  anyTarget?: boolean;
  instruction: string | null;
  /** One of these is said first; empty = what the model says with the call. */
  messages: readonly string[];
  /** Asks the other person before it connects the user. Default null: it connects at once. */
  attended?: AttendedTransferConfig | null;
}

export interface TransferTarget {
  phone: string;
  /** When it is the right one. */
  description: string | null;
}

/** An attended transfer: the agent asks the other person to take the call while the user waits. */
export interface AttendedTransferConfig {
  /** The first words to the person; `{summary}` in it is the model's. Null = a stock sentence. */
  briefing: string | null;
  /** The person has to accept the call; otherwise it is enough that a person answers. */
  confirm: boolean;
  /** Longest time that the person's phone rings. */
  ringMs: number;
  /** What the user hears meanwhile. */
  holdSound: 'music' | 'ringing' | 'none';
  /** Said to the waiting user in turn; empty = a stock sentence. */
  holdMessages: readonly string[];
}

/** Null without targets: calls are not transferred. `phone` comes first, unless `phones` describes it. */
export function resolveTransfer(
  transfer: z.infer<typeof callTransferSchema> | null | undefined,
  extension: z.infer<typeof transferExtensionSchema> | null | undefined,
  fill: Fill,
): TransferConfig | null {
  const described = (transfer?.phones ?? []).map(({ phone, description }) => ({
    phone: fill(phone).trim(),
    description: fill(description).trim() || null,
  }));
  const single = { phone: fill(transfer?.phone).trim(), description: null };
  const all = described.some(({ phone }) => phone === single.phone) ? described : [single, ...described];
  const targets = all.filter(({ phone }, index) => phone !== '' && all.findIndex((it) => it.phone === phone) === index);
  if (targets.length === 0) return null;
  return {
    targets,
    instruction: fill(transfer?.instruction) || null,
    messages: filledPhrases(transfer?.messages, fill),
    attended: resolveAttended(extension?.attended, fill),
  };
}

function resolveAttended(
  attended: z.infer<typeof attendedTransferSchema> | null | undefined,
  fill: Fill,
): AttendedTransferConfig | null {
  if (attended?.enabled !== true) return null;
  return {
    briefing: fill(attended.briefing).trim() || null,
    confirm: attended.confirm ?? true,
    ringMs: (attended.ring_timeout ?? 30) * 1000,
    holdSound: attended.hold_sound ?? 'music',
    holdMessages: filledPhrases(attended.hold_messages, fill),
  };
}
