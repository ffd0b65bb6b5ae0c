import type { ToolSpec } from '../../agent/chat.js';
import type { ConversationConfig } from '../config.js';
import { DO_NOT_CALL, doNotCallTool } from './do-not-call.js';
import { END_CALL, endCallTool } from './end-call.js';
import { PRESS_DIGITS, pressDigitsTool } from './press-digits.js';
import { SWITCH_LANGUAGE, switchLanguageTool } from './switch-language.js';
import { TRANSFER_CALL, transferCallTool } from './transfer-call.js';

/** Names that no tool of an agent may have. */
export const ACTION_NAMES: readonly string[] = [END_CALL, TRANSFER_CALL, PRESS_DIGITS, SWITCH_LANGUAGE, DO_NOT_CALL];

/** What the agent itself can do on the line, offered to the model beside its tools. */
export function actionTools(config: ConversationConfig): ToolSpec[] {
  const { endCall, transfer, keypad, switchLanguage, doNotCall } = config;
  const tools: ToolSpec[] = [];
  if (endCall.enabled) tools.push(endCallTool(endCall));
  if (transfer !== null && transfer.targets.length > 0) tools.push(transferCallTool(transfer));
  if (keypad.enabled) tools.push(pressDigitsTool(keypad));
  if (switchLanguage !== null && switchLanguage.languages.length > 0) tools.push(switchLanguageTool(switchLanguage));
  if (doNotCall) tools.push(doNotCallTool());
  return tools;
}
