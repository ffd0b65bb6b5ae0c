import type { CallHistoryItem } from '../../../session/record/call-history.js';
import type { LogEntry } from '../../../session/record/event-log.js';
import { decision, type Weight } from '../decisions.js';

/** From the user's audio to the agent's. */
export const LANES = ['steps', 'speech', 'words', 'turns', 'model', 'tools', 'voice', 'playout'] as const;
export type LaneName = (typeof LANES)[number];

/** A span or (`toMs` = `fromMs`) an instant, in milliseconds since the line opened. */
export interface TimelineSpan {
  lane: LaneName;
  fromMs: number;
  toMs: number;
  /** Shown on it. */
  label: string;
  /** A description. */
  about: string;
  look: 'plain' | 'early' | 'dropped' | 'held' | Weight;
}

export interface CallTimeline {
  spans: readonly TimelineSpan[];
  durationMs: number;
}

/** The events of a session by lane, in the order of their start. */
export function timelineOf(entries: readonly LogEntry[]): CallTimeline {
  const builder = new Builder(entries);
  for (const entry of entries) builder.take(entry);
  return builder.finish();
}

type EffectEntry = Extract<LogEntry, { kind: 'effect' }>;
type EffectOf<T> = Extract<EffectEntry['effect'], { type: T }>;

class Builder {
  readonly #zeroMs: number;
  readonly #spans: TimelineSpan[] = [];
  #nowMs = 0;
  #speech: TimelineSpan | null = null;
  #speechEndMs: number | null = null;
  #segment: { number: number; span: TimelineSpan } | null = null;
  #held: TimelineSpan | null = null;
  #playing: TimelineSpan | null = null;
  #cause: LogEntry | null = null;
  readonly #requests = new Map<number, { span: TimelineSpan; text: string; firstMs: number | null }>();
  readonly #utterances = new Map<number, { text: string; span: TimelineSpan }>();
  readonly #tools = new Map<string, TimelineSpan>();

  constructor(entries: readonly LogEntry[]) {
    this.#zeroMs = lineOpenedMs(entries);
  }

  take(entry: LogEntry): void {
    this.#nowMs = Math.max(0, entry.t - this.#zeroMs);
    if (entry.kind === 'event') this.#event(entry);
    else if (entry.kind === 'effect') this.#effect(entry);
    else if (entry.kind === 'note') this.#note(entry);
  }

