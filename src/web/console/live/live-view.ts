import { el } from '../../shared/elements.js';
import { Talk, type TalkEvents, type TalkPageOptions } from '../../page/talk.js';
import { transcriptElements, TranscriptView } from '../../page/transcript-view.js';
import { TimesSummary, turnTimesElement } from '../../page/turn-times.js';
import { card, failure, type View, type ViewOptions } from '../view.js';
import { LiveControls } from './live-controls.js';
import { Ribbon, type RibbonState } from './ribbon.js';
import type { CallHistoryItem } from '../../../session/record/call-history.js';
import { AgentNames } from '../agent-names.js';
import { type ConsoleApi, messageOf } from '../api.js';
import { callRow } from '../calls/call-rows.js';
import { CallFlow } from '../flow/call-flow.js';
import { statusWords } from '../statuses.js';

const REFRESH_MS = 400;
/** Number of latest calls searched for running ones. */
const LOOKED_THROUGH = 100;

/** The running calls, with links to their pages. */
class RunningCalls {
  readonly element: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #names: AgentNames;
  readonly #note = el('p', { class: 'soft' }, 'Looking …');
  readonly #list = el('ol', { class: 'calls narrow', hidden: '' });
  /** By the id of the call: a row that has the keyboard's focus stays where it is. */
  readonly #rows = new Map<string, HTMLElement>();
  readonly #abort = new AbortController();
  #timer = 0;

  constructor(api: ConsoleApi) {
    this.#api = api;
    this.#names = new AgentNames(api);
    this.element = card('Calls in progress', this.#note, this.#list);
    const onBreak = (isBroken: boolean): void => {
      if (!isBroken) this.refresh();
      else this.#tell('The daemon does not answer; trying again …', true);
    };
    api.events('/events', ({ event }) => void (event === 'status' && this.refresh()), onBreak, this.#abort.signal);
  }

  refresh(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#load(), REFRESH_MS);
  }

  close(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  async #load(): Promise<void> {
    try {
      await this.#names.load();
      const { histories } = await this.#api.get<{ histories: CallHistoryItem[] }>('/call-logs', {
        limit: LOOKED_THROUGH,
      });
      if (this.#abort.signal.aborted) return;
      const running = histories.filter(({ call_status: status }) => statusWords(status).group === 'running');
      this.#show(running);
      this.#tell(running.length === 0 ? 'None. A call that starts appears here; open it to follow it.' : '', false);
    } catch (error) {
      this.#tell(messageOf(error), true);
    }
  }

  #tell(text: string, isFault: boolean): void {
    this.#note.textContent = text;
    this.#note.className = isFault ? 'fault' : 'soft';
    if (isFault) this.#note.setAttribute('role', 'alert');
    else this.#note.removeAttribute('role');
    this.#note.hidden = text === '';
  }

