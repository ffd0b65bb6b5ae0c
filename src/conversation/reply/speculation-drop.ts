import type { Core } from '../core.js';
import { noteEarly } from './early.js';

/** Discards the speculative reply before any of it is played. */
export function dropSpeculation(core: Core, reason: string): void {
  const { speculation } = core.state;
  if (speculation === null) return;
  core.state.speculation = null;
  core.disarm('speculation');
  const { requestId } = speculation.reply;
  core.emit({ type: 'llm.cancel', requestId });
  let voiceChars = 0;
  for (const { utteranceId, text } of speculation.sentences) {
    if (utteranceId === null) continue;
    voiceChars += text.length;
    core.emit({ type: 'speak.cancel', utteranceId });
  }
  const { promptChars, modelChars } = speculation;
  noteEarly(core, speculation, false);
  core.trace('speculation.dropped', { requestId, reason, promptChars, modelChars, voiceChars });
}
