import type { TranscriptEntry } from '@parley-voice/web';
import {
  type HTMLAttributes,
  type ReactElement,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useRef,
} from 'react';
import { useTranscript } from './provider.js';

export interface TranscriptProps extends HTMLAttributes<HTMLDivElement> {
  /** Names of both sides. Default `Agent` and `You`. */
  agentName?: string | undefined;
  userName?: string | undefined;
  /** Shown before anything was said. */
  empty?: ReactNode;
  /** The inside of an entry, in place of name and text. */
  renderEntry?: ((entry: TranscriptEntry) => ReactNode) | undefined;
}

/** Within this distance of the end the view follows the conversation. */
const FOLLOW_WITHIN_PX = 40;

/**
 * What was said, in a scrolling log. Screen readers announce entries once, when their words are final. It shows the
 * latest words until the reader scrolls up, and again from the end on, or when the user types.
 */
export function Transcript({
  agentName = 'Agent',
  userName = 'You',
  empty,
  renderEntry,
  className = 'parley-transcript',
  ...rest
}: TranscriptProps): ReactElement {
  const entries = useTranscript();
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLOListElement>(null);
  useFollowing(scroller, list, entries.findLast(({ via }) => via !== 'speech')?.id);
  const inside = renderEntry ?? ((entry) => <Entry entry={entry} name={nameOf(entry, agentName, userName)} />);
  return (
    <div role="log" aria-label="Transcript" tabIndex={0} {...rest} className={className} ref={scroller}>
      <ol ref={list}>
        {entries.map((entry, at) => {
          // The user may add to a final turn, until something follows it.
          const isOpen =
            !entry.isFinal || (at === entries.length - 1 && entry.role === 'user' && entry.via === 'speech');
          return (
            // What is not open any more is another element: it is added, and so announced, as a whole.
            <li
              key={`${String(entry.id)} ${String(isOpen)}`}
              aria-live={isOpen ? 'off' : undefined}
              data-role={entry.role}
            >
              {inside(entry)}
            </li>
          );
        })}
      </ol>
      {entries.length === 0 && empty}
    </div>
  );
}

function Entry({ entry, name }: { entry: TranscriptEntry; name: string }): ReactElement {
  return (
    <>
      <span className="parley-name">{name}</span>
      <p>
        {entry.words.map(({ text, isFinal }, at) => (
          <span key={at} className={isFinal ? undefined : 'parley-partial'}>
            {at === 0 ? text : ` ${text}`}
          </span>
        ))}
      </p>
      {entry.isInterrupted && <span className="parley-interrupted">interrupted</span>}
    </>
  );
}

function nameOf({ role, via }: TranscriptEntry, agentName: string, userName: string): string {
  if (role === 'agent') return agentName;
  return via === 'speech' ? userName : `${userName}, ${via === 'text' ? 'typing' : 'on the keypad'}`;
}

/**
 * Keeps the end of a list in view until the reader scrolls up.
 * @param lastTyped another value goes to the end in any case
 */
function useFollowing(
  scroller: RefObject<HTMLElement>,
  list: RefObject<HTMLElement>,
  lastTyped: number | undefined,
): void {
  const view = useRef({ isFollowing: true, top: 0 });
  const toEnd = useCallback(() => {
    const { current: element } = scroller;
    if (element === null || !view.current.isFollowing) return;
    element.scrollTop = element.scrollHeight;
    view.current.top = element.scrollTop;
  }, [scroller]);
  useEffect(() => {
    const { current: element } = scroller;
    const { current: content } = list;
    if (element === null || content === null) return;
    const onScroll = (): void => {
      const { scrollTop, scrollHeight, clientHeight } = element;
      // New entries also move the end away: only scrolling up by the reader counts.
      const fromEnd = scrollHeight - scrollTop - clientHeight;
      // Browsers scroll in steps: the first one up is near the end still.
      if (scrollTop < view.current.top && fromEnd >= 1) view.current.isFollowing = false;
      else if (fromEnd < FOLLOW_WITHIN_PX) view.current.isFollowing = true;
      view.current.top = scrollTop;
    };
    const observer = new ResizeObserver(toEnd);
    observer.observe(element);
    observer.observe(content);
    element.addEventListener('scroll', onScroll);
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
    };
  }, [scroller, list, toEnd]);
  useEffect(() => {
    view.current.isFollowing = true;
    toEnd();
  }, [lastTyped, toEnd]);
}
