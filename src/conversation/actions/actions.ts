import type { ConversationAction } from '../core.js';
import { doNotCall } from './do-not-call.js';
import { endCall } from './end-call.js';
import { pressDigits } from './press-digits.js';
import { switchLanguage } from './switch-language.js';
import { transferCall } from './transfer.js';

/** In the order in which the model is offered them. Of several final ones in one round the last is carried out. */
export const ACTIONS: readonly ConversationAction[] = [endCall, transferCall, pressDigits, switchLanguage, doNotCall];

/** Names that no tool of an agent may have. */
export const ACTION_NAMES: readonly string[] = ACTIONS.map(({ name }) => name);
