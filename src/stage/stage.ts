import type { ChatMessage, ToolCall } from '../agent/chat.js';
import { Conversation } from '../conversation/conversation.js';
import type { ConversationEffect, ConversationEvent, EndStatus, PlayoutPosition } from '../conversation/events.js';
import { historyMessages } from '../conversation/speech/history.js';
import { type ConfigChanges, mergeConfig } from '../agent/flow/conversation-config.js';
import { AgentExpectation, Timeline } from './timeline.js';
import { StageLine } from './line.js';
import { StageModel } from './model.js';
import { StageUser } from './user.js';
import { StageVoice, type StageVoiceOptions, type VoiceWatcher } from './voice.js';

export interface StageToolRun {
  call: ToolCall;
  startMs: number;
}

interface Behaviour {
  ok: boolean;
  content: string;
  /** Null = never answers. */
  afterMs: number | null;
}

/** The tools of a scenario. Only tools with a scripted behaviour exist. */
export class StageTools {
  readonly runs: StageToolRun[] = [];
  readonly #send: (atMs: number, event: ConversationEvent) => void;
  readonly #behaviours = new Map<string, Behaviour>();

  constructor(send: (atMs: number, event: ConversationEvent) => void) {
    this.#send = send;
  }

  answers(name: string, content: string, { afterMs = 300 }: { afterMs?: number } = {}): this {
    this.#behaviours.set(name, { ok: true, content, afterMs });
    return this;
  }

  fails(name: string, content: string, { afterMs = 300 }: { afterMs?: number } = {}): this {
    this.#behaviours.set(name, { ok: false, content, afterMs });
    return this;
  }

  neverAnswers(name: string): this {
    this.#behaviours.set(name, { ok: false, content: '', afterMs: null });
    return this;
  }

  start(call: ToolCall, atMs: number): void {
    this.runs.push({ call, startMs: atMs });
    const missing = { ok: false, content: `There is no tool called "${call.name}".`, afterMs: 0 };
    const { ok, content, afterMs } = this.#behaviours.get(call.name) ?? missing;
    if (afterMs !== null) this.#send(atMs + afterMs, { type: 'tool.result', callId: call.id, ok, content });
  }
}

/** The other agents of a scenario. Those without a scripted behaviour cannot be prepared. */
export class StageAgents {
  /** The ids of those that spoke, in order. */
  readonly spoke: (string | null)[] = [];
  readonly #send: (atMs: number, event: ConversationEvent) => void;
  readonly #behaviours = new Map<string, { config: ConfigChanges | null; reason: string; afterMs: number | null }>();

  constructor(send: (atMs: number, event: ConversationEvent) => void) {
    this.#send = send;
  }

  isReady(id: string, config: StageConfig = {}, { afterMs = 0 }: { afterMs?: number } = {}): this {
    this.#behaviours.set(id, { config, reason: '', afterMs });
    return this;
  }

  isMissing(id: string, reason: string, { afterMs = 0 }: { afterMs?: number } = {}): this {
    this.#behaviours.set(id, { config: null, reason, afterMs });
    return this;
  }

  neverComes(id: string): this {
    this.#behaviours.set(id, { config: null, reason: '', afterMs: null });
    return this;
  }

  prepare(wanted: Extract<ConversationEffect, { type: 'agent.prepare' }>, atMs: number): void {
    const { callId, agent, summary } = wanted;
    const unknown = { config: null, reason: 'there is no such agent', afterMs: 0 };
    const { config, reason, afterMs } = this.#behaviours.get(agent.id ?? '') ?? unknown;
    if (afterMs === null) return;
    if (config === null) {
      this.#send(atMs + afterMs, { type: 'handover.failed', callId, reason });
      return;
    }
    const variables = Object.entries(wanted.variables).filter(([, value]) => value !== null);
    this.#send(atMs + afterMs, {
      type: 'handover.ready',
      callId,
      agent,
      config: mergeConfig(config),
      summary: typeof summary === 'string' ? summary : null,
      variables: Object.fromEntries(variables) as Record<string, string>,
    });
  }
}

/** Settings that differ from the defaults, by section. */
export type StageConfig = ConfigChanges;

