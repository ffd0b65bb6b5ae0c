import type { DeadlineName } from '../../../conversation/state.js';
import { check, type Rule, type Step } from './rule.js';

/** Whatever is pending has a deadline of its own. */
export function deadlines(): Rule {
  return { onStep };
}

function onStep({ state, nextDeadlineMs }: Step): void {
  const { turn, speech, reply, voicemail } = state;
  if (state.line !== 'open') {
    check(nextDeadlineMs === undefined, 'no deadline while the line is not open');
    return;
  }
  check(nextDeadlineMs !== undefined, 'there is always a deadline');
  for (const atMs of Object.values(state.deadlines)) {
    check(atMs === null || Number.isFinite(atMs), 'every deadline comes');
  }
  const armed = (...names: DeadlineName[]): boolean => names.some((name) => state.deadlines[name] !== null);
  const pending = (isPending: boolean, what: string, ...names: DeadlineName[]): void => {
    check(!isPending || armed(...names), `${what} has a deadline`);
  };
  pending(turn.startMs !== null && !turn.waiting, 'an open turn', 'turn.end', 'turn.stuck', 'interruption');
  check(
    !turn.waiting ||
      speech.queue.length > 0 ||
      reply !== null ||
      state.digits !== '' ||
      voicemail?.phase === 'greeting',
    'a turn that waits, waits for the agent, for keys or for a machine to finish',
  );
  pending(
    voicemail !== null && voicemail.phase !== 'message' && state.ending === null,
    'a machine that may be there',
    'voicemail',
  );
  pending(speech.held, 'a hold', 'interruption');
  pending(state.interruption !== null, 'an interruption', 'interruption');
  pending(!speech.held && speech.queue.length > 0, 'an utterance', 'speech.start', 'speech.end');
  pending(reply?.phase === 'thinking', 'a request', 'llm.first');
  pending(reply?.phase === 'streaming', 'a reply that streams', 'llm.gap');
  const isBusy = state.tools.length > 0 || state.transfer !== null;
  check(reply?.phase !== 'tools' || isBusy, 'a reply that waits for tools, waits for some');
  pending(state.transfer?.phase === 'connecting', 'a transfer', 'transfer');
  pending(state.tools.length > 0, 'a tool', 'tools');
  pending(state.digits !== '', 'a row of keys', 'digits');
  pending(state.ending !== null, 'the end', 'closing');
  pending(state.ending === null, 'the session', 'duration');
}