  finish(): CallTimeline {
    const durationMs = this.#nowMs;
    // Spans that are open at the end of the log end there.
    for (const span of [this.#speech, this.#held, this.#playing]) if (span !== null) span.toMs = durationMs;
    const made = [...this.#requests.values(), ...this.#utterances.values()].map(({ span }) => span);
    for (const span of [...made, ...this.#tools.values()]) if (span.toMs === Infinity) span.toMs = durationMs;
    return { spans: this.#spans.sort((a, b) => a.fromMs - b.fromMs), durationMs };
  }

  #event(entry: Extract<LogEntry, { kind: 'event' }>): void {
    const { event } = entry;
    this.#cause = entry;
    switch (event.type) {
      case 'speech.started':
        this.#speech ??= this.#add('speech', '', 'The user speaks', event.startMs - this.#zeroMs);
        return;
      case 'speech.stopped':
        this.#speechEndMs = event.endMs - this.#zeroMs;
        if (this.#speech !== null) this.#speech.toMs = Math.max(this.#speech.fromMs, this.#speechEndMs);
        this.#speech = null;
        return;
      case 'transcript':
        this.#words(event);
        return;
      case 'text':
        this.#mark('words', `typed: ${event.text}`, `The user typed “${event.text}”`);
        return;
      case 'digits':
        this.#mark('words', event.digits, `The user pressed ${event.digits}`);
        return;
      case 'turn.judged':
        this.#mark('turns', '', `By its sound the turn is ${(event.probability * 100).toFixed(0)} % over`, 'minor');
        return;
      case 'llm.text':
      case 'llm.voice':
      case 'llm.toolCall':
        this.#modelSaid(event.requestId, event.type === 'llm.toolCall' ? ` [${event.call.name}]` : event.text);
        return;
      case 'llm.done':
        this.#modelDone(event.requestId, null);
        return;
      case 'llm.failed':
        this.#modelDone(event.requestId, event.reason);
        return;
      case 'tool.result': {
        const span = this.#tools.get(event.callId);
        if (span === undefined) return;
        span.toMs = this.#nowMs;
        span.about += ` → ${event.ok ? '' : 'failed: '}${event.content}`;
        if (!event.ok) span.look = 'trouble';
        return;
      }
      case 'utterance.started': {
        const text = this.#utterances.get(event.utteranceId)?.text ?? '';
        this.#ready(event.utteranceId);
        this.#playing = this.#add('playout', text, `The agent says: ${text}`);
        return;
      }
      case 'utterance.finished':
        this.#stopPlaying();
        return;
      case 'utterance.starved':
        this.#mark('playout', '', 'The voice is late: nothing to play in mid-utterance', 'trouble');
        return;
      case 'utterance.failed':
        this.#mark('voice', 'failed', `The voice failed: ${event.reason}`, 'trouble');
        return;
      case 'beep':
        this.#mark('speech', 'beep', 'The beep of a mailbox');
        return;
      case 'sit':
        this.#mark('speech', 'SIT', 'Special information tones: a network announcement follows');
        return;
      case 'fax':
        this.#mark('speech', 'fax', `A fax machine (${event.sign})`);
        return;
      case 'line.closed':
        this.#stopPlaying();
        this.#mark(
          'turns',
          'hung up',
          event.error === null ? 'The user hung up' : `The line broke: ${event.error}`,
          'turn',
        );
        return;
      default:
    }
  }

  #effect({ effect }: EffectEntry): void {
    switch (effect.type) {
      case 'llm.start':
      case 'llm.confirm':
      case 'llm.cancel':
        this.#request(effect);
        return;
      case 'speak.prepare':
      case 'speak':
      case 'speak.more':
      case 'speak.cancel':
        this.#utterance(effect);
        return;
      case 'playout.hold':
        this.#held ??= this.#add(
          'playout',
          'held',
          'Held: the user may be interrupting',
          this.#nowMs,
          Infinity,
          'held',
        );
        return;
      case 'playout.resume':
        this.#release();
        return;
      case 'playout.drop':
        this.#release();
        this.#stopPlaying(' [cut]');
        return;
      case 'tool.start':
        this.#tools.set(effect.call.id, this.#tool(effect.call.name, effect.call.arguments));
        return;
      case 'line.transfer':
        this.#mark('tools', 'transfer', `Connects the user to ${effect.target}`);
        return;
      case 'digits.send':
        this.#mark('tools', effect.digits, `Presses ${effect.digits}`);
        return;
      case 'doNotCall':
        this.#mark('turns', 'do not call', `The user does not want to be called again (${effect.by})`, 'turn');
        return;
      case 'user.said': {
        const fromMs = Math.min(this.#speechEndMs ?? this.#nowMs, this.#nowMs);
        const about = `Turn ${String(effect.turn)} is over: ${decidedBy(this.#cause)}`;
        this.#add('turns', `turn ${String(effect.turn)}`, `${about}. “${effect.text}”`, fromMs, this.#nowMs, 'turn');
        this.#segment = null;
        return;
      }
      case 'trace': {
        const { text, weight } = decision(effect.name, effect.data);
        this.#mark('turns', '', text, weight);
        return;
      }
      default:
    }
  }

  #request(effect: EffectOf<'llm.start' | 'llm.confirm' | 'llm.cancel'>): void {
    switch (effect.type) {
      case 'llm.start': {
        const about = effect.speculative ? 'Asked early, before the turn was over' : 'Asked';
        const span = this.#add('model', '', about, this.#nowMs, Infinity, effect.speculative ? 'early' : 'plain');
        this.#requests.set(effect.requestId, { span, text: '', firstMs: null });
        return;
      }
      case 'llm.confirm': {
        const request = this.#requests.get(effect.requestId);
        if (request !== undefined) request.span.about += '; it was the answer';
        return;
      }
      case 'llm.cancel': {
        const request = this.#requests.get(effect.requestId);
        if (request === undefined) return;
        if (request.span.toMs === Infinity) request.span.toMs = this.#nowMs;
        request.span.look = 'dropped';
        request.span.about = `Dropped: ${request.text}`;
        return;
      }
    }
  }

  #utterance(effect: EffectOf<'speak.prepare' | 'speak' | 'speak.more' | 'speak.cancel'>): void {
    switch (effect.type) {
      case 'speak.prepare':
      case 'speak':
        this.#speak(effect.utteranceId, effect.text, effect.type === 'speak.prepare');
        return;
      case 'speak.more': {
        const utterance = this.#utterances.get(effect.utteranceId);
        if (utterance === undefined) return;
        utterance.text += effect.text;
        utterance.span.label += effect.text;
        utterance.span.about += effect.text;
        return;
      }
      case 'speak.cancel': {
        const { span, text } = this.#utterances.get(effect.utteranceId) ?? {};
        if (span === undefined) return;
        if (span.toMs === Infinity) span.toMs = this.#nowMs;
        span.look = 'dropped';
        span.about = `Synthesised for nothing: ${text ?? ''}`;
        return;
      }
    }
  }

  #note({ name, data }: Extract<LogEntry, { kind: 'note' }>): void {
    if (name === 'voice.first') this.#ready(Number(data['utteranceId']));
    else if (name !== 'usage') this.#mark('turns', '', `${name}: ${String(data['reason'] ?? '')}`, 'trouble');
  }

  #words({ segment, text, isFinal }: { segment: number; text: string; isFinal: boolean }): void {
    if (this.#segment?.number !== segment) {
      const span = this.#add('words', text, '', this.#nowMs, this.#nowMs);
      this.#segment = { number: segment, span };
    }
    const { span } = this.#segment;
    span.toMs = this.#nowMs;
    span.label = text;
    span.about = `${isFinal ? 'Final words' : 'Words so far'}: ${text === '' ? 'none' : text}`;
    span.look = isFinal ? 'plain' : 'early';
  }

