import { writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { decodeWav, encodeWav, type WavAudio } from '../../audio/files/wav.js';
import { ParleyError } from '../../base/errors.js';
import { CallFiles } from '../../daemon/files/call-files.js';
import { openCallFiles } from '../../daemon/files/open-call-files.js';
import { caseFromCall, cutSpeech, type RecordedSpeech, stretchOf } from '../../eval/from-call.js';
import type { EvalSuite } from '../../eval/suite/suite-schema.js';
import { readLog } from '../../replay/read-log.js';
import { loadSettings, type SettingFlags } from '../../settings/load-settings.js';
import type { Settings } from '../../settings/settings.js';
import { CallStore, type StoredCall } from '../../store/calls.js';
import { type CommandIo, UsageError } from '../shared/command.js';
import { type DatabasePlace, hasDatabase, openCommandDatabase } from '../shared/command-database.js';

interface FromLogOptions {
  /** The suite's path; null = standard output. */
  out: string | null;
  /** The caller plays the recorded turns. */
  audio: boolean;
  /** Values of setting flags. */
  settings: SettingFlags;
}

/**
 * A suite of one case made from a call of the call log, as YAML.
 * @throws ParleyError NOT_FOUND; UsageError for `audio` without a file or a recording
 */
export async function caseFromLog(id: string, options: FromLogOptions, io: Pick<CommandIo, 'env'>): Promise<string> {
  const { settings } = await loadSettings({ env: io.env, flags: options.settings });
  const call = await findCall(id, settings);
  const { trace, recording } = await filesOf(call, settings, options);
  const log = trace === null ? [] : readLog(trace.toString('utf8')).entries;
  const audio = recording === null || options.out === null ? null : new RecordedTurns(recording, options.out);
  const made = caseFromCall(call.item, log, audio === null ? undefined : (speech, index) => audio.cut(speech, index));
  await audio?.write();
  const suite: EvalSuite = { name: `From call ${call.sessionId}`, cases: [made] };
  return stringify(suite, { lineWidth: 120 });
}

async function findCall(id: string, settings: DatabasePlace): Promise<StoredCall> {
  const notFound = new ParleyError('NOT_FOUND', { what: 'call', id });
  if (!hasDatabase(settings)) throw notFound;
  const { database, close } = await openCommandDatabase(settings);
  try {
    const store = new CallStore(database);
    const found = (await store.get(id)) ?? (await store.byCallId(id)) ?? (await store.beginningWith(id, 1))[0];
    if (found === undefined) throw notFound;
    return found;
  } finally {
    await close();
  }
}

/** A call's event log, and the user's channel of its recording if it is wanted. */
async function filesOf(
  call: StoredCall,
  settings: Settings,
  { audio, out }: FromLogOptions,
): Promise<{ trace: Buffer | null; recording: WavAudio | null }> {
  if (audio && out === null) throw new UsageError('--audio needs --out FILE: the turns are written beside it');
  const { files, close } = openCallFiles(settings, null);
  try {
    const trace = await files.read(CallFiles.traceKey(call.sessionId));
    if (!audio) return { trace, recording: null };
    const recording = call.recording === null ? null : await files.read(call.recording);
    if (recording === null) throw new UsageError('the call has no recording; leave --audio out');
    return { trace, recording: decodeWav(recording, { channel: 0 }) };
  } finally {
    await close();
  }
}

/** Cuts turns out of a recording into files beside the suite. */

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
