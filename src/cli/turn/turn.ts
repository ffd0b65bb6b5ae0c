import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { readLog, type EventLog } from '../../replay/read-log.js';
import { loadSettings, type SettingFlags } from '../../settings/load-settings.js';
import { type CommandIo, defineCommand } from '../shared/command.js';
import { SETTINGS, settingsOf } from '../shared/flags.js';
import { openOutput } from '../shared/output-file.js';
import type { Interval } from './judge-model.js';
import { type PauseRow, readPauseRows, LEAST_PAUSES, train, type Training } from './train.js';
import { PROSODIC_FEATURES, type ProsodicFeatures } from '../../audio/dsp/prosody.js';
import { PAUSE_NOTE } from '../../session/hearing/pause-notes.js';
import type { LogEntry, NoteData } from '../../session/record/event-log.js';

export const turn = defineCommand({
  about: `
    Makes a turn model of your own calls: what the voice is like before a pause in which the user had finished, and before
    one after which they continued. docs/flow/end-of-turn.md describes it.`,
  actions: {
    export: defineCommand({
      about: `
        Write the labelled pauses of event logs, one JSON object per line: those of the data folder, or each LOG. Only calls
        held with the setting pauseFeatures have any, and sessions that opted out have none.`,
      args: [
        {
          name: 'LOG',
          help: 'an event log (default: all in the folder "traces" of the data folder)',
          optional: true,
          many: true,
          stream: 'in',
        },
      ],
      flags: {
        out: { value: 'FILE', default: '-', help: 'where the pauses go', stream: 'out' },
        ...SETTINGS,
      },
      run: ({ values, positionals }, io) => exportPauses(positionals, values.out, settingsOf(values), io),
    }),
    train: defineCommand({
      about: `
        Fit a model to exported pauses, ${String(LEAST_PAUSES)} or more, print how it does on speakers that it has not heard,
        and write it for the setting turnModelPath. One that does not beat plain silence is refused, with exit code 1.`,
      args: [{ name: 'FILE', help: 'exported pauses', many: true, stream: 'in' }],
      flags: {
        out: { value: 'FILE', default: 'turn-model.json', help: 'where the model goes', stream: 'out' },
        seed: {
          value: 'N',
          integer: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
          default: 1,
          help: 'chooses the groups of speakers and the draws of the intervals',
        },
        json: { help: 'print the result of the training as JSON' },
      },
      async run({ values, positionals }, io) {
        const rows = (await Promise.all(positionals.map((file) => readPauseRows(file)))).flat();
        return finish(train(rows, values.seed), values.out, values.json, io);
      },
    }),
  },
});

async function exportPauses(
  given: readonly string[],
  out: string,
  flags: SettingFlags,
  io: CommandIo,
): Promise<number> {
  const { settings } = await loadSettings({ env: io.env, flags });
  if (!settings.pauseFeatures)
    throw new ParleyError('CONFIG_INVALID', { reason: 'pauseFeatures is off: nothing may be exported' });
  const logs = given.length > 0 ? given : await logsIn(join(settings.dataDir, 'traces'));
  const file = await openOutput(out, io);
  let [finished, continued] = [0, 0];
  for (const path of logs) {
    io.signal.throwIfAborted();
    for (const row of await pausesIn(path)) {
      if (row.label === 'finished') finished++;
      else continued++;
      file.line(JSON.stringify(row));
    }
  }
  await file.close();
  const count = `${String(finished + continued)} pauses of ${String(logs.length)} logs`;
  io.stderr.write(`${count}: ${String(finished)} finished, ${String(continued)} continued\n`);
  return 0;
}

async function logsIn(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
  return names.map((name) => join(folder, name));
}

async function pausesIn(path: string): Promise<PauseRow[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
  });
  const speaker = basename(path, '.jsonl'); // the daemon's logs have the name of their session
  return labelledPauses(readLog(text)).map((pause) => ({ speaker, ...pause }));
}

async function finish(training: Training, out: string, json: boolean, io: CommandIo): Promise<number> {
  const { model, verdict } = training;
  io.stdout.write(json ? `${JSON.stringify({ ...training, model: undefined })}\n` : report(training));
  if (verdict.refusal !== null) {
    io.stderr.write(`The model is refused: ${verdict.refusal}. ${out} is not written.\n`);
    return 1;
  }
  const file = await openOutput(out, io);
  await file.write(Buffer.from(`${JSON.stringify(model, null, 2)}\n`));
  await file.close();
  io.stderr.write(`Written to ${out}. Use it with the setting turnModelPath.\n`);
  return 0;
}

function report({ verdict, finished, continued, speakers }: Training): string {
  const { auc, savedMs, delayMs } = verdict;
  const shown = ({ value, low, high }: Interval, digits: number): string =>
    `${value.toFixed(digits)} (95 %: ${low.toFixed(digits)} to ${high.toFixed(digits)})`;
  return `${[
    `pauses              ${String(finished)} finished, ${String(continued)} continued, ${String(speakers)} speakers`,
    `AUC                 ${shown(auc, 3)}, on speakers held out; silence alone 0.5`,
    `delay at 10 %       ${delayMs.model.toFixed(0)} ms; plain silence with as many cut-offs ${delayMs.silence.toFixed(0)} ms`,
    `sooner at 5 to 30 % ${shown(savedMs.mean, 0)} ms`,
    `sooner at 10 %      ${shown(savedMs.at10, 0)} ms`,
    `sooner at 5 %       ${shown(savedMs.at5, 0)} ms`,
  ].join('\n')}\n`;
}

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
