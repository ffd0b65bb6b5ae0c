import type { CallHistoryItem } from '../../../session/record/call-history.js';
import { afterwards, type TranscriptLine, transcriptOf, transcriptOfChat } from '../../../session/record/transcript.js';
import { el } from '../../shared/elements.js';
import { AgentNames } from '../agent-names.js';
import { ReplayCard } from '../replay/replay-card.js';
import { card, empty, failure, laterView, loading, type View, type ViewOptions } from '../view.js';
import { NOT_RECORDING, whyNoRecording, whyNoTrace } from './absence.js';
import { backToCalls, callFacts, callHead } from './call-head.js';
import { Player, CallRecording } from './player.js';
import { statusWords } from '../statuses.js';
import { type CallTimeline, lineOpenedMs, timelineOf, withSteps } from './timeline.js';
import { TimelineView } from './timeline-view.js';
import { parseTrace, type Trace } from './trace.js';
import { turnStories, type TurnStory } from './turns.js';
import { duration } from '../../page/times.js';
import { clock } from '../words.js';
import { type Bar, waterfall } from './bars.js';

const NOTHING: CallTimeline = { spans: [], durationMs: 0 };

/** One call: live while it continues, then everything that is known of it. */
export function callView(options: ViewOptions): View {
  const page = new CallPage(options);
  return { element: page.element, title: 'Call', close: () => page.close() };
}

class CallPage {
  readonly element = el('div', { class: 'stack' });
  readonly #api: ViewOptions['api'];
  readonly #id: string;
  readonly #names: AgentNames;
  readonly #parts: { close(): void }[] = [];
  #closed = false;

  constructor({ api, path }: ViewOptions) {
    this.#api = api;
    this.#id = path;
    this.#names = new AgentNames(api);
    void this.#load();
  }

  close(): void {
    this.#closed = true;
    for (const part of this.#parts.splice(0)) part.close();
  }

  get #path(): string {
    return `/call-logs/${encodeURIComponent(this.#id)}`;
  }

