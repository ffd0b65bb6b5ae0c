import { PROSODIC_FEATURES, type ProsodicFeatures } from '../../audio/dsp/prosody.js';
import type { EventLog } from '../../replay/read-log.js';
import { PAUSE_NOTE } from '../../session/hearing/pause-notes.js';
import type { LogEntry, NoteData } from '../../session/record/event-log.js';

/** A pause of the user, and whether the turn was over: what the conversation itself showed. */
export interface LabelledPause {
  /** End of the speech before it, ms of the session. */
  atMs: number;
  label: 'finished' | 'continued';
  /** Until the user spoke on; null where they had finished. */
  pauseMs: number | null;
  features: ProsodicFeatures;
}

interface Pause {
  endMs: number;
  features: ProsodicFeatures;
}

/** A pause that was taken for the end of a turn. */
interface Taken extends Pause {
  answered: boolean;
  firstSoundMs: number | null;
  resumedMs: number | null;
}

/** Shorter ones are gaps between words. */
const MIN_PAUSE_MS = 150;
/** A barge-in this soon after the agent's first sound shows that the user had not finished. */
const SOON_MS = 1500;

/**
 * The labelled pauses of a log with notes of pauses. "Continued": the user spoke on before the turn was taken for over,
 * continued it (`turn.continued`), or interrupted the answer within 1.5 s. "Finished": the turn was answered, and nothing
 * of that happened. Pauses of which nothing is known, such as those before a hang-up, are left out.
 */
export function labelledPauses({ entries }: Pick<EventLog, 'entries'>): LabelledPause[] {
  const labels = new PauseLabels();
  for (const entry of entries) labels.take(entry);
  labels.finish();
  return labels.found;
}

class PauseLabels {
  readonly found: LabelledPause[] = [];
  #open: Pause | null = null;
  #taken: Taken | null = null;
  #nowMs = 0;

  take(entry: LogEntry): void {
    this.#nowMs = entry.t;
    if (entry.kind === 'note' && entry.name === PAUSE_NOTE) this.#open = pauseOf(entry.data);
    else if (entry.kind === 'event' && entry.event.type === 'speech.started') this.#onSpeech(entry.event.startMs);
    else if (entry.kind === 'event' && entry.event.type === 'utterance.started') {
      if (this.#taken !== null) this.#taken.firstSoundMs ??= entry.t;
    } else if (entry.kind === 'effect') this.#onEffect(entry.effect);
  }

  finish(): void {
    this.#settle();
  }

  #onSpeech(startMs: number): void {
    if (this.#open !== null) {
      this.#continued(this.#open, startMs);
      this.#open = null;
    } else if (this.#taken !== null) this.#taken.resumedMs ??= startMs;
  }

  #onEffect(effect: Extract<LogEntry, { kind: 'effect' }>['effect']): void {
    if (effect.type === 'stt.endTurn') {
      this.#settle();
      this.#taken = this.#open === null ? null : newlyTaken(this.#open);
      this.#open = null;
    } else if (effect.type === 'user.said' && this.#taken !== null) this.#taken.answered = true;
    else if (effect.type === 'trace' && effect.name === 'turn.continued') this.#wentOn();
    else if (effect.type === 'trace' && effect.name === 'interruption') {
      const { firstSoundMs = null, resumedMs = null } = this.#taken ?? {};
      if (firstSoundMs !== null && resumedMs !== null && resumedMs - firstSoundMs <= SOON_MS) this.#wentOn();
    }
  }

  #wentOn(): void {
    if (this.#taken !== null && this.#taken.resumedMs !== null) this.#continued(this.#taken, this.#taken.resumedMs);
    this.#taken = null;
  }

  #continued({ endMs, features }: Pause, startMs: number): void {
    const pauseMs = Math.round(startMs - endMs);
    if (pauseMs >= MIN_PAUSE_MS) this.found.push({ atMs: endMs, label: 'continued', pauseMs, features });
  }

  /** The last taken pause was the end of the turn, if its answer could have been interrupted. */
  #settle(): void {
    const taken = this.#taken;
    this.#taken = null;
    if (taken === null || !taken.answered || taken.firstSoundMs === null) return;
    if (this.#nowMs - taken.firstSoundMs < SOON_MS) return;
    this.found.push({ atMs: taken.endMs, label: 'finished', pauseMs: null, features: taken.features });
  }
}

function newlyTaken({ endMs, features }: Pause): Taken {
  return { endMs, features, answered: false, firstSoundMs: null, resumedMs: null };
}

function pauseOf(data: NoteData): Pause | null {
  const endMs = data['endMs'];
  const features = Object.fromEntries(PROSODIC_FEATURES.map((name) => [name, data[name]]));
  const isWhole = Object.values(features).every((value) => typeof value === 'number');
  return typeof endMs === 'number' && isWhole ? { endMs, features: features as ProsodicFeatures } : null;
}