/** Observes every step of a scenario. */
export interface StageWatcher extends VoiceWatcher {
  /** Called after each step of the conversation, before its effects are carried out. Must not change the effects. */
  onStep(
    atMs: number,
    event: ConversationEvent,
    position: PlayoutPosition,
    effects: readonly ConversationEffect[],
  ): void;
}

export interface StageOptions {
  config?: StageConfig;
  voice?: StageVoiceOptions;
  watcher?: StageWatcher | undefined;
}

/** Longest scenario. */
const LONGEST_MS = 24 * 3_600_000;

/**
 * Plays a conversation in virtual time, for tests that read like a script. The line opens at 0; times are milliseconds
 * since then. The same script always gives the same timeline.
 *
 *     const stage = new Stage({ config: { opening: { firstMessage: 'Hello, what can I do for you?' } } });
 *     stage.model.says('For how many people?');
 *     stage.user.says('I would like a table.', { from: 3000, to: 4200 });
 *     stage.playTo(10_000);
 *     stage.expectAgent('Hello').startsAt(80).isHeardWhole();
 *     stage.expectAgent('For how many').startsAt(4800, 200);
 */
export class Stage {
  readonly timeline = new Timeline();
  readonly conversation: Conversation;
  readonly user: StageUser;
  readonly model: StageModel;
  readonly tools: StageTools;
  readonly agents: StageAgents;
  readonly line: StageLine;
  readonly voice: StageVoice;
  readonly #agenda = new Agenda();
  readonly #watcher: StageWatcher | null;
  #nowMs = 0;

