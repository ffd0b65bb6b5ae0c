import { nowUnixMs } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import { restore as restoreBackup } from '../store/backup/restore.js';
import { defineCommand, type FlagOptions, UsageError } from './shared/command.js';

const OPTIONS = { 'data-dir': { type: 'string' }, json: { type: 'boolean', default: false } } satisfies FlagOptions;

export const restore = defineCommand({
  help: `
Usage: parley restore FILE [flags]

Replaces the daemon's data with an archive of \`parley backup\`. Stop the daemon first. The previous data move to a folder
beside the data folder. Campaigns that were calling are paused: check them, then start them again. With
PARLEY_DATABASE_URL, it takes archives of such nodes only: restore the database with pg_restore.

Flags:
  --data-dir DIR        the daemon's data folder
  --json                print what was done as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [from, ...more] = positionals;
    if (from === undefined || more.length > 0) throw new UsageError('expected one FILE to restore');
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    const { manifest, keptAside, pausedCampaigns } = await restoreBackup({
      dataDir: settings.dataDir,
      withoutDatabases: settings.databaseUrl !== null,
      from,
      unixMs: nowUnixMs(),
    });
    if (values.json) {
      io.stdout.write(`${JSON.stringify({ manifest, kept_aside: keptAside, paused_campaigns: pausedCampaigns })}\n`);
      return 0;
    }
    const made = new Date(manifest.created_at * 1000).toISOString();
    io.stdout.write(`restored ${String(manifest.files.length)} files from ${made}\n`);
    if (keptAside !== null) io.stdout.write(`previous data: ${keptAside}\n`);
    if (pausedCampaigns > 0) io.stdout.write(`campaigns paused: ${String(pausedCampaigns)}\n`);
    return 0;
  },
});
