import { endingWords } from '@parley-voice/web';
import { type HTMLAttributes, type ReactElement, useRef } from 'react';
import type { CallInReact } from './call-store.js';
import { useCall, useCallEvent } from './provider.js';

type OrbWord = CallInReact['state'] | 'muted';

export interface OrbProps extends HTMLAttributes<HTMLDivElement> {
  /** Whose state it is. Default `Voice agent`. */
  label?: string | undefined;
  /** Texts of the states, in place of the English ones. */
  words?: Partial<Readonly<Record<OrbWord, string>>> | undefined;
}

const WORDS: Readonly<Record<Exclude<OrbWord, 'ended'>, string>> = {
  idle: 'Ready',
  connecting: 'Connecting …',
  listening: 'Listening',
  muted: 'Muted',
  thinking: 'Thinking …',
  speaking: 'Speaking',
  interrupted: 'Go ahead',
  reconnecting: 'Reconnecting …',
};

/**
 * Shows the state of the call by its shape and in words, and moves with the voices: the style sheet has
 * `--parley-user-level` and `--parley-agent-level`, 0 to 1. For screen readers it is an image named by its state; it does
 * not announce each change, because the agent is heard.
 */
export function Orb({ label = 'Voice agent', words, className = 'parley-orb', ...rest }: OrbProps): ReactElement {
  const { state, muted, end } = useCall();
  const orb = useRef<HTMLDivElement>(null);
  const show = (user: number, agent: number): void => {
    orb.current?.style.setProperty('--parley-user-level', heard(user));
    orb.current?.style.setProperty('--parley-agent-level', heard(agent));
  };
  useCallEvent('level', ({ user, agent }) => show(user, agent));
  useCallEvent('ended', () => show(0, 0));
  const word = state === 'listening' && muted ? 'muted' : state;
  const text = { ...WORDS, ended: endingWords(end?.status ?? null, end?.limit ?? null), ...words }[word];
  return (
    <div role="img" aria-label={`${label}: ${text}`} {...rest} className={className} data-state={word} ref={orb}>
      <span className="parley-orb-shape">
        <i />
        <i />
        <i />
      </span>
      <span className="parley-orb-words">{text}</span>
    </div>
  );
}

/** Speech has small root mean squares: their root is closer to what is heard. */
function heard(level: number): string {
  return Math.min(1, Math.sqrt(level) * 1.5).toFixed(2);
}
