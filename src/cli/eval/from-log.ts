import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { decodeWav, encodeWav, type WavAudio } from '../../audio/files/wav.js';
import { ParleyError } from '../../base/errors.js';
import { CallFiles } from '../../daemon/call-log/call-files.js';
import { caseFromCall, cutSpeech, type RecordedSpeech, stretchOf } from '../../eval/from-call.js';
import type { EvalSuite } from '../../eval/suite/suite-schema.js';
import { readLog } from '../../replay/read-log.js';
import { loadSettings } from '../../settings/load-settings.js';
import { CallStore, type StoredCall } from '../../store/calls.js';
import { SqliteDatabase } from '../../store/sqlite/sqlite-database.js';
import { databaseFile, openDatabase } from '../../store/database.js';
import { type CommandIo, UsageError } from '../shared/command.js';

interface FromLogOptions {
  /** The suite's path; null = standard output. */
  out: string | null;
  /** The caller plays the recorded turns. */
  audio: boolean;
  /** Values of setting flags. */
  settings: Readonly<Record<string, string | undefined>>;
}

/**
 * A suite of one case made from a call of the call log, as YAML.
 * @throws ParleyError NOT_FOUND; UsageError for `audio` without a file or a recording
 */
export async function caseFromLog(id: string, options: FromLogOptions, io: Pick<CommandIo, 'env'>): Promise<string> {
  const { settings } = await loadSettings({ env: io.env, flags: options.settings });
  const call = await findCall(id, settings.dataDir);
  const files = new CallFiles(settings.dataDir);
  const trace = files.traceOf(call.sessionId);
  const log = existsSync(trace) ? readLog(await readFile(trace, 'utf8')).entries : [];
  const audio = options.audio ? await turnsOf(files.recordingOf(call), options.out) : null;
  const made = caseFromCall(call.item, log, audio === null ? undefined : (speech, index) => audio.cut(speech, index));
  await audio?.write();
  const suite: EvalSuite = { name: `From call ${call.sessionId}`, cases: [made] };
  return stringify(suite, { lineWidth: 120 });
}

async function findCall(id: string, dataDir: string): Promise<StoredCall> {
  const notFound = new ParleyError('NOT_FOUND', { what: 'call', id });
  if (!existsSync(databaseFile(dataDir))) throw notFound;
  const database = openDatabase(dataDir);
  try {
    const store = new CallStore(new SqliteDatabase(database));
    const found = (await store.get(id)) ?? (await store.byCallId(id)) ?? (await store.beginningWith(id, 1))[0];
    if (found === undefined) throw notFound;
    return found;
  } finally {
    database.close();
  }
}

/** Cuts turns out of a recording, the user's channel, into files beside the suite. */
async function turnsOf(recording: string | null, out: string | null): Promise<RecordedTurns> {
  if (out === null) throw new UsageError('--audio needs --out FILE: the turns are written beside it');
  if (recording === null) throw new UsageError('the call has no recording; leave --audio out');
  return new RecordedTurns(decodeWav(await readFile(recording), { channel: 0 }), out);
}

class RecordedTurns {
  readonly #audio: WavAudio;
  readonly #out: string;
  readonly #files = new Map<string, Int16Array>();

  constructor(audio: WavAudio, out: string) {
    this.#audio = audio;
    this.#out = out;
  }

  /** @returns the path of the turn's file, relative to the suite */
  cut(speech: RecordedSpeech, index: number): string {
    const { fromMs, toMs } = stretchOf(speech);
    const name = `${basename(this.#out).replace(/\.\w+$/, '')}-turn-${String(index + 1)}.wav`;
    this.#files.set(name, cutSpeech(this.#audio, fromMs, toMs));
    return name;
  }

  async write(): Promise<void> {
    for (const [name, samples] of this.#files) {
      await writeFile(join(dirname(this.#out), name), encodeWav(samples, this.#audio.sampleRateHz));
    }
  }
}