  /** Changes the rows that differ, in their place; the others are not touched. */
  #show(running: readonly CallHistoryItem[]): void {
    const ids = new Set(running.map(({ session_id: id }) => id));
    for (const [id, row] of this.#rows) {
      if (ids.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    for (const [at, call] of running.entries()) {
      const fresh = callRow(call, this.#names.of(call.agent_id), Date.now());
      const row = this.#rows.get(call.session_id) ?? fresh;
      this.#rows.set(call.session_id, row);
      const [link, freshLink] = [row.firstElementChild, fresh.firstElementChild];
      if (link !== null && freshLink !== null && link.innerHTML !== freshLink.innerHTML) {
        link.replaceChildren(...freshLink.childNodes);
      }
      if (this.#list.children[at] !== row) this.#list.insertBefore(row, this.#list.children[at] ?? null);
    }
    this.#list.hidden = running.length === 0;
  }
}

/** Talking to any agent, and the running calls. */
export function liveView(options: ViewOptions): View {
  const page = new Live(options);
  return { element: page.element, title: 'Live', close: () => page.close() };
}

class Live {
  readonly element = el('div', { class: 'stack' });
  readonly #api: ConsoleApi;
  readonly #wanted: string;
  readonly #ribbon = new Ribbon();
  readonly #view: RibbonView;
  readonly #running: RunningCalls;
  readonly #controls: LiveControls;
  readonly #talk: Talk;
  readonly #notice = el('div', { class: 'problems' });
  /** Links to the finished call. */
  readonly #last = el('p', {});
  /** The steps of the own call. */
  readonly #steps = el('div', {});
  #flow: CallFlow | null = null;
  /** The version that the own calls are for; null = as all callers. */
  readonly #version: string | null;

  constructor({ api, path, search }: ViewOptions) {
    this.#api = api;
    this.#wanted = path;
    const version = new URLSearchParams(search).get('version');
    this.#version = version;
    const nothing = el('p', { class: 'empty' }, 'What you and the agent say appears here.');
    const { list, scroller } = transcriptElements('scroller', nothing);
    const summary = el('header', { class: 'summary', hidden: '' });
    const forms = el('div', { class: 'forms' });
    this.#controls = new LiveControls({
      onTalk: () => this.#talk.toggle(),
      onMute: (muted) => {
        this.#talk.muted = muted;
      },
      onText: (text) => this.#talk.type(text),
    });
    const page: TalkPageOptions = {
      transcript: new TranscriptView(list, scroller, turnTimesElement),
      summary: new TimesSummary(summary),
      forms,
      agent: () => this.#controls.agent,
    };
    if (version !== null) {
      const body = { agent_version: version === 'draft' ? version : Number(version) };
      const token = `/agents/${encodeURIComponent(path)}/token`;
      const made = async (): Promise<string> => (await api.send<{ token: string }>('POST', token, body)).token;
      page.token = (agentId) => (agentId === path ? made() : null);
    }
    this.#talk = new Talk(page, this.#talkEvents());
    this.#view = new RibbonView(this.#ribbon, () => {
      const { call } = this.#talk;
      return call === null ? null : { user: call.level('user'), agent: call.level('agent') };
    });
    this.#running = new RunningCalls(api);
    this.element.append(
      el('h1', {}, 'Live'),
      ...(version === null
        ? []
        : [
            el(
              'p',
              { class: 'notice' },
              version === 'draft' ? 'You talk to the draft.' : `You talk to version ${version}.`,
            ),
          ]),
      this.#notice,
      el(
        'div',
        { class: 'live' },
        el(
          'div',
          { class: 'stack' },
          el(
            'section',
            { class: 'card live-talk', 'aria-label': 'Talk' },
            this.#controls.element,
            this.#view.element,
            this.#last,
          ),
          this.#steps,
          this.#running.element,
        ),
        el(
          'section',
          { class: 'conversation', 'aria-label': 'Conversation' },
          summary,
          scroller,
          forms,
          this.#controls.typing,
        ),
      ),
    );
    void this.#talk.meet();
  }

  close(): void {
    this.#talk.close();
    this.#flow?.close();
    this.#view.close();
    this.#running.close();
  }

  #watchSteps(sessionId: string): void {
    this.#flow?.close();
    const id = this.#controls.agent?.id ?? null;
    const flow = new CallFlow(this.#api, sessionId, id, id === this.#wanted ? this.#version : null);
    this.#flow = flow;
    flow.follow(sessionId);
    this.#steps.replaceChildren(flow.element);
  }

  #talkEvents(): TalkEvents {
    return {
      onServer: (state) => {
        this.#controls.server = state;
        if (state === 'ready') this.#notice.replaceChildren();
      },
      onAgents: (agents) => this.#controls.setAgents(agents, this.#wanted),
      onPhase: (phase) => {
        this.#ribbon.onPhase(phase, performance.now());
        this.#controls.state = this.#ribbon.state;
      },
      onCall: ({ hasMicrophone, sessionId }) => {
        this.#last.replaceChildren();
        this.#controls.hasMicrophone = hasMicrophone;
        this.#watchSteps(sessionId);
      },
      onInterrupted: () => {
        this.#ribbon.onInterrupted(performance.now());
        this.#controls.state = this.#ribbon.state;
      },
      onTimes: ({ response_ms: ms }) => {
        this.#controls.responseMs = ms;
      },
      onFormSent: () => this.#controls.focusText(),
      onProblem: (message, { label, run }) => {
        const shown = failure(
          message,
          () => {
            shown.remove();
            this.#controls.focusTalk(); // the button with the focus is gone
            run();
            if (this.#talk.phase === 'connecting') this.#controls.focusText();
          },
          label,
        );
        this.#notice.replaceChildren(shown);
      },
      onNoProblem: () => this.#notice.replaceChildren(),
      onOver: (call) => {
        const href = `#/calls/${encodeURIComponent(call.sessionId)}`;
        this.#last.replaceChildren(el('a', { href }, ALL_KNOWN));
        this.#running.refresh();
      },
    };
  }
}