  async #load(): Promise<void> {
    this.element.replaceChildren(loading('Loading the call'));
    try {
      const [call] = await Promise.all([this.#api.get<CallHistoryItem>(this.#path), this.#names.load()]);
      const isRunning = statusWords(call.call_status).group === 'running';
      // A running call is shown from its events, because its log is incomplete.
      const text = isRunning ? null : await this.#api.text(`${this.#path}/trace`);
      if (this.#closed) return;
      if (isRunning) this.#showRunning(call);
      else this.#show(call, text ?? '', text === null ? null : parseTrace(text));
    } catch (error) {
      if (!this.#closed)
        this.element.replaceChildren(
          backToCalls(),
          failure(error, () => void this.#load()),
        );
    }
  }

  /** A button that makes a test case of the call; its code is loaded meanwhile. */
  #testCase(call: CallHistoryItem): HTMLElement {
    const place = el('div', {});
    import('../evals/evals-view.js').then(
      ({ testCaseCard }) =>
        place.replaceChildren(
          testCaseCard(this.#api, {
            sessionId: call.session_id,
            agentId: call.agent_id,
            hasRecording: call.recording !== null,
          }),
        ),
      (error: unknown) => place.replaceChildren(failure(error, () => location.reload())),
    );
    return place;
  }

  #showRunning(call: CallHistoryItem): void {
    const onEnded = (): void => {
      if (this.#closed) return;
      live.close();
      void this.#load();
    };
    const live = laterView('the call', async () => {
      const { LiveCall } = await import('./live-call.js');
      const running = new LiveCall(this.#api, call, onEnded);
      return { element: running.element, title: 'Call', close: () => running.close() };
    });
    this.#parts.push(live);
    this.element.replaceChildren(callHead(call, this.#names.of(call.agent_id)), live.element);
  }

  #show(call: CallHistoryItem, log: string, trace: Trace | null): void {
    const entries = trace?.entries ?? [];
    const turns = turnStories(entries);
    const recording = this.#recording(call);
    const timeline = withSteps(entries.length === 0 ? NOTHING : timelineOf(entries), call.steps ?? []);
    const player = this.#player(call, timeline, recording);
    const seek = player === null ? null : (ms: number): void => player.seek(ms);
    const said = transcriptOf({ entries }).filter(({ text }) => text !== '');
    const story = said.length > 0 && call.chat !== '[]' ? [...said, ...afterwards(call)] : transcriptOfChat(call);
    const missing = [trace === null ? whyNoTrace(call) : trace.problem, whyNoRecording(call)].filter(
      (why) => why !== null,
    );
    this.element.replaceChildren(
      callHead(call, this.#names.of(call.agent_id)),
      ...missing.map((why) => el('p', { class: 'absence' }, why, ...recordingSwitch(why, call.agent_id))),
      ...(player === null ? [] : [el('section', { class: 'card', 'aria-label': 'Timeline' }, player.element)]),
      el(
        'div',
        { class: 'columns' },
        card(
          'Conversation',
          story.length === 0 ? empty(whyNothingSaid(call)) : storyView(story, turns, lineOpenedMs(entries), seek),
        ),
        el(
          'div',
          { class: 'stack' },
          ...(turns.length === 0
            ? []
            : [
                card(
                  'Response time, turn by turn',
                  el(
                    'p',
                    { class: 'soft' },
                    'From the end of the user’s speech to the agent’s first sound on the line; the way to the ear comes on top.',
                  ),
                  waterfalls(turns, seek ?? (() => undefined)),
                ),
              ]),
          ...((call.steps ?? []).length === 0 ? [] : [card('Steps', passedSteps(call.steps ?? [], seek))]),
          ...(said.length === 0 || call.eval !== undefined ? [] : [this.#testCase(call)]),
          ...callFacts(call),
        ),
      ),
      ...(entries.length === 0 || optsOut(call) ? [] : [this.#replay(log, lineOpenedMs(entries), seek)]),
      ...(timeline.spans.length === 0 ? [] : [this.#events(timeline, seek)]),
    );
  }

  #replay(log: string, zeroMs: number, onSeek: ((ms: number) => void) | null): HTMLElement {
    const replay = new ReplayCard({ log, zeroMs, onSeek });
    this.#parts.push(replay);
    return replay.element;
  }

  #recording(call: CallHistoryItem): CallRecording | null {
    if (call.recording === null) return null;
    const fresh = async (): Promise<string | null> =>
      (await this.#api.get<CallHistoryItem>(this.#path)).recording?.recording_url ?? null;
    const recording = new CallRecording(call.recording.recording_url, fresh);
    this.#parts.push(recording);
    return recording;
  }

  #player(call: CallHistoryItem, timeline: CallTimeline, recording: CallRecording | null): Player | null {
    if (timeline.spans.length === 0 && recording === null) return null;
    const known = { ...timeline, durationMs: Math.max(timeline.durationMs, call.duration * 1000) };
    const view = new TimelineView(known, recording !== null, (ms) => player.seek(ms));
    const player = new Player(view, recording);
    this.#parts.push(view, player);
    if (recording !== null && call.recording !== null) {
      recording
        .read(call.recording.recording_url, (peaks, ms) => view.showPeaks(peaks, ms))
        .catch((error: unknown) => {
          if (!this.#closed) player.element.append(el('p', { class: 'absence', role: 'alert' }, String(error)));
        });
    }
    return player;
  }

  /** The timeline as a table that can be read and searched. */
  #events({ spans }: CallTimeline, seek: ((ms: number) => void) | null): HTMLElement {
    const details = el(
      'details',
      { class: 'card events' },
      el('summary', {}, `Everything that happened, in order (${String(spans.length)})`),
    );
    details.addEventListener(
      'toggle',
      () => {
        const rows = spans.map(({ lane, fromMs, toMs, about, look }) => {
          const time = el('button', { type: 'button', class: 'stamp' }, (fromMs / 1000).toFixed(2));
          time.addEventListener('click', () => seek?.(fromMs));
          const lasted = toMs - fromMs < 1 ? '' : `${(toMs - fromMs).toFixed(0)} ms`;
          return el(
            'tr',
            { class: `now-${look}` },
            el('td', {}, time),
            el('td', {}, lane),
            el('td', { class: 'figure' }, lasted),
            el('td', {}, about),
          );
        });
        const head = ['s', 'lane', 'lasted', 'what'].map((text) => el('th', { scope: 'col' }, text));
        details.append(
          el(
            'div',
            { class: 'scroll-x' },
            el('table', {}, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...rows)),
          ),
        );
      },
      { once: true },
    );
    return details;
  }
}

/** Its trace has times and kinds, but not the words that decide turns. */
function optsOut({ agent_config: agent }: CallHistoryItem): boolean {
  return agent.privacy_settings?.opt_out_data_collection === true;
}

function whyNothingSaid(call: CallHistoryItem): string {
  return optsOut(call) ? 'The agent opts out of data collection: nothing that was said is kept.' : 'Nothing was said.';
}

/** Leads to the agent where the reason is that it does not record. */
function recordingSwitch(why: string, agentId: string | null): Node[] {
  if (why !== NOT_RECORDING || agentId === null) return [];
  return [el('span', {}, ' '), el('a', { href: `#/agents/${encodeURIComponent(agentId)}` }, 'Change the agent')];
}

/** The steps that a call was in, each with its moment. */
function passedSteps(steps: NonNullable<CallHistoryItem['steps']>, onSeek: ((ms: number) => void) | null): HTMLElement {
  const items = steps.map(({ step, from, to, next }) => {
    const lasted = duration((to - from) * 1000);
    const words = next === null ? `${lasted}; the call ended here` : lasted;
    return el('li', {}, stamp(from * 1000, onSeek), ' ', step, el('span', { class: 'soft figure' }, ` ${words}`));
  });
  return el('ol', {}, ...items);
}

const CUT = ' [cut]';

/** The conversation; each line links to its moment. */
function storyView(
  lines: readonly TranscriptLine[],
  turns: readonly TurnStory[],
  zeroMs: number,
  onSeek: ((ms: number) => void) | null,
): HTMLElement {
  const items = joined(lines).map((line) => {
    const ms = line.atMs === null ? null : Math.max(0, line.atMs - zeroMs);
    const answered =
      ms === null || line.who !== 'agent' ? undefined : turns.find((turn) => isAt(turn.audioStartMs, ms));
    const item = line.who === 'tool' ? toolItem(line.text) : bubbleOf(line);
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

/** Consecutive words of one agent are one bubble. */
function joined(lines: readonly TranscriptLine[]): TranscriptLine[] {
  const groups: TranscriptLine[] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    if (last?.who === 'agent' && line.who === 'agent' && last.name === line.name) last.text += ` ${line.text}`;
    else groups.push({ ...line });
  }
  return groups;
}

function bubbleOf({ who, name, text }: TranscriptLine): HTMLElement {
  const isCut = text.endsWith(CUT.trimStart());
  const shown = isCut ? text.slice(0, -CUT.trimStart().length).trimEnd() : text;
  return el(
    'li',
    { class: `bubble ${who}${isCut ? ' cut' : ''}` },
    el('span', { class: 'name' }, name ?? (who === 'user' ? 'User' : 'Agent')),
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

/** The waterfalls of all turns on one scale. */
function waterfalls(turns: readonly TurnStory[], onSeek: (ms: number) => void): HTMLElement {
  const bars = turns.map(waterfall);
  const all = bars.flat();
  const high = Math.max(1, ...all.map(({ toMs }) => toMs));
  // Bars that start long before the end of speech are cut: the wait is what matters.
  const low = Math.max(Math.min(0, ...all.map(({ fromMs }) => fromMs)), -high / 2);
  const items = turns.map((turn, at) => {
    const heading = el(
      'button',
      { type: 'button', class: 'fall-head', title: 'Go to this turn' },
      el('span', { class: 'fall-turn' }, String(turn.turn)),
      el('span', { class: 'fall-words' }, turn.heard ?? 'unasked'),
      el('b', { class: 'figure' }, turn.responseMs === null ? 'not answered' : duration(turn.responseMs)),
    );
    heading.addEventListener('click', () => onSeek(Math.max(0, (turn.speechEndMs ?? turn.audioStartMs ?? 0) - 800)));
    const rows = (bars[at] ?? []).map((bar) => barRow(bar, low, high));
    return el(
      'li',
      { class: 'fall' },
      heading,
      ...rows,
      ...(turn.interrupted ? [el('p', { class: 'tag' }, 'interrupted')] : []),
    );
  });
  return el('ol', { class: 'falls' }, ...items);
}

function barRow({ label, about, fromMs, toMs, look }: Bar, low: number, high: number): HTMLElement {
  const share = (ms: number): number => ((Math.max(ms, low) - low) / (high - low)) * 100;
  const bar = el('span', { class: `fall-bar ${look}` });
  bar.style.left = `${share(fromMs).toFixed(2)}%`;
  bar.style.width = `${(share(toMs) - share(fromMs)).toFixed(2)}%`;
  const zero = el('span', { class: 'fall-zero' });
  zero.style.left = `${share(0).toFixed(2)}%`;
  return el(
    'div',
    { class: `fall-row ${look}`, title: about },
    el('span', {}, label),
    el('span', { class: 'fall-track' }, zero, bar),
    el('span', { class: 'figure' }, toMs - fromMs < 0.5 ? '0 ms' : duration(toMs - fromMs)),
  );
}
