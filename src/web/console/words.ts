import type { CallHistoryItem } from '../../session/record/call-history.js';

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** `21 Nov 19:02:45`, or only the time if it is today. */
export function shortTime(ts: number, nowMs: number): string {
  const date = new Date(ts * 1000);
  const isToday = date.toDateString() === new Date(nowMs).toDateString();
  return isToday ? TIME.format(date) : `${DAY.format(date)} ${TIME.format(date)}`;
}

export function wholeTime(ts: number): string {
  return WHOLE.format(new Date(ts * 1000));
}

/** `0:07`, `12:31`, `1:02:45`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(whole / 60) % 60;
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${String(hours)}:${two(minutes)}:${two(whole % 60)}` : `${String(minutes)}:${two(whole % 60)}`;
}

/** A moment of a call, to a hundredth of a second: `7.15 s`. */
export function moment(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

export interface Ends {
  direction: string | null;
  /** The other party: a number, or the kind of line. */
  who: string;
  /** The own number. */
  ours: string | null;
}

/** The two parties of a call. */
export function endsOf({ voip, call_status: status }: Pick<CallHistoryItem, 'voip' | 'call_status'>): Ends {
  const text = (name: string): string | null => (typeof voip?.[name] === 'string' ? voip[name] : null);
  const direction = text('direction');
  const [from, to] = [text('from'), text('to')];
  if (from === null || to === null) {
    return { direction: null, who: status === 'chat_completion' ? 'chat' : 'browser', ours: null };
  }
  return direction === 'outbound' ? { direction, who: to, ours: from } : { direction, who: from, ours: to };
}

/** `840 B`, `12 kB`, `3.4 MB`. */
export function bytes(count: number): string {
  if (count < 1000) return `${String(count)} B`;
  return count < 1e6 ? `${(count / 1000).toFixed(0)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}