  constructor({ config = {}, voice = {}, watcher }: StageOptions = {}) {
    this.#watcher = watcher ?? null;
    const send = (atMs: number, event: ConversationEvent): void => {
      this.send(event, { at: atMs });
    };
    this.conversation = new Conversation(mergeConfig(config));
    this.user = new StageUser(send);
    this.model = new StageModel((atMs, event) => {
      this.#add(atMs, () => {
        if (this.model.isLive(event.requestId)) this.#dispatch(event);
      });
    });
    this.tools = new StageTools(send);
    this.agents = new StageAgents(send);
    this.line = new StageLine(send);
    this.voice = new StageVoice(
      voice,
      (event) => {
        this.#dispatch(event);
      },
      {
        onPlayed: (utteranceId, fromMs, toMs) => {
          this.timeline.onPlayed(utteranceId, fromMs, toMs);
          this.#watcher?.onPlayed(utteranceId, fromMs, toMs);
        },
      },
    );
    this.send({ type: 'line.opened' }, { at: 0 });
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** The messages of both sides; the agent's are cut to what was heard. */
  get messages(): ChatMessage[] {
    return historyMessages(this.conversation.state.history, { expected: false, keepInterrupted: true });
  }

  /** Sends any event at a time. */
  send(event: ConversationEvent, { at }: { at: number }): void {
    this.#add(at, () => {
      this.#dispatch(event);
    });
  }

  /** Plays until a time, or until the line closes. */
  playTo(atMs: number): this {
    while (this.timeline.end === null && this.#advance(atMs));
    this.#nowMs = Math.max(this.#nowMs, atMs);
    return this;
  }

  /** Plays until an utterance with these words starts. Returns the start time. */
  playUntilAgentSays(words: string): number {
    const start = (): number | undefined =>
      this.timeline.utterances.find(({ text, played }) => text.includes(words) && played.length > 0)?.played[0]?.from;
    while (start() === undefined && this.timeline.end === null && this.#advance(LONGEST_MS));
    const startMs = start();
    if (startMs === undefined) throw new Error(`The agent never says "${words}".\n${this.timeline.toString()}`);
    return startMs;
  }

  /** Plays until the line closes. Returns the status of the end. */
  playToEnd(): EndStatus {
    while (this.timeline.end === null && this.#advance(LONGEST_MS));
    if (this.timeline.end === null) throw new Error(`The conversation never ends.\n${this.timeline.toString()}`);
    return this.timeline.end.status;
  }

  expectAgent(words: string): AgentExpectation {
    return new AgentExpectation(this.timeline, words);
  }

  #add(atMs: number, run: () => void): void {
    this.#agenda.add(Math.max(atMs, this.#nowMs), run);
  }

  /** Runs the next action, tick or deadline, unless it is after `untilMs`. */
  #advance(untilMs: number): boolean {
    const agendaMs = this.#agenda.nextMs ?? Infinity;
    const tickMs = this.voice.nextTickMs ?? Infinity;
    const deadlineMs = this.conversation.nextDeadlineMs ?? Infinity;
    const nextMs = Math.min(agendaMs, tickMs, deadlineMs);
    if (nextMs > untilMs) return false;
    this.#nowMs = Math.max(this.#nowMs, nextMs);
    if (agendaMs === nextMs) this.#agenda.runNext();
    else if (tickMs === nextMs) {
      // At the time of a tick, actions of the agenda run before it, deadlines after it.
      this.#nowMs = this.voice.play(this.#nowMs, Math.min(agendaMs - 1, deadlineMs, untilMs));
    } else this.#dispatch({ type: 'time' });
    return true;
  }

  #dispatch(event: ConversationEvent): void {
    if (this.timeline.end !== null) return;
    const position = this.voice.position();
    this.timeline.onEvent(this.#nowMs, event, position);
    const effects = this.conversation.step(event, this.#nowMs, position);
    this.#watcher?.onStep(this.#nowMs, event, position, effects);
    for (const effect of effects) {
      this.timeline.onEffect(this.#nowMs, effect);
      this.#carryOut(effect);
    }
    const { line, ending } = this.conversation.state;
    if (line === 'closed') this.timeline.end = { atMs: this.#nowMs, status: ending?.status ?? 'error' };
  }

  #carryOut(effect: ConversationEffect): void {
    switch (effect.type) {
      case 'llm.start':
        this.model.start(effect, this.#nowMs);
        return;
      case 'llm.confirm':
        this.model.confirm(effect.requestId);
        return;
      case 'llm.cancel':
        this.model.cancel(effect.requestId, this.#nowMs);
        return;
      case 'speak.prepare':
        this.voice.prepare(effect.utteranceId, effect.text, this.#nowMs);
        return;
      case 'speak':
        this.voice.speak(effect.utteranceId, effect.text, this.#nowMs);
        return;
      case 'speak.more':
        this.voice.more(effect.utteranceId, effect.text);
        return;
      case 'speak.cancel':
        this.voice.cancel(effect.utteranceId);
        return;
      case 'playout.hold':
        this.voice.hold();
        return;
      case 'playout.resume':
        this.voice.resume(this.#nowMs);
        return;
      case 'playout.drop':
        this.voice.drop();
        return;
      case 'tool.start':
        this.tools.start(effect.call, this.#nowMs);
        return;
      case 'digits.send':
        this.line.press(effect.callId, effect.digits, this.#nowMs);
        return;
      case 'line.transfer':
        this.line.transfer(effect.callId, effect.target, this.#nowMs, effect.attended);
        return;
      case 'line.transfer.cancel':
        this.line.cancelTransfer(this.#nowMs);
        return;
      case 'language.switch':
        this.line.switchLanguage(effect.callId, effect.language, this.#nowMs);
        return;
      case 'speak.pause':
        this.voice.pause(effect.utteranceId, effect.pauseMs);
        return;
      case 'agent.prepare':
        this.agents.prepare(effect, this.#nowMs);
        return;
      case 'agent.handover':
        this.agents.spoke.push(effect.to.id);
        return;
      case 'agent.prepare.cancel':
      case 'doNotCall':
      case 'stt.endTurn':
      case 'stt.expect':
      case 'user.said':
      case 'line.close':
      case 'line.mute':
      case 'line.hold':
      case 'line.unhold':
      case 'line.participant':
      case 'participant.words':
      case 'agent.update':
      case 'recording.pause':
      case 'command.done':
      case 'command.refused':
      case 'trace':
        return;
    }
  }
}

/** Actions at moments of virtual time, ordered by time; actions at the same time run in the order of their addition. */
export class Agenda {
  readonly #items: { atMs: number; run: () => void }[] = [];

  get nextMs(): number | undefined {
    return this.#items[0]?.atMs;
  }

  add(atMs: number, run: () => void): void {
    let index = this.#items.length;
    while (index > 0 && (this.#items[index - 1]?.atMs ?? 0) > atMs) index--;
    this.#items.splice(index, 0, { atMs, run });
  }

  /** Removes the first action and runs it. */
  runNext(): void {
    this.#items.shift()?.run();
  }
}
