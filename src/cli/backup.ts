import { nowUnixMs } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import { backUp } from '../store/backup/backup.js';
import { defineCommand } from './shared/command.js';
import { SETTINGS, settingsOf } from './shared/flags.js';
import { withOutputPath } from './shared/output-file.js';

export const backup = defineCommand({
  about: `
    Writes the daemon's data into one tar archive. With PARLEY_DATABASE_URL, it has only the files of this node's data
    folder: back up the database with pg_dump.

    The daemon may be running: the databases are consistent snapshots, and they are verified. The archive contains the
    keys that encrypt stored secrets, so protect it like the data folder.`,
  args: [{ name: 'FILE', help: 'the archive to write', stream: 'out' }],
  flags: {
    recordings: { help: 'include the recordings and traces of calls; by default only their lists' },
    'without-keys': {
      help: 'leave out secret.key and signing.key; stored secrets and links then work only with the same keys',
    },
    ...SETTINGS,
    json: { help: 'print what was written as JSON' },
  },
  examples: [['parley backup parley.tar --recordings', 'writes everything into parley.tar']],
  async run({ values, positionals: [to = ''] }, io) {
    const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
    const manifest = await withOutputPath(to, io, (path) =>
      backUp({
        dataDir: settings.dataDir,
        withoutDatabases: settings.databaseUrl !== null,
        to: path,
        recordings: values.recordings,
        keys: !values['without-keys'],
        unixMs: nowUnixMs(),
      }),
    );
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
    const { recordings, traces } = manifest;
    if (recordings.length + traces.length > 0 && !values.recordings) {
      io.stderr.write(
        `${String(recordings.length)} recordings and ${String(traces.length)} traces listed, not copied; ` +
          '--recordings copies them\n',
      );
    }
    return 0;
  },
});
