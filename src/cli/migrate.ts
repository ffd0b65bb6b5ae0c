import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ParleyError } from '../base/errors.js';
import { nowUnixMs } from '../base/real-clock.js';
import { FileSender } from '../daemon/files/file-sender.js';
import { openFileStore } from '../daemon/files/remote-files.js';
import { UploadStates } from '../daemon/files/upload-states.js';
import { loadSettings } from '../settings/load-settings.js';
import type { Settings } from '../settings/settings.js';
import { LocalFiles } from '../store/files/local-files.js';
import { useKeys } from '../store/keys-in-use.js';
import { DataFolder } from '../store/migrate/data-folder.js';
import { type CopyProgress, FolderCopy } from '../store/migrate/folder-copy.js';
import { folderTables } from '../store/migrate/folder-tables.js';
import { knowledgeTables } from '../store/migrate/knowledge-copy.js';
import { PostgresDatabase } from '../store/postgres/postgres-database.js';
import { SEALED_COLUMNS } from '../store/sealed-columns.js';
import { SecretBox } from '../store/secret-box.js';
import { openSigningKeys, secretKeysOf, signingKeyId } from '../store/secret-keys.js';
import { SqliteDatabase } from '../store/sqlite/sqlite-database.js';
import { type CommandIo, defineCommand, UsageError } from './shared/command.js';
import { SETTINGS } from './shared/flags.js';
import { ProgressBar } from './shared/progress.js';

/** A page is one transaction. */
const POOL = { poolSize: 2, statementTimeoutMs: 300_000, onError: () => undefined };
/** Folders of the data folder whose files a store takes. */
const FILE_FOLDERS = ['recordings/', 'traces/'] as const;

export const migrate = defineCommand({
  about: `
    Copies the data of a data folder into an empty PostgreSQL database, and compares every row. Stop the daemon first.
    With PARLEY_FILES, recordings and traces are sent to that store; they also stay in the folder.

    A copy that was interrupted goes on where it was: run the command again. At the end, parley.db and knowledge.db get
    the ending .moved, so that no daemon uses them any more. docs/scale-out.md has all steps.`,
  flags: {
    from: { value: 'DIR', help: 'the data folder', env: 'PARLEY_DATA_DIR' },
    to: { value: 'URL', help: 'the database, postgres://…', env: 'PARLEY_DATABASE_URL' },
    ...SETTINGS,
    'data-dir': { ...SETTINGS['data-dir'], help: 'the same as --from' },
    json: { help: 'print the number of rows of each table as JSON' },
  },
  async run({ values }, io) {
    if (values.from !== undefined && values['data-dir'] !== undefined) {
      throw new UsageError('--from and --data-dir are the same: give one of them');
    }
    const flags = { config: values.config, 'data-dir': values.from ?? values['data-dir'] };
    const { settings } = await loadSettings({ env: io.env, flags });
    const url = values.to ?? settings.databaseUrl;
    if (url === null) throw new UsageError('--to or PARLEY_DATABASE_URL must name the database');
    if (!/^postgres(?:ql)?:\/\/./.test(url)) throw new UsageError('--to must be an address such as postgres://…');
    const folder = await DataFolder.open(settings.dataDir);
    try {
      checkSealed(folder);
      const target = await PostgresDatabase.open({ ...POOL, url, forMigration: true });
      try {
        return await move({ folder, target, settings, io, asJson: values.json });
      } finally {
        await target.close();
      }
    } finally {
      folder.close();
    }
  },
});

interface MoveOptions {
  folder: DataFolder;
  target: PostgresDatabase;
  settings: Settings;
  io: CommandIo;
  asJson: boolean;
}

async function move({ folder, target, settings, io, asJson }: MoveOptions): Promise<number> {
  const tables = [...(await folderTables(folder.database, target)), ...knowledgeTables(folder.knowledge)];
  const shown = new Shown(io);
  const copy = new FolderCopy({
    dataDir: folder.path,
    source: folder.id,
    tables,
    target,
    signal: io.signal,
    onProgress: (progress) => shown.update(progress),
  });
  let counts: ReadonlyMap<string, number>;
  try {
    await copy.begin();
    await noteKeys(folder, target, settings);
    counts = await copy.run();
  } finally {
    shown.clear();
  }
  const files = await sendFiles(settings, io);
  const moved = folder.moved();
  const rows = Array.from(counts.values()).reduce((sum, count) => sum + count, 0);
  if (asJson) io.stdout.write(`${JSON.stringify({ rows: Object.fromEntries(counts), files, moved })}\n`);
  else {
    io.stdout.write(`copied and compared: ${String(rows)} rows of ${String(counts.size)} tables\n`);
    if (files !== null) io.stdout.write(`files in the store: ${String(files)}\n`);
    io.stdout.write(`no longer used in ${folder.path}: ${moved.join(', ')}\n`);
    for (const line of nextSteps(settings)) io.stderr.write(`${line}\n`);
  }
  return 0;
}