const ALL_KNOWN = 'All that is known of this call →';

/** Visible part of the conversation. */
const WINDOW_MS = 30_000;
const SAMPLE_MS = 40;
const WAVE_PX = 40;
const STRIP_PX = 14;

const STATES: readonly { state: RibbonState; label: string; colour: string }[] = [
  { state: 'listening', label: 'listening', colour: '--line' },
  { state: 'thinking', label: 'thinking', colour: '--early' },
  { state: 'speaking', label: 'speaking', colour: '--accent' },
  { state: 'held', label: 'held', colour: '--held' },
  { state: 'interrupted', label: 'interrupted', colour: '--alert' },
];

/** The last half minute: the user's audio above, the agent's below, and the state of the conversation. */
class RibbonView {
  readonly element: HTMLElement;
  readonly #canvas = el('canvas', {
    class: 'ribbon',
    role: 'img',
    'aria-label': 'The last half minute of the conversation',
  });
  readonly #ribbon: Ribbon;
  readonly #levels: () => { user: number; agent: number } | null;
  readonly #timer: number;
  #frame = 0;
  /** The ribbon stops when the call is over. */
  #nowMs = performance.now();

  constructor(ribbon: Ribbon, levels: () => { user: number; agent: number } | null) {
    this.#ribbon = ribbon;
    this.#levels = levels;
    const legend = STATES.map(({ label, colour }) => {
      const swatch = el('span', { class: 'swatch' });
      swatch.style.background = `var(${colour})`;
      return el('li', { class: 'legend-entry' }, swatch, label);
    });
    this.element = el('div', { class: 'ribbon-box' }, this.#canvas, el('ul', { class: 'legend' }, ...legend));
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#frame = requestAnimationFrame(this.#draw);
  }

  close(): void {
    clearInterval(this.#timer);
    cancelAnimationFrame(this.#frame);
  }

  #sample(): void {
    const levels = this.#levels();
    if (levels === null) return;
    this.#nowMs = performance.now();
    this.#ribbon.onLevels(levels.user, levels.agent, this.#nowMs);
  }

  readonly #draw = (): void => {
    this.#frame = requestAnimationFrame(this.#draw);
    const width = this.#canvas.clientWidth;
    const height = 2 * WAVE_PX + STRIP_PX;
    const density = Math.min(3, devicePixelRatio);
    if (this.#canvas.width !== Math.round(width * density)) this.#canvas.width = Math.round(width * density);
    if (this.#canvas.height !== Math.round(height * density)) this.#canvas.height = Math.round(height * density);
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    const style = getComputedStyle(this.#canvas);
    const xOf = (ms: number): number => width - ((this.#nowMs - ms) / WINDOW_MS) * width;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = style.getPropertyValue('--line');
    context.fillRect(0, WAVE_PX - 0.5, width, 1);
    const bar = Math.max(1, (SAMPLE_MS / WINDOW_MS) * width);
    for (const { atMs, user, agent } of this.#ribbon.samples) {
      const x = xOf(atMs);
      if (x < 0) continue;
      context.fillStyle = style.getPropertyValue('--user');
      const up = Math.sqrt(Math.min(1, user * 2)) * WAVE_PX;
      context.fillRect(x, WAVE_PX - up, bar, up);
      context.fillStyle = style.getPropertyValue('--accent');
      context.fillRect(x, WAVE_PX, bar, Math.sqrt(Math.min(1, agent * 2)) * WAVE_PX);
    }
    for (const { state, fromMs, toMs } of this.#ribbon.pieces) {
      const colour = STATES.find((one) => one.state === state)?.colour;
      if (colour === undefined) continue;
      const from = Math.max(0, xOf(fromMs));
      const to = xOf(toMs ?? this.#nowMs);
      context.fillStyle = style.getPropertyValue(colour);
      if (to > from) context.fillRect(from, 2 * WAVE_PX + 2, to - from, STRIP_PX - 2);
    }
  };
}
