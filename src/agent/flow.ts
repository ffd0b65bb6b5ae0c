import * as z from 'zod';
import { optional, required } from '../schema/field.js';
import { instructionSchema, phraseSchema, phrasesSchema } from '../schema/text.js';

/** A minute, the longest wait within a conversation that can be meant. */
const delayMsSchema = z.int().min(0).max(60_000);

export const interruptionSchema = z
  .strictObject({
    allowed: optional(z.boolean(), 'Whether the user may interrupt the agent.', { default: true }),
    keep_interruption_message: optional(
      z.boolean(),
      'Interruption allowed: true keeps the interrupted message in the history, cut to what was heard; false drops ' +
        'it. Not allowed: true keeps what the user said over the agent for the next turn; false discards it.',
      { default: true },
    ),
    first_messsage: optional(z.boolean(), 'Whether the opening message may be interrupted (spelled with three s).', {
      default: true,
    }),
  })
  .meta({ id: 'Interruption', description: 'What happens when the user speaks over the agent.' });

export const responseDelaySchema = z
  .strictObject({
    generic_delay: optional(delayMsSchema, 'Least silence before any turn of the user counts as over.', {
      unit: 'ms',
      default: 0,
    }),
    number_input_delay: optional(
      delayMsSchema,
      'Extra wait while the user is giving digits: a phone number, an identifier.',
      { unit: 'ms', default: 0 },
    ),
  })
  .meta({ id: 'ResponseDelay', description: 'Waits before the agent takes its turn.' });

export const autoFillResponsesSchema = z
  .strictObject({
    response_gap_threshold: optional(
      z.number().min(0).max(60_000),
      "From the decision that the user's turn is over until a filler is spoken, if the reply has not begun. 0 = at once.",
      { unit: 'ms', default: 0 },
    ),
    messages: optional(phrasesSchema, 'Fillers to choose from.', {
      default: "short phrases in the conversation's language",
    }),
  })
  .meta({ id: 'AutoFillResponses', description: 'Short phrases that bridge a slow reply.' });

export const agentTerminateCallSchema = z
  .strictObject({
    enabled: optional(z.boolean(), 'Whether the agent may end the call by itself.', { default: false }),
    instruction: optional(instructionSchema, 'When it should.', { default: 'when the conversation is over' }),
    messages: optional(phrasesSchema, 'Goodbyes to choose from.', { default: "the model's own words" }),
  })
  .meta({ id: 'AgentTerminateCall', description: 'The agent hanging up.' });

export const voicemailSchema = z
  .strictObject({
    action: optional(z.enum(['hangup', 'message']), 'What to do when a machine answers.', { default: 'hangup' }),
    message: optional(phraseSchema, 'What is left after the beep.', { default: 'nothing' }),
    continue_on_voice_activity: optional(z.boolean(), 'Go on with the conversation when a person comes in.', {
      default: false,
    }),
    detection_phrases: optional(phrasesSchema, 'Phrases that tell a machine apart, beside the built-in ones.', {
      default: 'none',
    }),
  })
  .meta({ id: 'Voicemail', description: 'Answering machines on outbound calls.' });

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

export const inactivityHandlingSchema = z
  .strictObject({
    idle_time: optional(z.number().min(0).max(86_400), 'Silence of both sides before the agent asks again. 0 = off.', {
      unit: 's',
      default: 'off',
    }),
    message: optional(phraseSchema, 'What it says then.', {
      default: "a short question in the conversation's language",
    }),
  })
  .meta({ id: 'InactivityHandling', description: 'A user who says nothing.' });

export const dtmfDialSchema = z
  .strictObject({
    enabled: optional(z.boolean(), 'Whether the agent may press keys.', { default: false }),
    instruction: optional(instructionSchema, 'When, and which.', { default: 'none' }),
  })
  .meta({ id: 'DTMFDial', description: 'The agent pressing phone keys.' });

export const flowSchema = z
  .strictObject({
    user_start_first: optional(z.boolean(), 'Whether the user speaks first; the first message is then not said.', {
      default: false,
    }),
    interruption: optional(interruptionSchema, 'What happens when the user speaks over the agent.', {
      default: 'all allowed and kept',
    }),
    response_delay: optional(
      z.union([delayMsSchema, responseDelaySchema]),
      "Least silence before the user's turn counts as over: a number, or an object with an extra wait for digits.",
      { unit: 'ms', default: 0 },
    ),
    auto_fill_responses: optional(autoFillResponsesSchema, 'Short phrases that bridge a slow reply.', {
      default: 'off',
    }),
    agent_terminate_call: optional(agentTerminateCallSchema, 'The agent hanging up.', { default: 'off' }),
    voicemail: optional(voicemailSchema, 'Answering machines on outbound calls.', { default: 'off' }),
    call_transfer: optional(callTransferSchema, 'Handing the call to a person.', { default: 'off' }),
    inactivity_handling: optional(inactivityHandlingSchema, 'A user who says nothing.', { default: 'off' }),
    dtmf_dial: optional(dtmfDialSchema, 'The agent pressing phone keys.', { default: 'off' }),
  })
  .meta({ id: 'Flow', description: 'How the conversation goes.' });

export type Flow = z.infer<typeof flowSchema>;
