import type { PageDescription } from '../../../transports/talk-protocol.js';
import { el } from '../../docs/elements.js';
import { Call, type CallEvents, type CallStats } from '../../page/call.js';
import { Daemon } from '../../page/daemon.js';
import { endingWords } from '../../page/endings.js';
import { Forms } from '../../page/forms.js';
import { Microphone, MicrophoneError } from '../../page/microphone.js';
import { Transcript } from '../../page/transcript.js';
import { TimesSummary } from '../../page/turn-times.js';
import { messageOf } from '../api.js';
import { failure, type View, type ViewOptions } from '../view.js';
import { LiveControls } from './live-controls.js';
import { Ribbon } from './ribbon.js';
import { RibbonView } from './ribbon-view.js';
import { RunningCalls } from './running-calls.js';

/** Talking to any agent, and the calls that go on. */
export function liveView(options: ViewOptions): View {
  const page = new Live(options);
  return { element: page.element, title: 'Live', close: () => page.close() };
}

class Live {
  readonly element = el('div', { class: 'stack' });
  readonly #daemon = new Daemon();
  readonly #wanted: string;
  readonly #ribbon = new Ribbon();
  readonly #view: RibbonView;
  readonly #running: RunningCalls;
  readonly #controls: LiveControls;
  readonly #transcript: Transcript;
  readonly #summary: TimesSummary;
  readonly #forms: Forms;
  readonly #notice = el('div', { class: 'problems' });
  /** Leads to the call that is over. */
  readonly #last = el('p', {});
  #description: PageDescription | null = null;
  #call: Call | null = null;
  /** Counts attempts, so that one that was given up cannot come true later. */
  #attempt = 0;
  #untold: string[] = [];
  #closed = false;

  constructor({ api, path }: ViewOptions) {
    this.#wanted = path;
    this.#view = new RibbonView(this.#ribbon, () => levelsOf(this.#call?.stats));
    this.#running = new RunningCalls(api);
    this.#controls = new LiveControls({
      onTalk: () => (this.#call === null && this.#controls.isIdle ? void this.#begin('voice') : this.#hangUp()),
      onMute: (muted) => {
        if (this.#call !== null) this.#call.muted = muted;
      },
      onText: (text) => this.#type(text),
    });
    const list = el('ol', { class: 'transcript', role: 'log', 'aria-live': 'polite' });
    const scroller = el('div', { class: 'scroller', tabindex: '0', role: 'region', 'aria-label': 'Transcript' }, list);
    scroller.append(el('p', { class: 'empty' }, 'What you and the agent say appears here.'));
    const summary = el('header', { class: 'summary', hidden: '' });
    const forms = el('div', { class: 'forms' });
    this.#transcript = new Transcript(list, scroller);
    this.#summary = new TimesSummary(summary);
    this.#forms = new Forms(forms, (id, value) => this.#call?.answerForm(id, value));
    this.element.append(
      el('h1', {}, 'Live'),
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
    void this.#meet();
  }

  close(): void {
    this.#closed = true;
    this.#attempt++;
    this.#call?.hangUp();
    this.#call = null;
    this.#view.close();
    this.#running.close();
  }

  async #meet(): Promise<void> {
    try {
      this.#description = await this.#daemon.describe();
      this.#controls.setAgents(this.#description.agents, this.#wanted);
      this.#notice.replaceChildren();
    } catch (error) {
      this.#problem(error, () => void this.#meet());
    }
  }

  async #begin(how: 'voice' | 'typing'): Promise<void> {
    const { agent } = this.#controls;
    if (this.#description === null || agent === null) return;
    const attempt = ++this.#attempt;
    this.#notice.replaceChildren();
    this.#onPhase('connecting');
    let stream: MediaStream | null = null;
    try {
      stream = how === 'voice' ? await Microphone.ask() : null;
      // A private key mints no tokens; the page's own public key does, for this daemon's own pages.
      const token = await this.#daemon.sessionToken(this.#description.public_key);
      if (attempt !== this.#attempt) throw new Error('given up');
      const call = await Call.begin({ token, agentId: agent.id, stream }, this.#callEvents());
      if (attempt !== this.#attempt) {
        call.hangUp();
        return;
      }
      this.#call = call;
      this.#last.replaceChildren();
      this.#transcript.begin(agent.name);
      this.#controls.hasMicrophone = call.hasMicrophone;
    } catch (error) {
      for (const track of stream?.getTracks() ?? []) track.stop();
      if (attempt !== this.#attempt) return;
      this.#onPhase('idle');
      if (error instanceof MicrophoneError)
        this.#problem(new Error(`${error.message} You can type instead.`), () => void this.#begin('typing'));
      else this.#problem(error, () => void this.#meet());
    }
  }

  #callEvents(): CallEvents {
    const transcript = this.#transcript;
    return {
      onPhase: (phase) => {
        this.#onPhase(phase);
        if (phase === 'listening') for (const text of this.#untold.splice(0)) this.#type(text);
      },
      onTranscript: (text, isFinal) => transcript.user(text, isFinal),
      onResponse: (text, isFinal) => transcript.agent(text, isFinal),
      onInterrupted: () => {
        this.#ribbon.onInterrupted(performance.now());
        this.#controls.state = this.#ribbon.state;
        transcript.interrupted();
      },
      onFalseAlarm: () => transcript.falseAlarm(),
      onTimes: (times) => {
        transcript.times(times);
        this.#summary.add(times);
        this.#controls.responseMs = times.response_ms;
      },
      onAction: (action) => {
        if (!this.#forms.take(action)) transcript.note(`${action.name} …`);
      },
      onProblem: (message) => this.#problem(new Error(message), () => undefined),
      onEnded: (status, error) => {
        this.#over(endingWords(status));
        if (error !== null) this.#problem(new Error(error), () => void this.#meet());
      },
    };
  }

  #type(text: string): void {
    if (this.#call !== null && this.#ribbon.state !== 'connecting') {
      this.#transcript.typed(text);
      this.#call.type(text);
      return;
    }
    this.#untold.push(text);
    if (this.#controls.isIdle) void this.#begin('typing');
  }

  #hangUp(): void {
    this.#attempt++;
    this.#call?.hangUp();
    this.#over('You hung up');
  }

  #over(note: string): void {
    const id = this.#call?.sessionId ?? null;
    if (id !== null)
      this.#last.replaceChildren(
        el('a', { href: `#/calls/${encodeURIComponent(id)}` }, 'All that is known of this call →'),
      );
    this.#call = null;
    this.#untold = [];
    this.#onPhase('idle');
    this.#forms.clear();
    this.#transcript.end();
    this.#transcript.note(note);
    if (!this.#closed) this.#running.refresh();
  }

  #onPhase(phase: Parameters<CallEvents['onPhase']>[0]): void {
    this.#ribbon.onPhase(phase, performance.now());
    this.#controls.state = this.#ribbon.state;
  }

  #problem(error: unknown, again: () => void): void {
    const shown = failure(messageOf(error), () => {
      shown.remove();
      again();
    });
    this.#notice.replaceChildren(shown);
  }
}

function levelsOf(stats: CallStats | undefined): { user: number; agent: number } | null {
  return stats === undefined ? null : { user: stats.microphoneLevel, agent: stats.level };
}
