import { nowUnixMs } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import { backUp } from '../store/backup/backup.js';
import { defineCommand, type FlagOptions, UsageError } from './shared/command.js';

const OPTIONS = {
  recordings: { type: 'boolean', default: false },
  'without-keys': { type: 'boolean', default: false },
  'data-dir': { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

export const backup = defineCommand({
  help: `
Usage: parley backup FILE [flags]

Writes the daemon's data into one tar archive. With PARLEY_DATABASE_URL, it has only the files of this node's data
folder: back up the database with pg_dump. The daemon may be running: the databases are consistent snapshots, and
they are verified. The archive contains the keys that encrypt stored secrets, so protect it like the data folder.

Flags:
  --recordings          include the recordings; by default only their list
  --without-keys        leave out secret.key and signing.key; stored secrets and links then work only with the same keys
  --data-dir DIR        the daemon's data folder
  --json                print what was written as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [to, ...more] = positionals;
    if (to === undefined || more.length > 0) throw new UsageError('expected one FILE to write');
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    const manifest = await backUp({
      dataDir: settings.dataDir,
      withoutDatabases: settings.databaseUrl !== null,
      to,
      recordings: values.recordings,
      keys: !values['without-keys'],
      unixMs: nowUnixMs(),
    });
    if (values.json) {
      io.stdout.write(`${JSON.stringify(manifest)}\n`);
      return 0;
    }
    for (const { name, bytes } of manifest.files) io.stdout.write(`${name}  ${String(bytes)} bytes\n`);
    if (settings.databaseUrl !== null) {
      io.stderr.write(
        'the data are in PostgreSQL, and not in this archive: pg_dump -Fc "$PARLEY_DATABASE_URL" > FILE\n',
      );
    }
    const { length } = manifest.recordings;
    if (length > 0 && !values.recordings) {
      io.stderr.write(`${String(length)} recordings listed, not copied; --recordings copies them\n`);
    }
    return 0;
  },
});
