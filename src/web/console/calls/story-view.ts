import { el } from '../../shared/elements.js';
import type { TranscriptLine } from '../../../session/record/transcript.js';
import { duration } from '../../page/times.js';
import { clock } from '../words.js';
import type { TurnStory } from './turns.js';

const CUT = ' [cut]';

/** The conversation; each line links to its moment. */
export function storyView(
  lines: readonly TranscriptLine[],
  turns: readonly TurnStory[],
  zeroMs: number,
  onSeek: ((ms: number) => void) | null,
): HTMLElement {
  const items = joined(lines).map((line) => {
    const ms = line.atMs === null ? null : Math.max(0, line.atMs - zeroMs);
    const answered =
      ms === null || line.who !== 'agent' ? undefined : turns.find((turn) => isAt(turn.audioStartMs, ms));
    const item = line.who === 'tool' ? toolItem(line.text) : said(line.who, line.text);
    const marks = [
      ...(ms === null ? [] : [stamp(ms, onSeek)]),
      ...(answered?.responseMs == null
        ? []
        : [el('span', { title: 'From the end of the user’s speech to this' }, duration(answered.responseMs))]),
    ];
    item.append(el('p', { class: 'story-marks figure' }, ...marks));
    return item;
  });
  return el('ol', { class: 'transcript story' }, ...items);
}

/** Consecutive words of the agent are one bubble. */
function joined(lines: readonly TranscriptLine[]): TranscriptLine[] {
  const groups: TranscriptLine[] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    if (last?.who === 'agent' && line.who === 'agent') last.text += ` ${line.text}`;
    else groups.push({ ...line });
  }
  return groups;
}

function said(who: 'user' | 'agent', text: string): HTMLElement {
  const isCut = text.endsWith(CUT.trimStart());
  const shown = isCut ? text.slice(0, -CUT.trimStart().length).trimEnd() : text;
  return el(
    'li',
    { class: `bubble ${who}${isCut ? ' cut' : ''}` },
    el('span', { class: 'name' }, who === 'user' ? 'User' : 'Agent'),
    el('p', { class: 'text' }, shown),
    ...(isCut ? [el('span', { class: 'tag' }, 'interrupted')] : []),
  );
}

function toolItem(text: string): HTMLElement {
  return el('li', { class: 'story-tool' }, el('code', {}, text));
}

function stamp(ms: number, onSeek: ((ms: number) => void) | null): HTMLElement {
  const text = clock(ms / 1000);
  if (onSeek === null) return el('span', {}, text);
  const button = el('button', { type: 'button', class: 'stamp', 'aria-label': `Go to ${text}` }, text);
  button.addEventListener('click', () => onSeek(ms));
  return button;
}

function isAt(aMs: number | null, bMs: number): boolean {
  return aMs !== null && Math.abs(aMs - bMs) < 1;
}