/** @throws ParleyError MIGRATION_REFUSED for secrets of a release before their encryption */
function checkSealed({ database, path }: DataFolder): void {
  const plain = SEALED_COLUMNS.find(({ table, column }) => {
    const other = `SELECT 1 FROM ${table} WHERE ${column} IS NOT NULL AND ${column} NOT GLOB 'v[0-9]*.*' LIMIT 1`;
    return database.prepare(other).get() !== undefined;
  });
  if (plain === undefined) return;
  const reason = 'an earlier release has stored secrets without encryption; start this release on the folder once';
  throw new ParleyError('MIGRATION_REFUSED', { path, reason });
}

/** Notes in the database which keys its secrets and links need: a node with others does not start. */
async function noteKeys(folder: DataFolder, target: PostgresDatabase, settings: Settings): Promise<void> {
  const [current, ...others] = secretKeysOf(settings);
  if (current !== undefined) {
    const { keyId, knownIds } = new SecretBox(current, others);
    await useKeys(target, 'secret', { current: keyId, known: knownIds }, nowUnixMs());
  }
  if (settings.signingKey === null && !existsSync(join(folder.path, 'signing.key'))) return;
  const source = new SqliteDatabase(folder.database);
  const [own = '', ...known] = (await openSigningKeys({ database: source, nowUnixMs }, settings)).map(signingKeyId);
  await useKeys(target, 'signing', { current: own, known }, nowUnixMs());
}

/** Sends recordings and traces that the store does not have yet. Returns the number of files; null = there is no store. */
async function sendFiles(settings: Settings, io: CommandIo): Promise<number | null> {
  const store = openFileStore(settings);
  if (store === null) return null;
  const local = new LocalFiles(settings.dataDir);
  const sender = new FileSender(store, local, new UploadStates(join(settings.dataDir, 'uploads')));
  let count = 0;
  try {
    await sender.load();
    for (const prefix of FILE_FOLDERS) {
      for await (const { key, bytes } of local.list(prefix, io.signal)) {
        const stored = await store.open(key);
        await stored?.close();
        if (stored?.bytes !== bytes) await sender.send(key, bytes, io.signal);
        count++;
      }
    }
    io.signal.throwIfAborted();
    return count;
  } finally {
    await store.close();
  }
}

/** What all nodes need. */
function nextSteps({ dataDir, secretKey, signingKey, files }: Settings): string[] {
  const secret = join(dataDir, 'secret.key');
  const signing = join(dataDir, 'signing.key');
  return [
    'give all nodes PARLEY_DATABASE_URL and the same keys:',
    ...(secretKey === null && existsSync(secret) ? [`  PARLEY_SECRET_KEY = the first line of ${secret}`] : []),
    ...(signingKey === null && existsSync(signing) ? [`  PARLEY_SIGNING_KEY = \`base64 < ${signing}\``] : []),
    ...(files === null
      ? [`recordings and traces stay in ${dataDir}: the node that has them is the one with PARLEY_DATA_DIR=${dataDir}`]
      : []),
  ];
}

/** A progress bar on a terminal, else a line for each step of a table. */
class Shown {
  readonly #io: CommandIo;
  readonly #bar: ProgressBar;
  #last = '';

  constructor(io: CommandIo) {
    this.#io = io;
    this.#bar = new ProgressBar(io.stderr, 'copying');
  }

  update({ table, step, done, total, share }: CopyProgress): void {
    this.#bar.update(share);
    if (this.#io.stderr.isTTY === true || done < total) return;
    const what = step === 'copy' ? 'copied' : 'compared';
    this.#line(`${table}: ${String(done)} rows ${what}`);
  }

  clear(): void {
    this.#bar.clear();
  }

  #line(text: string): void {
    if (text !== this.#last) this.#io.stderr.write(`${text}\n`);
    this.#last = text;
  }
}
