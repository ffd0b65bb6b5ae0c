import * as z from 'zod';
import { optional } from '../../schema/field.js';
import type { AgentConfig } from '../agent-types.js';
import type { Fill } from '../variables.js';
import {
  agentTerminateCallSchema,
  callTransferSchema,
  dtmfDialSchema,
  type EndCallConfig,
  type KeypadConfig,
  type PauseRecordingConfig,
  type recordingExtensionSchema,
  resolveEndCall,
  resolveKeypad,
  resolvePauseRecording,
  resolveTransfer,
  type TransferConfig,
  type transferExtensionSchema,
} from './actions.js';
import {
  autoFillResponsesSchema,
  type EndpointingConfig,
  type FillerConfig,
  type InactivityConfig,
  inactivityHandlingSchema,
  type InterruptionConfig,
  interruptionSchema,
  type OpeningConfig,
  resolveEndpointing,
  resolveFiller,
  resolveInactivity,
  resolveInterruption,
  resolveOpening,
  responseDelaySchema,
  userStartFirstSchema,
} from './turn-taking.js';
import { resolveVoicemail, type VoicemailConfig, voicemailSchema } from './voicemail.js';

/** `flow` of an AgentConfig. `resolveFlow` makes the core's settings from it. */
export const flowSchema = z
  .strictObject({
    user_start_first: userStartFirstSchema,
    interruption: optional(interruptionSchema, 'What happens when the user speaks over the agent.', {
      default: 'all allowed and kept',
    }),
    response_delay: optional(
      responseDelaySchema,
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

/** The settings of a conversation that an agent's `flow`, `first_message` and extensions decide. */
export interface FlowSettings {
  opening: OpeningConfig;
  interruption: InterruptionConfig;
  endpointing: EndpointingConfig;
  filler: FillerConfig;
  endCall: EndCallConfig;
  /** Null = the agent talks to a machine as to a person. Acts on outbound calls only. */
  voicemail: VoicemailConfig | null;
  /** Null, or without targets = calls are not transferred. */
  transfer: TransferConfig | null;
  keypad: KeypadConfig;
  /** Null = the agent does not pause the recording. */
  pauseRecording: PauseRecordingConfig | null;
  /** Null = the agent does not ask whether the user is still there. */
  inactivity: InactivityConfig | null;
}

/** What the settings are made from. */
export interface FlowSource {
  config: Pick<AgentConfig, 'flow' | 'first_message'>;
  /** `extensions.transfer`. */
  transfer: z.infer<typeof transferExtensionSchema> | null;
  /** `extensions.recording`; null also where nothing is recorded. */
  recording: z.infer<typeof recordingExtensionSchema> | null;
}

/** The core's settings, with the defaults of fields that are null or missing, and the variables filled in. */
export function resolveFlow({ config, transfer, recording }: FlowSource, fill: Fill): FlowSettings {
  const { flow } = config;
  return {
    opening: resolveOpening(flow?.user_start_first, config.first_message, fill),
    interruption: resolveInterruption(flow?.interruption),
    endpointing: resolveEndpointing(flow?.response_delay),
    filler: resolveFiller(flow?.auto_fill_responses, fill),
    endCall: resolveEndCall(flow?.agent_terminate_call, fill),
    voicemail: resolveVoicemail(flow?.voicemail, fill),
    transfer: resolveTransfer(flow?.call_transfer, transfer, fill),
    keypad: resolveKeypad(flow?.dtmf_dial, fill),
    pauseRecording: resolvePauseRecording(recording, fill),
    inactivity: resolveInactivity(flow?.inactivity_handling, fill),
  };
}
