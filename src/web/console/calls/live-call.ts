import { CallTranscript, type TurnTimes } from '@parley-voice/web';
import { el } from '../../shared/elements.js';
import { transcriptElements, TranscriptView } from '../../page/transcript-view.js';
import { TimesSummary, turnTimesElement } from '../../page/turn-times.js';
import type { ConsoleApi } from '../api.js';
import type { ServerEvent } from '../sse.js';
import { CallFlow } from '../flow/call-flow.js';
import { card } from '../view.js';
import { CallControls } from './call-controls.js';
import { turnTimesOf, type WatchedEvent, watchedEvent, type WatchedParticipant } from './watched-event.js';

type StateEvent = Extract<WatchedEvent, { type: 'state' }>;

/** What is known of a call when its events are not read yet. */
export interface WatchedCall {
  session_id: string;
  agent_id: string | null;
  agent_version?: number;
}

/** A running call, built from its events, and a supervisor's controls of it. */
export class LiveCall {
  readonly element: HTMLElement;
  readonly #abort = new AbortController();
  readonly #onEnded: () => void;
  readonly #transcript = new CallTranscript((entries) => this.#view.show(entries));
  readonly #view: TranscriptView;
  readonly #summary: TimesSummary;
  readonly #controls: CallControls;
  readonly #flow: CallFlow;
  #answers = 0;
  #times: TurnTimes | null = null;
  readonly #state = el('p', { class: 'soft', role: 'status' }, 'Watching …');

  constructor(api: ConsoleApi, watched: WatchedCall, onEnded: () => void) {
    const { session_id: sessionId, agent_id: agentId, agent_version: version } = watched;
    this.#onEnded = onEnded;
    const { list, scroller } = transcriptElements('scroller watched');
    const summary = el('header', { class: 'summary', hidden: '' });
    this.#view = new TranscriptView(list, scroller, turnTimesElement, 'User');
    this.#summary = new TimesSummary(summary);
    this.#controls = new CallControls(api, sessionId);
    this.#flow = new CallFlow(api, sessionId, agentId, version === undefined ? null : String(version));
    const call = card('As it happens', this.#controls.element, summary, scroller, this.#state);
    this.element = el('div', { class: 'stack' }, call, this.#flow.element);
    api.events(
      `/calls/${encodeURIComponent(sessionId)}/events`,
      (event) => this.#take(event),
      (isBroken) => {
        this.#state.textContent = isBroken ? 'The daemon does not answer; trying again …' : 'Watching';
      },
      this.#abort.signal,
    );
  }

  /** The buttons that steer the call, by what they do. */
  get controls(): ReadonlyMap<string, HTMLButtonElement> {
    return this.#controls.buttons;
  }

  /** The call is over: what was said stays. */
  end(): void {
    this.#abort.abort();
    this.#controls.end();
  }

  /** May be called twice. */
  close(): void {
    this.#abort.abort();
    this.#controls.close();
    this.#flow.close();
  }

  #take(message: ServerEvent): void {
    const event = watchedEvent(message);
    if (event !== null) this.#show(event);
  }

  #show(event: WatchedEvent): void {
    switch (event.type) {
      case 'status':
        if (event.ended) {
          this.end();
          this.#onEnded();
        } else this.#state.textContent = `Watching: ${event.call_status}`;
        return;
      case 'transcript':
        if (event.text === null) return;
        if (event.role === 'participant') {
          this.#view.note(`${event.name}${event.whispered ? ', whispering' : ''}: ${event.text}`);
          return;
        }
        if (event.role === 'agent') this.#answered(event.text);
        else if (event.is_final) this.#transcript.userTurn(event.turn, event.text);
        else this.#transcript.user({ ...event, text: event.text, isFinal: false });
        return;
      case 'metrics': {
        // They come with the first audio of an answer, before its words.
        this.#times = turnTimesOf(event);
        this.#summary.add(this.#times);
        return;
      }
      case 'step':
        this.#flow.show(event.step);
        this.#view.note(`Step: ${this.#flow.titleOf(event.step)}`);
        return;
      case 'tool':
        this.#view.note(`${event.name} ${event.ok ? 'done' : 'failed'} after ${event.took_ms.toFixed(0)} ms`);
        return;
      case 'state':
        this.#controls.take(event);
        for (const words of changesOf(event)) this.#view.note(words);
        return;
      case 'participant':
        this.#controls.takeParticipant(event);
        this.#view.note(participantWords(event));
        return;
      case 'gap':
        this.#view.note('Some of it has been missed; the call’s page has all when it is over');
    }
  }

  #answered(text: string): void {
    this.#transcript.agent(text, true, this.#answers++);
    if (this.#times !== null) this.#transcript.times(this.#times);
    this.#times = null;
  }
}

function changesOf({ held, agent_muted: muted, agent_updated: updated }: StateEvent): string[] {
  const words: string[] = [];
  if (held !== undefined) words.push(held ? 'The caller is on hold' : 'The caller is off hold');
  if (muted !== undefined) words.push(muted ? 'The agent is muted' : 'The agent is no longer muted');
  if (updated === true) words.push('The agent was changed');
  return words;
}

const MODE_WORDS: Readonly<Record<WatchedParticipant['mode'], string>> = {
  listen: 'listens',
  whisper: 'whispers to the agent',
  barge_in: 'speaks with the caller and the agent',
  take_over: 'has taken over',
};

function participantWords({ name, mode, status, reason }: WatchedParticipant): string {
  if (status === 'joined') return `${name} ${MODE_WORDS[mode]}`;
  if (status === 'connecting') return `${name} is joining`;
  return status === 'left' ? `${name} has left` : `${name} could not join: ${reason ?? 'unknown reason'}`;
}