  #modelSaid(requestId: number, text: string): void {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    request.firstMs ??= this.#nowMs;
    request.text += text;
    request.span.label = request.text.trim();
  }

  #modelDone(requestId: number, fault: string | null): void {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    const { span, text, firstMs } = request;
    span.toMs = this.#nowMs;
    if (fault !== null) span.look = 'trouble';
    const first = firstMs === null ? '' : `; first piece after ${(firstMs - span.fromMs).toFixed(0)} ms`;
    span.about += fault === null ? `${first}: ${text}` : `; failed: ${fault}`;
  }

  #speak(utteranceId: number, text: string, isEarly: boolean): void {
    if (this.#utterances.has(utteranceId)) return;
    const about = isEarly ? `Synthesised early: ${text}` : `Synthesised: ${text}`;
    const span = this.#add('voice', text, about, this.#nowMs, Infinity, isEarly ? 'early' : 'plain');
    this.#utterances.set(utteranceId, { text, span });
  }

  /** The first audio of an utterance has arrived: ends the wait for the voice. */
  #ready(utteranceId: number): void {
    const span = this.#utterances.get(utteranceId)?.span;
    if (span?.toMs === Infinity) span.toMs = this.#nowMs;
  }

  #tool(name: string, args: string): TimelineSpan {
    return this.#add('tools', name, `${name}(${args})`, this.#nowMs, Infinity);
  }

  #release(): void {
    if (this.#held !== null) this.#held.toMs = this.#nowMs;
    this.#held = null;
  }

  #stopPlaying(suffix = ''): void {
    if (this.#playing === null) return;
    this.#playing.toMs = this.#nowMs;
    this.#playing.about += suffix;
    this.#playing = null;
  }

  #mark(lane: LaneName, label: string, about: string, look: TimelineSpan['look'] = 'plain'): void {
    this.#add(lane, label, about, this.#nowMs, this.#nowMs, look);
  }

  #add(
    lane: LaneName,
    label: string,
    about: string,
    fromMs = this.#nowMs,
    toMs = Infinity,
    look: TimelineSpan['look'] = 'plain',
  ): TimelineSpan {
    const span: TimelineSpan = { lane, fromMs: Math.max(0, fromMs), toMs, label, about, look };
    this.#spans.push(span);
    return span;
  }
}

/** With the steps of a flow that the call was in. */
export function withSteps(timeline: CallTimeline, steps: NonNullable<CallHistoryItem['steps']>): CallTimeline {
  const spans = steps.map(({ step, from, to, next }): TimelineSpan => {
    const about = next === null ? `Step ${step}; the call ended in it` : `Step ${step}; then ${next}`;
    return { lane: 'steps', fromMs: from * 1000, toMs: to * 1000, label: step, about, look: 'plain' };
  });
  return { ...timeline, spans: [...spans, ...timeline.spans].toSorted((a, b) => a.fromMs - b.fromMs) };
}

/** Start of the recording. */
export function lineOpenedMs(entries: readonly LogEntry[]): number {
  return entries.find((entry) => entry.kind === 'event' && entry.event.type === 'line.opened')?.t ?? 0;
}

/** The event that ended a turn. */
export function decidedBy(cause: LogEntry | null): string {
  if (cause?.kind !== 'event') return 'it was decided';
  const { event } = cause;
  switch (event.type) {
    case 'transcript':
      return event.isFinal ? 'the final words came, and the wait was over' : 'words came, and the wait was over';
    case 'speech.stopped':
      return 'the user stopped';
    case 'turn.judged':
      return 'it sounded finished';
    case 'text':
      return 'the message was typed';
    case 'digits':
      return 'the keys were pressed';
    case 'time':
      return 'the silence had lasted long enough';
    default:
      return event.type;
  }
}
