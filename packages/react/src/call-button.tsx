import type { ButtonHTMLAttributes, ReactElement } from 'react';
import { useCall } from './provider.js';

export interface CallButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** Its texts, in place of the English ones. */
  words?: Partial<typeof WORDS> | undefined;
}

const WORDS = { start: 'Start call', cancel: 'Cancel', end: 'End call' };

/** Begins the call, gives it up, ends it. An `onClick` of yours comes first; `preventDefault` keeps it from calling. */
export function CallButton({
  words,
  className = 'parley-call-button',
  onClick,
  ...rest
}: CallButtonProps): ReactElement {
  const { state, start, close } = useCall();
  const isOff = state === 'idle' || state === 'ended';
  const action = isOff ? 'start' : state === 'connecting' ? 'cancel' : 'end';
  return (
    <button
      type="button"
      {...rest}
      className={className}
      data-state={state}
      onClick={(event) => {
        onClick?.(event);
        if (event.defaultPrevented) return;
        if (isOff) void start();
        else close();
      }}
    >
      {{ ...WORDS, ...words }[action]}
    </button>
  );
}
