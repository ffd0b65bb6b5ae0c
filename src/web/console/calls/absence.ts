import type { CallHistoryItem } from '../../../session/record/call-history.js';
import { statusWords, wasNeverConnected } from '../statuses.js';

type Call = Pick<CallHistoryItem, 'call_status' | 'agent_config' | 'recording' | 'eval'>;

const GONE = 'The recording is not there any more: deleted, or older than recordingRetentionDays.';

export const NOT_RECORDING = 'No recording: the agent does not record its calls (call_settings.enable_recording).';

/** Why a call has no recording. Null = it has one. */
export function whyNoRecording(call: Call): string | null {
  if (call.recording !== null) return null;
  const { agent_config: agent, call_status: status } = call;
  if (status === 'chat_completion') return 'No recording: this was a chat in writing.';
  if (wasNeverConnected(status)) return 'No recording: the call was not answered.';
  if (call.eval?.mode === 'text') return 'No recording: this was a test call by text.';
  if (call.eval !== undefined) return GONE;
  if (agent.privacy_settings?.opt_out_data_collection === true)
    return 'No recording: the agent opts out of data collection.';
  if (agent.call_settings?.enable_recording !== true) {
    return NOT_RECORDING;
  }
  if (statusWords(status).group === 'running') return 'The recording is there when the call is over.';
  return GONE;
}

/** Why a call has no trace. */
export function whyNoTrace({ call_status: status }: Call): string {
  if (status === 'chat_completion') return 'No trace: chats in writing have none.';
  if (wasNeverConnected(status)) return 'No trace: the call was not answered.';
  if (statusWords(status).group === 'running') return 'No trace yet: the conversation has not begun.';
  return 'No trace: the setting “traces” was off, it was deleted, or it is older than recordingRetentionDays.';
}
