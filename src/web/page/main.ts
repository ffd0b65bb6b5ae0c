import type { Call, CallStats } from '@parley-voice/web';
import { Controls } from './controls.js';
import { Devices } from './devices.js';
import { byId } from '../shared/elements.js';
import { Notice } from './notice.js';
import { Ring } from './ring.js';
import { Talk, type TalkEvents } from './talk.js';
import { TranscriptView } from './transcript-view.js';
import { TimesSummary, turnTimesElement } from './turn-times.js';

declare global {
  /** Statistics of the current (or last) call, for the browser's console and tests. */
  var parleyStats: (CallStats & { phase: string }) | null;
}

const LINE_POLL_MS = 400;

/** The page around a call. */
class Page {
  readonly #notice = new Notice(
    byId('notice', HTMLElement),
    byId('notice-text', HTMLElement),
    byId('notice-action', HTMLButtonElement),
  );
  readonly #transcript = new TranscriptView(
    byId('transcript', HTMLElement),
    byId('scroller', HTMLElement),
    turnTimesElement,
  );
  readonly #copy = byId('copy', HTMLButtonElement);
  readonly #seeCall = byId('see-call', HTMLAnchorElement);
  readonly #devices: Devices;
  readonly #talk: Talk;
  readonly #controls: Controls;

  constructor() {
    this.#talk = new Talk(
      {
        transcript: this.#transcript,
        summary: new TimesSummary(byId('summary', HTMLElement)),
        forms: byId('forms', HTMLElement),
        agent: () => this.#controls.agent,
      },
      this.#talkEvents(),
    );
    this.#controls = new Controls({
      onTalk: () => this.#talk.toggle(),
      onMute: (muted) => {
        this.#talk.muted = muted;
      },
      onDigit: (digit) => this.#talk.press(digit),
      onText: (text) => this.#talk.type(text),
    });
    this.#devices = new Devices(
      [
        { kind: 'audioinput', select: byId('microphone', HTMLSelectElement) },
        { kind: 'audiooutput', select: byId('loudspeaker', HTMLSelectElement) },
      ],
      (kind) => this.#talk.changeDevice(kind),
    );
    new Ring(byId('ring', HTMLCanvasElement), () => {
      const { phase, call } = this.#talk;
      return { phase, microphone: call?.level('user') ?? 0, agent: call?.level('agent') ?? 0 };
    });
    setInterval(() => this.#showLine(this.#talk.call), LINE_POLL_MS);
    // The page may return from the cache.
    addEventListener('pagehide', () => {
      if (this.#talk.phase !== 'idle') this.#talk.hangUp();
    });
    this.#copy.addEventListener('click', () => {
      navigator.clipboard.writeText(this.#transcript.text).then(
        () => (this.#copy.textContent = 'Copied'),
        () => (this.#copy.textContent = 'This browser does not let the page copy'),
      );
    });
    void this.#talk.meet();
  }

  #talkEvents(): TalkEvents {
    return {
      onServer: (state) => {
        this.#controls.server = state;
      },
      onAgents: (agents) => {
        this.#controls.agents = agents;
      },
      onPhase: (phase) => {
        this.#controls.phase = phase;
      },
      onCall: (call) => {
        this.#showLine(call);
        void this.#devices.refresh();
        this.#seeCall.hidden = true;
        this.#copy.hidden = false;
        this.#copy.textContent = 'Copy what was said';
        this.#controls.hasMicrophone = call.hasMicrophone;
      },
      onInterrupted: () => undefined,
      onTimes: () => undefined,
      onFormSent: () => this.#controls.focusText(),
      onProblem: (message, { label, run }) => {
        const act = (): void => {
          this.#controls.focusTalk(); // the button with the focus is gone
          run();
          if (this.#talk.phase === 'connecting') this.#controls.focusText();
        };
        this.#notice.show(message, { label, run: act });
      },
      onNoProblem: () => this.#notice.hide(),
      onOver: (call) => {
        this.#seeCall.hidden = !isOperator();
        this.#seeCall.href = `console#/calls/${encodeURIComponent(call.sessionId)}`;
      },
    };
  }

  #showLine(call: Call | null): void {
    const stats = call?.stats ?? null;
    if (stats === null) return;
    globalThis.parleyStats = { ...stats, phase: this.#talk.phase };
    if (this.#talk.phase !== 'idle') this.#controls.line = stats;
  }
}

globalThis.parleyStats = null;
new Page();

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether the visitor probably has access to the console: on the daemon's own machine, or signed in. */
function isOperator(): boolean {
  return LOOPBACK.test(location.hostname) || sessionStorage.getItem('parley.key') !== null;
}
